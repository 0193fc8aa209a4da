//! Whole blocks.

use super::{Body, Header, Transaction, Withdrawal};
use crate::List;

/// A block as it is exported and sent: the header and the parts of the [`Body`] in one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The header.
    pub header: Header<'a>,
    /// In the order in which they are executed.
    pub transactions: List<'a, Transaction<'a>>,
    /// Headers of blocks that were left aside; none after the merge.
    pub ommers: List<'a, Header<'a>>,
    /// From Shanghai on (EIP-4895).
    pub withdrawals: Option<List<'a, Withdrawal<'a>>>,
}

crate::list!(Block<'a> {
    header: Header<'a>,
    transactions: List<'a, Transaction<'a>>,
    ommers: List<'a, Header<'a>>,
    withdrawals: Option<List<'a, Withdrawal<'a>>>,
});

impl<'a> Block<'a> {
    /// The block of this header and this body.
    #[must_use]
    pub fn new(header: Header<'a>, body: Body<'a>) -> Self {
        let Body { transactions, ommers, withdrawals } = body;
        Self { header, transactions, ommers, withdrawals }
    }
}
