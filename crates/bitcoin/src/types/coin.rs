//! A coin: an output that a later transaction may spend.

use super::{Amount, Txid};

/// Which output of which transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// The transaction's id.
    pub txid: Txid,
    /// The position among its outputs.
    pub vout: u32,
}

/// An unspent output, and what its spender must know of where it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin<'a> {
    /// Height of the block that created it.
    pub height: u32,
    /// Was it created by a coinbase? Then it can be spent 100 blocks later.
    pub coinbase: bool,
    /// What it is worth.
    pub value: Amount,
    /// The output script.
    pub script: &'a [u8],
}
