//! Signature hashes: the digests that signatures of inputs sign.
//!
//! Parts that the inputs of a transaction share are computed once, on first use. Buffers are reused
//! for the next transaction, so an input allocates no memory.

use blockmill_hashes::{Sha256, sha256, sha256d};

use super::pushes::Operations;
use super::spend::{Spend, compact_size};

const NONE: u32 = 2;
const SINGLE: u32 = 3;
const ANYONE_CAN_PAY: u32 = 0x80;
const OP_CODESEPARATOR: u8 = 0xab;
/// An input without its script: outpoint, the length 0, sequence.
const BLANK_INPUT: usize = 41;

/// The original signature hashes.
///
/// A signature signs the whole transaction, with the scripts of all other inputs empty. The
/// transaction is written once with all scripts empty. The hash of an input continues the hash of
/// the bytes before its script, so only the bytes after it are hashed again.
#[derive(Clone, Debug, Default)]
pub struct LegacyHashes {
    /// The transaction with empty scripts; empty until it is used.
    blank: Vec<u8>,
    /// The start of the inputs.
    first: usize,
    /// The hash of the first `hashed` bytes of `blank`.
    prefix: Sha256,
    hashed: usize,
}

impl LegacyHashes {
    /// Starts another transaction.
    pub fn reset(&mut self) {
        self.blank.clear();
    }

    /// The digest that a signature of input number `index` with `script_code` and `hash_type`
    /// signs. Every hash type is valid; its upper bits are signed, too.
    ///
    /// With a single output that does not exist, the digest is the number 1, little-endian.
    #[must_use]
    pub fn hash(
        &mut self,
        spend: &Spend,
        index: usize,
        script_code: &[u8],
        hash_type: u32,
    ) -> [u8; 32] {
        let base = hash_type & 0x1f;
        if base == SINGLE && index >= spend.output_count() {
            let mut one = [0; 32];
            one[0] = 1;
            return one;
        }
        let all = hash_type & ANYONE_CAN_PAY == 0 && base != NONE && base != SINGLE;
        let mut hash = if all {
            self.of_all(spend, index, script_code)
        } else {
            of_some(spend, index, script_code, hash_type)
        };
        hash.update(&hash_type.to_le_bytes());
        sha256(&hash.finalize())
    }

    fn of_all(&mut self, spend: &Spend, index: usize, script_code: &[u8]) -> Sha256 {
        if self.blank.is_empty() {
            self.write_blank(spend);
        }
        let script_at = self.first + BLANK_INPUT * index + 36;
        if script_at < self.hashed {
            (self.prefix, self.hashed) = (Sha256::new(), 0);
        }
        self.prefix.update(self.blank.get(self.hashed..script_at).unwrap_or_default());
        self.hashed = script_at;
        let mut hash = self.prefix.clone();
        add_script_code(&mut hash, script_code);
        hash.update(self.blank.get(script_at + 1..).unwrap_or_default());
        hash
    }

    fn write_blank(&mut self, spend: &Spend) {
        let transaction = spend.transaction();
        let (count, length) = compact_size(spend.inputs().len() as u64);
        self.blank.extend_from_slice(&transaction.version.to_le_bytes());
        self.blank.extend_from_slice(&count[..length]);
        self.first = self.blank.len();
        for input in spend.inputs() {
            self.blank.extend_from_slice(spend.outpoint(input));
            self.blank.push(0);
            self.blank.extend_from_slice(&input.sequence.to_le_bytes());
        }
        self.blank.extend_from_slice(spend.outputs_with_count());
        self.blank.extend_from_slice(&transaction.lock_time.to_le_bytes());
        (self.prefix, self.hashed) = (Sha256::new(), 0);
    }
}

