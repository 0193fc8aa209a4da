//! A coin: an output that a later transaction may spend.

use super::{Amount, Txid};

/// A reference to an output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// The transaction's id.
    pub txid: Txid,
    /// The position among its outputs.
    pub vout: u32,
}

/// An unspent output, with the properties of its creation that spending needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin<'a> {
    /// Height of the block that created it.
    pub height: u32,
    /// Whether a coinbase created it. Then it can be spent after 100 blocks.
    pub coinbase: bool,
    /// Its value.
    pub value: Amount,
    /// The output script.
    pub script: &'a [u8],
}
