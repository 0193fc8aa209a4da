//! A block taken apart: where each transaction, input, output and witness stands in its bytes.
//!
//! Nothing is copied out of the block. The lists are reused from block to block.

use crate::Hash;
use std::ops::Range;

/// A stretch of the block's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A transaction: where its parts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The whole transaction, witnesses included.
    pub span: Span,
    /// Its inputs among the block's inputs.
    pub inputs: Range<u32>,
    /// Its outputs among the block's outputs.
    pub outputs: Range<u32>,
    /// All inputs, with the count before them.
    pub inputs_span: Span,
    /// All outputs, with the count before them.
    pub outputs_span: Span,
    /// The version as a signed number of the encoding's four bytes.
    pub version: i32,
    /// The lock time.
    pub lock_time: u32,
    /// Does it have the marker and flag of BIP144?
    pub has_witness: bool,
}

/// An input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Where the 36 bytes of the outpoint (txid, index in little endian) begin.
    pub outpoint: u32,
    /// The input script.
    pub script: Span,
    /// The sequence number.
    pub sequence: u32,
    /// The witness: the count of its items and the items with their lengths; empty without one.
    pub witness: Span,
}

/// An output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Satoshis.
    pub value: i64,
    /// The output script.
    pub script: Span,
}

/// A block taken apart.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The block's bytes, header first.
    pub raw: Vec<u8>,
    /// The header's hash.
    pub hash: Hash,
    /// Transactions, coinbase first.
    pub transactions: Vec<Transaction>,
    /// The inputs of all transactions, in order.
    pub inputs: Vec<Input>,
    /// The outputs of all transactions, in order.
    pub outputs: Vec<Output>,
    /// The id of each transaction.
    pub txids: Vec<Hash>,
    /// The id with witnesses of each transaction; the coinbase's is zero.
    pub wtxids: Vec<Hash>,
}
