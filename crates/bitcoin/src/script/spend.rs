//! A transaction with the coins that it spends: the input of scripts and signature hashes.

use crate::types::{Amount, Block, Input, Output, Transaction};
use blockmill_verdict::Span;

/// A spent coin. Its script is in a buffer of all scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpentCoin {
    /// Its value.
    pub value: Amount,
    /// Height of the block that created it.
    pub height: u32,
    /// Whether a coinbase created it.
    pub coinbase: bool,
    /// The range of the output script in the buffer.
    pub script: Span,
}

/// A transaction of a block and the coins that its inputs spend.
#[derive(Clone, Copy, Debug)]
pub struct Spend<'a> {
    raw: &'a [u8],
    transaction: &'a Transaction,
    inputs: &'a [Input],
    outputs: &'a [Output],
    coins: &'a [SpentCoin],
    scripts: &'a [u8],
}

/// The bytes of a span. Empty if the span is out of bounds, which the parser excludes.
fn bytes(raw: &[u8], span: Span) -> &[u8] {
    raw.get(span.start as usize..span.end as usize).unwrap_or_default()
}

impl<'a> Spend<'a> {
    /// Transaction number `transaction` of `block`, with the coins that its inputs spend, in order,
    /// and the buffer of their scripts. `None` if the block has no such transaction, or there is
    /// not exactly one coin for each input.
    #[must_use]
    pub fn new(
        block: &'a Block,
        transaction: usize,
        coins: &'a [SpentCoin],
        scripts: &'a [u8],
    ) -> Option<Self> {
        let transaction = block.transactions.get(transaction)?;
        let (inputs, outputs) = (&transaction.inputs, &transaction.outputs);
        let inputs = block.inputs.get(inputs.start as usize..inputs.end as usize)?;
        let outputs = block.outputs.get(outputs.start as usize..outputs.end as usize)?;
        let raw = &block.raw[..];
        let spend = Spend { raw, transaction, inputs, outputs, coins, scripts };
        (coins.len() == inputs.len()).then_some(spend)
    }

    /// The bytes of the transaction, with witnesses.
    #[must_use]
    pub fn encoding(&self) -> &'a [u8] {
        bytes(self.raw, self.transaction.span)
    }

    pub(super) fn transaction(&self) -> &'a Transaction {
        self.transaction
    }

    pub(super) fn inputs(&self) -> &'a [Input] {
        self.inputs
    }

    pub(super) fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// The 36 bytes of the outpoint.
    pub(super) fn outpoint(&self, input: &Input) -> &'a [u8] {
        bytes(self.raw, Span { start: input.outpoint, end: input.outpoint.saturating_add(36) })
    }

    pub(super) fn script(&self, input: &Input) -> &'a [u8] {
        bytes(self.raw, input.script)
    }

    /// The witness with the count of its items; empty or a zero if there is none.
    pub(super) fn witness(&self, input: &Input) -> &'a [u8] {
        bytes(self.raw, input.witness)
    }

    /// All outputs with their count.
    pub(super) fn outputs_with_count(&self) -> &'a [u8] {
        bytes(self.raw, self.transaction.outputs_span)
    }

    /// All outputs without their count.
    pub(super) fn outputs(&self) -> &'a [u8] {
        let all = self.outputs_with_count();
        all.get(compact_size_length(self.outputs.len() as u64)..).unwrap_or_default()
    }

    /// The encoding of output number `index`: amount, length, script.
    pub(super) fn output(&self, index: usize) -> Option<&'a [u8]> {
        let script = self.outputs.get(index)?.script;
        let length = u64::from(script.end.saturating_sub(script.start));
        let start = script.start.checked_sub(8 + compact_size_length(length) as u32)?;
        Some(bytes(self.raw, Span { start, end: script.end }))
    }

    /// The coins, one for each input.
    pub(super) fn coins(&self) -> &'a [SpentCoin] {
        self.coins
    }

    /// The output script of a coin.
    pub(super) fn coin_script(&self, coin: &SpentCoin) -> &'a [u8] {
        bytes(self.scripts, coin.script)
    }
}

/// The size of Bitcoin's variable-length encoding of `n`.
pub(super) fn compact_size_length(n: u64) -> usize {
    match n {
        0..0xfd => 1,
        0xfd..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

/// Bitcoin's variable-length encoding of `n`, and its size.
pub(super) fn compact_size(n: u64) -> ([u8; 9], usize) {
    let mut out = [0; 9];
    let length = compact_size_length(n);
    match length {
        1 => out[0] = n as u8,
        3 => out[0] = 0xfd,
        5 => out[0] = 0xfe,
        _ => out[0] = 0xff,
    }
    if length > 1 {
        out[1..length].copy_from_slice(&n.to_le_bytes()[..length - 1]);
    }
    (out, length)
}
