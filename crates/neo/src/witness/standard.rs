//! The two standard scripts: a single signature, and m of n signatures
//! (`smartcontract/contract.go`, `scparser/contract_checks.go`).

use crate::types::PublicKey;

const PUSHINT8: u8 = 0x00;
const PUSHINT16: u8 = 0x01;
const PUSHDATA1: u8 = 0x0c;
const PUSH0: u8 = 0x10;
const PUSH1: u8 = 0x11;
const PUSH16: u8 = 0x20;
const SYSCALL: u8 = 0x41;
/// The first four bytes of SHA-256 of `System.Crypto.CheckSig`.
const CHECK_SIG: [u8; 4] = [0x56, 0xe7, 0xb3, 0x27];
/// The first four bytes of SHA-256 of `System.Crypto.CheckMultisig`.
const CHECK_MULTISIG: [u8; 4] = [0x9e, 0xd0, 0xdc, 0x3a];
/// Bytes of a push of a compressed key.
const KEY_PUSH: usize = 35;

/// The number of consensus nodes that must sign: `n - (n - 1) / 3`.
#[must_use]
pub fn quorum(nodes: usize) -> usize {
    nodes - nodes.saturating_sub(1) / 3
}

/// The script that checks one signature.
#[must_use]
pub fn signature_script(key: &PublicKey) -> Vec<u8> {
    let mut script = vec![PUSHDATA1, key.len() as u8];
    script.extend_from_slice(key);
    script.push(SYSCALL);
    script.extend_from_slice(&CHECK_SIG);
    script
}

/// The script that checks `signatures` signatures by the keys. It contains the keys sorted by x.
#[must_use]
pub fn multisig_script(signatures: usize, keys: &[PublicKey]) -> Vec<u8> {
    let mut keys = keys.to_vec();
    keys.sort_by_key(|[sign, x @ ..]| (*x, *sign));
    let mut script = Vec::with_capacity(11 + KEY_PUSH * keys.len());
    push_number(&mut script, signatures);
    for key in &keys {
        script.extend_from_slice(&[PUSHDATA1, key.len() as u8]);
        script.extend_from_slice(key);
    }
    push_number(&mut script, keys.len());
    script.push(SYSCALL);
    script.extend_from_slice(&CHECK_MULTISIG);
    script
}

/// The shortest push of a number below 2^15 (`emit.Int`).
fn push_number(script: &mut Vec<u8>, number: usize) {
    match number {
        0..=16 => script.push(PUSH0 + number as u8),
        17..=127 => script.extend_from_slice(&[PUSHINT8, number as u8]),
        _ => {
            script.push(PUSHINT16);
            script.extend_from_slice(&(number as u16).to_le_bytes());
        }
    }
}

/// A verification script of standard form, which needs no virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standard<'a> {
    /// The number of required signatures, from 1 to the number of keys.
    pub signatures: usize,
    /// Whether it is the multisig script. For a single key both scripts exist, at different costs.
    pub is_multisig: bool,
    /// The push of each key: two bytes, then the key.
    pushes: &'a [[u8; KEY_PUSH]],
}

impl<'a> Standard<'a> {
    /// Recognises a standard script; `None` for any other, which the virtual machine must run.
    /// neo-go recognises more forms, with uncompressed keys or other pushes of numbers. The machine
    /// runs those too, with the same result and cost.
    #[must_use]
    pub fn parse(script: &'a [u8]) -> Option<Self> {
        Self::signature(script).or_else(|| Self::multisig(script))
    }

    fn signature(script: &'a [u8]) -> Option<Self> {
        let (push, rest) = script.split_first_chunk()?;
        let fits = is_key_push(push) && rest.strip_prefix(&[SYSCALL])? == CHECK_SIG;
        let pushes = std::slice::from_ref(push);
        fits.then_some(Self { signatures: 1, is_multisig: false, pushes })
    }

    fn multisig(script: &'a [u8]) -> Option<Self> {
        let (signatures, rest) = pushed_number(script)?;
        let (all, _) = rest.as_chunks::<KEY_PUSH>();
        let count = all.iter().take_while(|push| is_key_push(push)).count();
        let pushes = &all[..count];
        let (stated, rest) = pushed_number(&rest[KEY_PUSH * count..])?;
        let call = rest.strip_prefix(&[SYSCALL])?;
        let fits = call == CHECK_MULTISIG && stated == count && (1..=count).contains(&signatures);
        fits.then_some(Self { signatures, is_multisig: true, pushes })
    }

    /// The keys that may sign, in the order of the script.
    pub fn keys(self) -> impl ExactSizeIterator<Item = &'a PublicKey> + use<'a> {
        self.pushes.iter().map(|[_, _, key @ ..]| key)
    }

    /// The number of keys.
    #[must_use]
    pub fn key_count(self) -> usize {
        self.pushes.len()
    }
}

fn is_key_push(push: &[u8; KEY_PUSH]) -> bool {
    push[..2] == [PUSHDATA1, 33]
}

/// Decodes what [`push_number`] writes. Returns the number and the rest of the script.
fn pushed_number(script: &[u8]) -> Option<(usize, &[u8])> {
    match script {
        [push @ PUSH1..=PUSH16, rest @ ..] => Some((usize::from(push - PUSH0), rest)),
        [PUSHINT8, number @ 17..=127, rest @ ..] => Some((usize::from(*number), rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::sha256;

    #[test]
    fn system_calls_have_the_numbers_of_their_names() {
        assert_eq!(sha256(b"System.Crypto.CheckSig")[..4], CHECK_SIG);
        assert_eq!(sha256(b"System.Crypto.CheckMultisig")[..4], CHECK_MULTISIG);
    }

    #[test]
    fn standard_scripts_are_recognised() {
        let keys: Vec<PublicKey> = (0..28).map(|number| [2 + number / 14; 33]).collect();
        let script = signature_script(&keys[0]);
        let known = Standard::parse(&script).unwrap();
        assert_eq!((known.signatures, known.is_multisig), (1, false));
        assert!(known.keys().eq([&keys[0]]));
        for count in 1..=keys.len() {
            for signatures in [1, quorum(count), count] {
                let script = multisig_script(signatures, &keys[..count]);
                let known = Standard::parse(&script).unwrap();
                assert_eq!((known.signatures, known.is_multisig), (signatures, true));
                assert!(known.keys().eq(&keys[..count]));
            }
        }
    }

    #[test]
    fn other_scripts_are_left_to_the_machine() {
        let keys = [[2; 33], [3; 33]];
        for script in [signature_script(&keys[0]), multisig_script(2, &keys)] {
            for length in 0..script.len() {
                assert_eq!(Standard::parse(&script[..length]), None);
            }
            assert_eq!(Standard::parse(&[&script[..], &[0x40]].concat()), None);
        }
        assert_eq!(Standard::parse(&multisig_script(3, &keys)), None);
        assert_eq!(Standard::parse(&multisig_script(0, &keys)), None);
    }

    #[test]
    fn consensus_nodes_bear_a_third_of_faults() {
        let quorums = [0, 1, 2, 3, 4, 5, 6, 7, 21].map(quorum);
        assert_eq!(quorums, [0, 1, 2, 3, 3, 4, 5, 5, 15]);
    }
}
