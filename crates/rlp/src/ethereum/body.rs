//! Block bodies.

use super::{Header, Transaction, Withdrawal};
use crate::List;

/// The body of a block: `[transactions, ommers]`, and from Shanghai on `[transactions, ommers,
/// withdrawals]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body<'a> {
    /// In the order in which they are executed.
    pub transactions: List<'a, Transaction<'a>>,
    /// Headers of blocks that were left aside; none after the merge.
    pub ommers: List<'a, Header<'a>>,
    /// From Shanghai on (EIP-4895).
    pub withdrawals: Option<List<'a, Withdrawal<'a>>>,
}

crate::list!(Body<'a> {
    transactions: List<'a, Transaction<'a>>,
    ommers: List<'a, Header<'a>>,
    withdrawals: Option<List<'a, Withdrawal<'a>>>,
});
