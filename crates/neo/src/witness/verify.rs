//! Many witnesses at once: those of the two standard forms, without a virtual machine and without
//! any state.

use super::standard::Standard;
use crate::types::{UInt160, UInt256, Witness};
use blockmill_hashes::ManySha256;
use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, is_p256_key};
use hashbrown::HashMap;

/// A push of a signature: two bytes, then r and s.
const SIGNATURE_PUSH: usize = 66;
const PUSHDATA1: u8 = 0x0c;

/// What instructions cost, in units of the price of the cheapest (`fee.Opcode`): a push of up to
/// 255 bytes, and of a number.
const PUSH_DATA: u32 = 8;
const PUSH_NUMBER: u32 = 1;
/// And the verification of a signature (`fee.ECDSAVerifyPrice`).
const VERIFY: u32 = 1 << 15;

/// Keys of a witness of several that are tried together for a signature.
const TRIED: usize = 4;

/// What was signed, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// The hash of the block or the transaction.
    pub hash: UInt256,
    /// Its witness.
    pub witness: Witness<'a>,
}

/// What a witness is worth. Whether it is that of the right account is seen by its script's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The script is satisfied. Running both scripts costs so many units; a unit is the price
    /// `ExecFeeFactor` of the Policy contract.
    Valid {
        /// The cost.
        units: u32,
    },
    /// A signature is missing or wrong.
    Invalid,
    /// Only the virtual machine can tell: a contract, or scripts of another form.
    Machine,
}

/// A verified witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The hash of the verification script; zero when that is empty.
    pub script_hash: UInt160,
    /// What the witness is worth.
    pub verdict: Verdict,
}

/// Verifies witnesses of one network.
#[derive(Debug)]
pub struct Verifier<'a> {
    /// The network's number, which every signature covers.
    pub magic: u32,
    /// How signatures are verified.
    pub signatures: Signatures,
    /// Tables of keys that come again and again.
    pub tables: &'a KeyTables,
    /// How digests are made.
    pub hasher: ManySha256,
}

/// A standard witness that is not decided yet.
struct Open<'a> {
    /// Its index among the witnesses.
    index: usize,
    digest: [u8; 32],
    keys: Vec<Key>,
    signatures: &'a [[u8; SIGNATURE_PUSH]],
    /// Signatures before this one have their keys.
    signature: usize,
    /// The first key that has not been tried for it.
    key: usize,
}

impl Open<'_> {
    fn check(&self, signature: usize, key: usize) -> EcdsaCheck {
        let [_, _, numbers @ ..] = &self.signatures[signature];
        let (mut r, mut s) = ([0; 32], [0; 32]);
        r.copy_from_slice(&numbers[..32]);
        s.copy_from_slice(&numbers[32..]);
        EcdsaCheck { digest: self.digest, r, s, key: self.keys[key] }
    }

    /// The keys that may have made the next signature: as many must remain as signatures do.
    fn candidates(&self) -> std::ops::Range<usize> {
        let spare = self.keys.len() - self.signatures.len();
        let end = self.signature + spare + 1;
        self.key..end.min(self.key + TRIED).max(self.key)
    }

    /// Whether it is decided, and how.
    fn outcome(&self) -> Option<bool> {
        match () {
            () if self.signature == self.signatures.len() => Some(true),
            () if self.candidates().is_empty() => Some(false),
            () => None,
        }
    }
}