/// The digest of hash types that do not sign all inputs or outputs. They are rare, so nothing is
/// shared.
fn of_some(spend: &Spend, index: usize, script_code: &[u8], hash_type: u32) -> Sha256 {
    let (transaction, base) = (spend.transaction(), hash_type & 0x1f);
    let alone = hash_type & ANYONE_CAN_PAY != 0;
    let mut hash = Sha256::new();
    hash.update(&transaction.version.to_le_bytes());
    add_compact_size(&mut hash, if alone { 1 } else { spend.inputs().len() as u64 });
    for (i, input) in spend.inputs().iter().enumerate().filter(|(i, _)| !alone || *i == index) {
        hash.update(spend.outpoint(input));
        if i == index {
            add_script_code(&mut hash, script_code);
        } else {
            hash.update(&[0]);
        }
        let free = i != index && (base == NONE || base == SINGLE);
        hash.update(&(if free { 0 } else { input.sequence }).to_le_bytes());
    }
    match base {
        NONE => hash.update(&[0]),
        SINGLE => {
            add_compact_size(&mut hash, index as u64 + 1);
            for _ in 0..index {
                // an amount of -1 and an empty script
                hash.update(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]);
            }
            hash.update(spend.output(index).unwrap_or_default());
        }
        _ => hash.update(spend.outputs_with_count()),
    }
    hash.update(&transaction.lock_time.to_le_bytes());
    hash
}

/// Hashes the script code with its length, without OP_CODESEPARATOR. A script with a truncated push
/// cannot succeed, so its digest does not matter.
fn add_script_code(hash: &mut Sha256, script_code: &[u8]) {
    // usually the byte does not occur
    if !script_code.contains(&OP_CODESEPARATOR) {
        add_compact_size(hash, script_code.len() as u64);
        return hash.update(script_code);
    }
    let count = Operations(script_code).filter(|(opcode, _)| *opcode == OP_CODESEPARATOR).count();
    add_compact_size(hash, (script_code.len() - count) as u64);
    let mut from = script_code;
    let mut operations = Operations(script_code);
    while let Some((opcode, _)) = operations.next() {
        let behind = operations.0.len();
        if opcode == OP_CODESEPARATOR {
            hash.update(&from[..from.len() - behind - 1]);
            from = operations.0;
        }
    }
    hash.update(from);
}

fn add_compact_size(hash: &mut Sha256, n: u64) {
    let (bytes, length) = compact_size(n);
    hash.update(&bytes[..length]);
}

/// The hashes over all inputs and outputs that BIP143 and BIP341 share, hashed once.
#[derive(Clone, Copy, Debug)]
struct Shared {
    prevouts: [u8; 32],
    sequences: [u8; 32],
    outputs: [u8; 32],
}

/// Signature hashes of version 0 witness programs (BIP143).
#[derive(Clone, Debug, Default)]
pub struct SegwitHashes {
    shared: Option<Shared>,
    /// The same hashes, hashed again.
    twice: Option<Shared>,
}

impl SegwitHashes {
    /// Starts another transaction.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn shared(&mut self, spend: &Spend) -> Shared {
        *self.shared.get_or_insert_with(|| {
            let (mut prevouts, mut sequences) = (Sha256::new(), Sha256::new());
            for input in spend.inputs() {
                prevouts.update(spend.outpoint(input));
                sequences.update(&input.sequence.to_le_bytes());
            }
            let outputs = sha256(spend.outputs());
            Shared { prevouts: prevouts.finalize(), sequences: sequences.finalize(), outputs }
        })
    }

    fn twice(&mut self, spend: &Spend) -> Shared {
        let shared = self.shared(spend);
        *self.twice.get_or_insert_with(|| Shared {
            prevouts: sha256(&shared.prevouts),
            sequences: sha256(&shared.sequences),
            outputs: sha256(&shared.outputs),
        })
    }

    /// The digest that a signature of input number `index` signs; zeros if there is no such input.
    #[must_use]
    pub fn hash(
        &mut self,
        spend: &Spend,
        index: usize,
        script_code: &[u8],
        hash_type: u32,
    ) -> [u8; 32] {
        let (Some(input), Some(coin)) = (spend.inputs().get(index), spend.coins().get(index))
        else {
            return [0; 32];
        };
        let shared = self.twice(spend);
        let base = hash_type & 0x1f;
        let alone = hash_type & ANYONE_CAN_PAY != 0;
        let all_outputs = base != NONE && base != SINGLE;
        let mut hash = Sha256::new();
        hash.update(&spend.transaction().version.to_le_bytes());
        hash.update(if alone { &[0; 32] } else { &shared.prevouts });
        hash.update(if alone || !all_outputs { &[0; 32] } else { &shared.sequences });
        hash.update(spend.outpoint(input));
        add_compact_size(&mut hash, script_code.len() as u64);
        hash.update(script_code);
        hash.update(&coin.value.to_sat().to_le_bytes());
        hash.update(&input.sequence.to_le_bytes());
        hash.update(&match spend.output(index) {
            _ if all_outputs => shared.outputs,
            Some(output) if base == SINGLE => sha256d(output),
            _ => [0; 32],
        });
        hash.update(&spend.transaction().lock_time.to_le_bytes());
        hash.update(&hash_type.to_le_bytes());
        sha256(&hash.finalize())
    }
}

