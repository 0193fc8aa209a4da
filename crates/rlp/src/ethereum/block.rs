//! Whole blocks.

use super::{Body, Header, Transaction, Withdrawal};
use crate::List;

/// A block as it is exported and sent: the header and the parts of the [`Body`] in one list.
///
/// ```
/// use blockmill_rlp::ethereum::{Block, Body, Header, Transaction, TransactionType};
/// use blockmill_rlp::{Decode, Encode, List};
/// use blockmill_hashes::ManyKeccak;
///
/// # fn look(bytes: &[u8]) -> Result<(), blockmill_rlp::Error> {
/// let block = Block::decode(bytes)?;
/// assert_eq!(block.encode(), bytes);
/// let block_hash: [u8; 32] = block.header.hash();
/// let mut hashes = vec![[0; 32]; block.transactions.len()];
/// block.transactions.hashes(&ManyKeccak::detect(), &mut hashes);
/// # Ok(())
/// # }
/// ```
///
/// ```
/// use blockmill_rlp::ethereum::{Block, Body, Header};
/// use blockmill_rlp::{Decode, Encode};
///
/// let block = Block::new(Header { number: 7, ..Header::default() }, Body::default());
/// let bytes = block.encode();
/// assert_eq!(Block::decode(&bytes)?.header.number, 7);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
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
