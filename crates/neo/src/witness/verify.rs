//! Verifies many witnesses of standard form at once, without a virtual machine and without state.

use super::standard::Standard;
use crate::types::{UInt160, UInt256, Witness};
use blockmill_hashes::ManySha256;
use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, is_p256_key};
use hashbrown::HashMap;

/// A push of a signature: two bytes, then r and s.
const SIGNATURE_PUSH: usize = 66;
const PUSHDATA1: u8 = 0x0c;

/// Prices of instructions as coefficients (`fee.Opcode`): a push of up to 255 bytes, and a push of
/// a number.
const PUSH_DATA: u32 = 8;
const PUSH_NUMBER: u32 = 1;
/// Price of the verification of a signature (`fee.ECDSAVerifyPrice`).
const VERIFY: u32 = 1 << 15;

/// Number of keys that are tried together for a signature of a multisig witness.
const KEYS_PER_TRY: usize = 4;

/// A signed hash and its witness.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// The hash of the block or the transaction.
    pub hash: UInt256,
    /// Its witness.
    pub witness: Witness<'a>,
}

/// The verdict on a witness. Whether it belongs to the right account follows from its script hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The script is satisfied. Both scripts together cost `units` times the `ExecFeeFactor` of
    /// Policy.
    Valid {
        /// The cost.
        units: u32,
    },
    /// A signature is missing or wrong.
    Invalid,
    /// The virtual machine must run it: a contract, or scripts of another form.
    Machine,
}

/// A verified witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The hash of the verification script; zero if the script is empty.
    pub script_hash: UInt160,
    /// The verdict.
    pub verdict: Verdict,
}

/// Verifies witnesses of one network.
#[derive(Debug)]
pub struct Verifier<'a> {
    /// The network's number, which every signature covers.
    pub magic: u32,
    /// How signatures are verified.
    pub signatures: Signatures,
    /// Tables of keys that sign repeatedly.
    pub tables: &'a KeyTables,
    /// The hash function.
    pub hasher: ManySha256,
}

/// A standard witness without a verdict.
struct Pending<'a> {
    /// Its index among the witnesses.
    index: usize,
    digest: [u8; 32],
    keys: Vec<Key>,
    signatures: &'a [[u8; SIGNATURE_PUSH]],
    /// The first signature without a matching key.
    signature: usize,
    /// The first key that was not tried for it.
    key: usize,
}

impl Pending<'_> {
    fn check(&self, signature: usize, key: usize) -> EcdsaCheck {
        let [_, _, numbers @ ..] = &self.signatures[signature];
        let (mut r, mut s) = ([0; 32], [0; 32]);
        r.copy_from_slice(&numbers[..32]);
        s.copy_from_slice(&numbers[32..]);
        EcdsaCheck { digest: self.digest, r, s, key: self.keys[key] }
    }

    /// The keys to try for the next signature. At least as many keys as signatures must remain.
    fn candidates(&self) -> std::ops::Range<usize> {
        let spare = self.keys.len() - self.signatures.len();
        let end = self.signature + spare + 1;
        self.key..end.min(self.key + KEYS_PER_TRY).max(self.key)
    }

    /// The verdict, if it is decided.
    fn outcome(&self) -> Option<bool> {
        match () {
            () if self.signature == self.signatures.len() => Some(true),
            () if self.candidates().is_empty() => Some(false),
            () => None,
        }
    }
}

