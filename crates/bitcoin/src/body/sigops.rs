//! Counts signature checks in scripts, which blocks limit, without running the scripts (BIP16,
//! BIP141).

use crate::types::{Block, Transaction, Witness};

/// Maximum cost of the signature checks in a block.
pub const MAX_SIGOP_COST: u32 = 80_000;
/// The cost of a signature check outside witnesses.
pub const LEGACY_COST: u32 = 4;
/// Count of OP_CHECKMULTISIG if the number of keys is unknown.
const MOST_KEYS: u32 = 20;

/// Instructions, by their codes.
const PUSH_1: u8 = 0x4c;
const PUSH_2: u8 = 0x4d;
const PUSH_4: u8 = 0x4e;
const ONE: u8 = 0x51;
const SIXTEEN: u8 = 0x60;
const CHECKSIG: u8 = 0xac;
const CHECKSIGVERIFY: u8 = 0xad;
const CHECKMULTISIG: u8 = 0xae;
const CHECKMULTISIGVERIFY: u8 = 0xaf;

/// The instructions of a script with the bytes that they push. Ends at a truncated push.
struct Instructions<'a> {
    script: &'a [u8],
    /// Whether a push was truncated.
    broken: bool,
}

impl<'a> Instructions<'a> {
    fn new(script: &'a [u8]) -> Self {
        Self { script, broken: false }
    }

    /// The bytes of a push with a length of `N` bytes.
    fn long_push<const N: usize>(&mut self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let (length, rest) = rest.split_first_chunk::<N>()?;
        let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (data, rest) = rest.split_at_checked(length)?;
        self.script = rest;
        Some(data)
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = (u8, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&code, rest) = self.script.split_first()?;
        if code > PUSH_4 {
            self.script = rest;
            return Some((code, &[]));
        }
        let data = match code {
            ..PUSH_1 => rest.split_at_checked(usize::from(code)).map(|(data, rest)| {
                self.script = rest;
                data
            }),
            PUSH_1 => self.long_push::<1>(rest),
            PUSH_2 => self.long_push::<2>(rest),
            _ => self.long_push::<4>(rest),
        };
        if data.is_none() {
            self.script = &[];
            self.broken = true;
        }
        data.map(|data| (code, data))
    }
}

/// Counts the signature checks in `script`, up to a truncated push. If `accurate`, a check of
/// several signatures counts its keys, if their number precedes it.
#[must_use]
pub fn count(script: &[u8], accurate: bool) -> u32 {
    let mut sum = 0;
    let mut before = 0xff;
    for (code, _) in Instructions::new(script) {
        sum += match code {
            CHECKSIG | CHECKSIGVERIFY => 1,
            CHECKMULTISIG | CHECKMULTISIGVERIFY => match before {
                ONE..=SIXTEEN if accurate => u32::from(before - ONE + 1),
                _ => MOST_KEYS,
            },
            _ => 0,
        };
        before = code;
    }
    sum
}

/// [`count`] with `accurate` unset, with a fast path for standard output scripts.
fn count_output(script: &[u8]) -> u32 {
    match script {
        // to a key's hash
        [0x76, 0xa9, 0x14, hash @ .., 0x88, CHECKSIG] if hash.len() == 20 => 1,
        // to a script's hash
        [0xa9, 0x14, hash @ .., 0x87] if hash.len() == 20 => 0,
        // witness programs of the usual lengths
        [0x00 | ONE..=SIXTEEN, length @ (0x14 | 0x20), program @ ..]
            if program.len() == usize::from(*length) =>
        {
            0
        }
        _ => count(script, false),
    }
}

/// Counts the signature checks in the scripts of a transaction. Each has a cost of [`LEGACY_COST`].
#[must_use]
pub fn legacy(block: &Block, transaction: &Transaction) -> u32 {
    let inputs = block.inputs_of(transaction).iter().filter(|input| !input.script.is_empty());
    let outputs = block.outputs_of(transaction).iter();
    inputs.map(|input| count(input.script.slice(&block.raw), false)).sum::<u32>()
        + outputs.map(|output| count_output(output.script.slice(&block.raw))).sum::<u32>()
}

/// The cost of the signature checks of an input outside its own script: in a redeem script (`p2sh`,
/// BIP16) and in a witness (`segwit`, BIP141). `spent` is the script of the output that it spends.
/// Not for coinbases.
#[must_use]
pub fn spent_cost(
    input: &[u8],
    witness: Witness<'_>,
    spent: &[u8],
    p2sh: bool,
    segwit: bool,
) -> u32 {
    if !is_script_hash(spent) {
        return if segwit { witness_cost(spent, witness) } else { 0 };
    }
    // the script must have pushes only
    let Some(script) = last_push(input).filter(|_| p2sh) else { return 0 };
    let behind_hash = LEGACY_COST * count(script, true);
    behind_hash + if segwit { witness_cost(script, witness) } else { 0 }
}

/// Pay to script hash.
fn is_script_hash(script: &[u8]) -> bool {
    matches!(script, [0xa9, 0x14, hash @ .., 0x87] if hash.len() == 20)
}

/// The bytes of the last push, if all instructions are pushes.
fn last_push(script: &[u8]) -> Option<&[u8]> {
    let mut instructions = Instructions::new(script);
    let mut last = &[][..];
    for (code, data) in &mut instructions {
        if code > SIXTEEN {
            return None;
        }
        last = data;
    }
    (!instructions.broken).then_some(last)
}

/// The cost of a version 0 witness program: one check for a key hash, the checks of the script for
/// a script hash. Later versions have limits of their own.
fn witness_cost(program: &[u8], witness: Witness<'_>) -> u32 {
    match program {
        [0x00, 0x14, key @ ..] if key.len() == 20 => 1,
        [0x00, 0x20, hash @ ..] if hash.len() == 32 => {
            witness.last().map_or(0, |script| count(script, true))
        }
        _ => 0,
    }
}