impl Verifier<'_> {
    /// What each witness is worth, in their order.
    #[must_use]
    pub fn verify(&self, signed: &[Signed<'_>]) -> Vec<Checked> {
        let mut checked = script_hashes(signed, &self.hasher);
        let mut open = self.open(signed, &mut checked);
        self.guess(&mut open);
        loop {
            open.retain(|each| match each.outcome() {
                Some(true) => false,
                Some(false) => {
                    checked[each.index].verdict = Verdict::Invalid;
                    false
                }
                None => true,
            });
            if open.is_empty() {
                return checked;
            }
            self.advance(&mut open);
        }
    }

    /// What witnesses are worth that are taken for valid: they cost nothing, and speak for who
    /// they say.
    #[must_use]
    pub fn assume(&self, signed: &[Signed<'_>]) -> Vec<Checked> {
        let mut checked = script_hashes(signed, &self.hasher);
        for each in &mut checked {
            each.verdict = Verdict::Valid { units: 0 };
        }
        checked
    }

    /// The witnesses of standard form; they count as valid until they are found not to be.
    fn open<'a>(&self, signed: &[Signed<'a>], checked: &mut [Checked]) -> Vec<Open<'a>> {
        let mut open = Vec::with_capacity(signed.len());
        let mut messages = Vec::with_capacity(signed.len());
        // with a key that is none it depends on which ones are tried: the machine knows
        let mut known: HashMap<&[u8], bool> = HashMap::new();
        let mut has_keys = |script: &'a [u8], standard: &Standard<'_>| {
            let mut keys = standard.keys();
            let checked = || keys.all(is_p256_key);
            !standard.is_multisig || *known.entry(script).or_insert_with(checked)
        };
        for (index, each) in signed.iter().enumerate() {
            let script = each.witness.verification;
            let Some(standard) = Standard::of(script) else { continue };
            let Some(signatures) = pushed_signatures(each.witness.invocation) else { continue };
            if signatures.len() != standard.signatures || !has_keys(script, &standard) {
                continue;
            }
            checked[index].verdict = Verdict::Valid { units: cost(&standard) };
            let keys = standard.keys().map(|key| Key::Compressed(*key)).collect();
            let digest = [0; 32];
            open.push(Open { index, digest, keys, signatures, signature: 0, key: 0 });
            // `hash.GetSignedData`
            let mut message = [0; 36];
            message[..4].copy_from_slice(&self.magic.to_le_bytes());
            message[4..].copy_from_slice(&each.hash.0);
            messages.push(message);
        }
        let messages: Vec<&[u8]> = messages.iter().map(<[u8; 36]>::as_slice).collect();
        let mut digests = vec![[0; 32]; messages.len()];
        self.hasher.sha256(&messages, &mut digests);
        for (each, digest) in open.iter_mut().zip(digests) {
            each.digest = digest;
        }
        open
    }

    /// First all signatures at once, each with the key at its place: where all keys must sign, and
    /// often where not, that decides.
    fn guess(&self, open: &mut [Open<'_>]) {
        let checks: Vec<EcdsaCheck> = open
            .iter()
            .flat_map(|each| (0..each.signatures.len()).map(|at| each.check(at, at)))
            .collect();
        let mut valid = vec![false; checks.len()];
        self.signatures.p256(&checks, self.tables, &mut valid);
        let mut verdicts = valid.into_iter();
        for each in open {
            let verdicts = verdicts.by_ref().take(each.signatures.len());
            // what comes before the first wrong one is as good as found in order
            let found = verdicts.fold((0, true), |(count, all), valid| {
                (count + usize::from(all && valid), all && valid)
            });
            each.signature = found.0;
            // the key at its place was tried for the next signature
            each.key = found.0 + usize::from(!found.1);
        }
    }

    /// Tries some more keys for the next signature of each.
    fn advance(&self, open: &mut [Open<'_>]) {
        let checks: Vec<EcdsaCheck> = open
            .iter()
            .flat_map(|each| each.candidates().map(|key| each.check(each.signature, key)))
            .collect();
        let mut valid = vec![false; checks.len()];
        self.signatures.p256(&checks, self.tables, &mut valid);
        let mut verdicts = valid.into_iter();
        for each in open {
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

/// The hash of each verification script. Scripts that come again are hashed once: those of the
/// consensus nodes are the same for thousands of blocks.
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

/// The signatures that an invocation script pushes, if it does nothing else.
fn pushed_signatures(script: &[u8]) -> Option<&[[u8; SIGNATURE_PUSH]]> {
    let (pushes, []) = script.as_chunks() else { return None };
    let is_push = |push: &[u8; SIGNATURE_PUSH]| push[..2] == [PUSHDATA1, 64];
    pushes.iter().all(is_push).then_some(pushes)
}

/// What both scripts cost to run (`fee.Calculate`).
fn cost(standard: &Standard<'_>) -> u32 {
    let (signatures, keys) = (standard.signatures as u32, standard.key_count() as u32);
    let numbers = if standard.is_multisig { 2 * PUSH_NUMBER } else { 0 };
    (signatures + keys) * PUSH_DATA + numbers + keys * VERIFY
}