impl Verifier<'_> {
    /// Verifies the witnesses. Returns a verdict for each, in their order.
    #[must_use]
    pub fn verify(&self, signed: &[Signed<'_>]) -> Vec<Checked> {
        let mut checked = script_hashes(signed, &self.hasher);
        let mut pending = self.pending(signed, &mut checked);
        self.guess(&mut pending);
        loop {
            pending.retain(|each| match each.outcome() {
                Some(true) => false,
                Some(false) => {
                    checked[each.index].verdict = Verdict::Invalid;
                    false
                }
                None => true,
            });
            if pending.is_empty() {
                return checked;
            }
            self.advance(&mut pending);
        }
    }

    /// Assumes that the witnesses are valid: they cost nothing. Only their script hashes are
    /// computed.
    #[must_use]
    pub fn assume(&self, signed: &[Signed<'_>]) -> Vec<Checked> {
        let mut checked = script_hashes(signed, &self.hasher);
        for each in &mut checked {
            each.verdict = Verdict::Valid { units: 0 };
        }
        checked
    }

    /// Collects the witnesses of standard form. They are valid unless a later step refutes them.
    fn pending<'a>(&self, signed: &[Signed<'a>], checked: &mut [Checked]) -> Vec<Pending<'a>> {
        let mut pending = Vec::with_capacity(signed.len());
        let mut messages = Vec::with_capacity(signed.len());
        // with an invalid key the result depends on the order of the tries: the machine decides
        let mut known: HashMap<&[u8], bool> = HashMap::new();
        let mut has_keys = |script: &'a [u8], standard: &Standard<'_>| {
            let mut keys = standard.keys();
            let checked = || keys.all(is_p256_key);
            !standard.is_multisig || *known.entry(script).or_insert_with(checked)
        };
        for (index, each) in signed.iter().enumerate() {
            let script = each.witness.verification;
            let Some(standard) = Standard::parse(script) else { continue };
            let Some(signatures) = pushed_signatures(each.witness.invocation) else { continue };
            if signatures.len() != standard.signatures || !has_keys(script, &standard) {
                continue;
            }
            checked[index].verdict = Verdict::Valid { units: cost(&standard) };
            let keys = standard.keys().map(|key| Key::Compressed(*key)).collect();
            let digest = [0; 32];
            pending.push(Pending { index, digest, keys, signatures, signature: 0, key: 0 });
            // `hash.GetSignedData`
            let mut message = [0; 36];
            message[..4].copy_from_slice(&self.magic.to_le_bytes());
            message[4..].copy_from_slice(&each.hash.0);
            messages.push(message);
        }
        let messages: Vec<&[u8]> = messages.iter().map(<[u8; 36]>::as_slice).collect();
        let mut digests = vec![[0; 32]; messages.len()];
        self.hasher.sha256(&messages, &mut digests);
        for (each, digest) in pending.iter_mut().zip(digests) {
            each.digest = digest;
        }
        pending
    }

    /// Tries all signatures at once, each with the key at the same index. This decides witnesses
    /// that all keys must sign, and many others.
    fn guess(&self, pending: &mut [Pending<'_>]) {
        let checks: Vec<EcdsaCheck> = pending
            .iter()
            .flat_map(|each| (0..each.signatures.len()).map(|at| each.check(at, at)))
            .collect();
        let mut valid = vec![false; checks.len()];
        self.signatures.p256(&checks, self.tables, &mut valid);
        let mut verdicts = valid.into_iter();
        for each in pending {
            let verdicts = verdicts.by_ref().take(each.signatures.len());
            // signatures before the first mismatch have the keys that a search in order finds
            let found = verdicts.fold((0, true), |(count, all), valid| {
                (count + usize::from(all && valid), all && valid)
            });
            each.signature = found.0;
            // the key at the index of the mismatch was tried
            each.key = found.0 + usize::from(!found.1);
        }
    }

    /// Tries the next keys for the next signature of each witness.
    fn advance(&self, pending: &mut [Pending<'_>]) {
        let checks: Vec<EcdsaCheck> = pending
            .iter()
            .flat_map(|each| each.candidates().map(|key| each.check(each.signature, key)))
            .collect();
        let mut valid = vec![false; checks.len()];
        self.signatures.p256(&checks, self.tables, &mut valid);
        let mut verdicts = valid.into_iter();
        for each in pending {
            let candidates = each.candidates();
            let mut verdicts = verdicts.by_ref().take(candidates.len());
            let found = verdicts.position(|valid| valid);
            verdicts.for_each(drop);
            match found {
                Some(at) => {
                    each.signature += 1;
                    each.key = candidates.start + at + 1;
                }
                None => each.key = candidates.end,
            }
        }
    }
}

/// Hashes the verification scripts. Repeated scripts are hashed once: the script of the consensus
/// nodes is the same for thousands of blocks.
fn script_hashes(signed: &[Signed<'_>], hasher: &ManySha256) -> Vec<Checked> {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut scripts: Vec<&[u8]> = Vec::new();
    let numbers: Vec<Option<usize>> = signed
        .iter()
        .map(|each| {
            let script = each.witness.verification;
            (!script.is_empty()).then(|| {
                *places.entry(script).or_insert_with(|| {
                    scripts.push(script);
                    scripts.len() - 1
                })
            })
        })
        .collect();
    let mut digests = vec![[0; 32]; scripts.len()];
    hasher.sha256(&scripts, &mut digests);
    let hashes: Vec<UInt160> = digests.iter().map(UInt160::of_digest).collect();
    let checked = |number: Option<usize>| Checked {
        script_hash: number.map_or(UInt160::ZERO, |number| hashes[number]),
        verdict: Verdict::Machine,
    };
    numbers.into_iter().map(checked).collect()
}

/// The signatures that an invocation script pushes; `None` if it does anything else.
fn pushed_signatures(script: &[u8]) -> Option<&[[u8; SIGNATURE_PUSH]]> {
    let (pushes, []) = script.as_chunks() else { return None };
    let is_push = |push: &[u8; SIGNATURE_PUSH]| push[..2] == [PUSHDATA1, 64];
    pushes.iter().all(is_push).then_some(pushes)
}

/// The cost of both scripts (`fee.Calculate`).
fn cost(standard: &Standard<'_>) -> u32 {
    let (signatures, keys) = (standard.signatures as u32, standard.key_count() as u32);
    let numbers = if standard.is_multisig { 2 * PUSH_NUMBER } else { 0 };
    (signatures + keys) * PUSH_DATA + numbers + keys * VERIFY
}
