//! The rules of a transaction that do not depend on its block.

use crate::Rule;
use crate::rule::Violation;
use crate::types::{Amount, Block, Transaction};

/// Maximum size of a transaction or a block without witnesses, in bytes.
pub const MAX_STRIPPED_BYTES: usize = 1_000_000;

/// Memory for the search for repeated inputs.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    keys: Vec<u64>,
    outpoints: Vec<[u8; 36]>,
}

impl Repeats {
    /// Returns whether `transaction` spends an output twice.
    ///
    /// Outpoints are long and repeats are rare, so this first sorts 64-bit numbers, which differ
    /// for all outputs of one transaction, and nearly always for others.
    fn any(&mut self, block: &Block, transaction: &Transaction) -> bool {
        let inputs = block.inputs_of(transaction);
        if inputs.len() < 2 {
            return false;
        }
        self.keys.clear();
        self.keys.extend(inputs.iter().map(|input| key(block.outpoint_bytes(input))));
        self.keys.sort_unstable();
        if self.keys.windows(2).all(|pair| pair[0] != pair[1]) {
            return false;
        }
        self.outpoints.clear();
        self.outpoints.extend(inputs.iter().map(|input| block.outpoint_bytes(input)));
        self.outpoints.sort_unstable();
        self.outpoints.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The first bytes of the id, combined with the index times an odd factor.
fn key(outpoint: &[u8; 36]) -> u64 {
    let [a, b, c, d, e, f, g, h, .., w, x, y, z] = *outpoint;
    let index = u64::from(u32::from_le_bytes([w, x, y, z]));
    u64::from_le_bytes([a, b, c, d, e, f, g, h]) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns whether it is a coinbase: one input that spends no output.
#[must_use]
pub fn is_coinbase(block: &Block, transaction: &Transaction) -> bool {
    match block.inputs_of(transaction) {
        [input] => is_null(block.outpoint_bytes(input)),
        _ => false,
    }
}

/// Returns whether an outpoint names no output: an id of zeros and the highest index.
fn is_null(outpoint: &[u8; 36]) -> bool {
    let [id @ .., w, x, y, z] = outpoint;
    [w, x, y, z] == [&0xff; 4] && id.iter().all(|byte| *byte == 0)
}

/// Checks transaction `index` of the block, with the rules in the order of Core.
///
/// # Errors
/// Returns the first rule that is broken.
pub fn check(block: &Block, index: usize, repeats: &mut Repeats) -> Result<(), Violation> {
    let transaction = &block.transactions[index];
    let inputs = block.inputs_of(transaction);
    if inputs.is_empty() {
        return Err(Violation::of_transaction(Rule::NoInputs, index, "inputs", "none"));
    }
    if block.outputs_of(transaction).is_empty() {
        return Err(Violation::of_transaction(Rule::NoOutputs, index, "outputs", "none"));
    }
    let length = transaction.stripped_size();
    if length > MAX_STRIPPED_BYTES {
        let expected = format_args!("at most {MAX_STRIPPED_BYTES} bytes");
        return Err(Violation::of_transaction(Rule::TransactionLength, index, expected, length));
    }
    check_values(block, index)?;
    if repeats.any(block, transaction) {
        let (expected, found) = ("each output spent once", "one spent twice");
        return Err(Violation::of_transaction(Rule::RepeatedInputs, index, expected, found));
    }
    if is_coinbase(block, transaction) {
        let length = inputs[0].script.len();
        if !(2..=100).contains(&length) {
            let (rule, expected) = (Rule::CoinbaseScript, "a script of 2 to 100 bytes");
            return Err(Violation::of_transaction(rule, index, expected, length));
        }
    } else if let Some(i) = inputs.iter().position(|input| is_null(block.outpoint_bytes(input))) {
        let found = format_args!("none for input {i}");
        let expected = "an output to spend";
        return Err(Violation::of_transaction(Rule::NullOutpoint, index, expected, found));
    }
    Ok(())
}

/// Checks that each value and their sum are valid amounts.
fn check_values(block: &Block, index: usize) -> Result<(), Violation> {
    let mut sum = Amount::ZERO;
    for output in block.outputs_of(&block.transactions[index]) {
        let stated = Amount::stated(output.value);
        sum = sum.saturating_add(stated.unwrap_or_default());
        let (rule, found) = match stated {
            Some(_) if sum.is_in_range() => continue,
            Some(_) => (Rule::ValuesTooLarge, sum.to_string()),
            None if output.value < 0 => (Rule::ValueNegative, output.value.to_string()),
            None => (Rule::ValueTooLarge, output.value.to_string()),
        };
        let expected = format_args!("0 to {} satoshis", Amount::MAX);
        return Err(Violation::of_transaction(rule, index, expected, found));
    }
    Ok(())
}
