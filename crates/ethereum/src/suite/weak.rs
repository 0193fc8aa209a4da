//! Blocks that break more rules than the one that a test names: which rules those are.
//!
//! In older tests the header of a block with an invalid transaction is that of the block without
//! it, and some transactions can neither pay the fee nor the gas that is due.

use super::blockchain::Chain;
use crate::body::BodyView;
use crate::encoding::decode_header;
use crate::execute::ExecutionError;
use crate::header::HeaderView;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::transaction_rules::block::BlockTerms;
use blockmill_rlp::{Encode, RawList, Reader};

/// The rules besides `violation` that a refused block breaks, as far as tests depend on them.
pub(super) fn others(chain: &mut Chain<'_>, block: &[u8], violation: &Violation) -> Vec<Violation> {
    let mut others = vec![];
    let mut transaction = violation.transaction;
    if violation.rule == Rule::TransactionsRoot
        && let Some(repaired) = with_own_root(block)
        && let Err(ExecutionError::Rule(other)) = chain.add(&repaired)
    {
        transaction = other.transaction;
        others.push(other);
    }
    others.extend(transaction.and_then(|index| fees(chain.spec, block, index)));
    others
}

/// The same block with the transactions root of its transactions.
fn with_own_root(block: &[u8]) -> Option<Vec<u8>> {
    let (header, body) = BodyView::decode_block(block).ok()?;
    let mut header = HeaderView::decode(header).ok()?.to_owned();
    header.transactions_root = blockmill_trie::ordered_root(body.transaction_encodings());
    let mut list = Reader::new(block).list().ok()?;
    list.item().ok()?;
    let header = header.encode();
    let mut parts = vec![&header[..]];
    while !list.is_empty() {
        parts.push(list.item().ok()?.raw);
    }
    Some(RawList(&parts).encode())
}

/// What the header of the block asks of a transaction that it does not have.
fn fees(spec: &ChainSpec, block: &[u8], transaction: u32) -> Option<Violation> {
    let header = decode_header(block).ok()?;
    let (_, body) = BodyView::decode_block(block).ok()?;
    let tx = body.transactions().nth(transaction as usize)?;
    let terms = BlockTerms::new(&header, spec.rules_of(&header).blobs);
    Some(terms.verify(&tx).err()?.into())
}