/// Signature hashes of taproot (BIP341), without annex.
#[derive(Clone, Debug)]
pub struct TaprootHashes {
    /// The hash of the tag, which begins every message.
    tag: Sha256,
    spent: Option<Spent>,
}

/// The hashes over the spent coins.
#[derive(Clone, Copy, Debug)]
struct Spent {
    amounts: [u8; 32],
    scripts: [u8; 32],
}

impl Default for TaprootHashes {
    fn default() -> Self {
        TaprootHashes { tag: tagged(b"TapSighash"), spent: None }
    }
}

impl TaprootHashes {
    /// Starts another transaction.
    pub fn reset(&mut self) {
        self.spent = None;
    }

    fn spent(&mut self, spend: &Spend) -> Spent {
        *self.spent.get_or_insert_with(|| {
            let (mut amounts, mut scripts) = (Sha256::new(), Sha256::new());
            for coin in spend.coins() {
                let script = spend.coin_script(coin);
                amounts.update(&coin.value.to_sat().to_le_bytes());
                add_compact_size(&mut scripts, script.len() as u64);
                scripts.update(script);
            }
            Spent { amounts: amounts.finalize(), scripts: scripts.finalize() }
        })
    }

    /// The message that a signature of input number `index` signs: by the output key, or by a key
    /// in the script with the leaf hash `leaf`, without OP_CODESEPARATOR. `None` if the hash type
    /// is unknown or the single output does not exist, which makes every signature invalid.
    /// `segwit` has the hashes that both versions share.
    #[must_use]
    pub fn hash(
        &mut self,
        segwit: &mut SegwitHashes,
        spend: &Spend,
        index: usize,
        leaf: Option<&[u8; 32]>,
        hash_type: u8,
    ) -> Option<[u8; 32]> {
        let (input, coin) = (spend.inputs().get(index)?, spend.coins().get(index)?);
        if !matches!(hash_type, 0..=3 | 0x81..=0x83) {
            return None;
        }
        let base = u32::from(hash_type & 3);
        let mut hash = self.tag.clone();
        hash.update(&[0, hash_type]);
        hash.update(&spend.transaction().version.to_le_bytes());
        hash.update(&spend.transaction().lock_time.to_le_bytes());
        let alone = hash_type & 0x80 != 0;
        let shared = segwit.shared(spend);
        if !alone {
            let spent = self.spent(spend);
            for part in [shared.prevouts, spent.amounts, spent.scripts, shared.sequences] {
                hash.update(&part);
            }
        }
        if base != NONE && base != SINGLE {
            hash.update(&shared.outputs);
        }
        hash.update(&[if leaf.is_some() { 2 } else { 0 }]);
        if alone {
            let script = spend.coin_script(coin);
            hash.update(spend.outpoint(input));
            hash.update(&coin.value.to_sat().to_le_bytes());
            add_compact_size(&mut hash, script.len() as u64);
            hash.update(script);
            hash.update(&input.sequence.to_le_bytes());
        } else {
            hash.update(&(index as u32).to_le_bytes());
        }
        if base == SINGLE {
            hash.update(&sha256(spend.output(index)?));
        }
        if let Some(leaf) = leaf {
            hash.update(leaf);
            // version of the keys, no OP_CODESEPARATOR
            hash.update(&[0, 0xff, 0xff, 0xff, 0xff]);
        }
        Some(hash.finalize())
    }
}

/// A hasher that was updated twice with the hash of `tag` (BIP340).
pub(super) fn tagged(tag: &[u8]) -> Sha256 {
    let tag = sha256(tag);
    let mut hash = Sha256::new();
    hash.update(&tag);
    hash.update(&tag);
    hash
}
