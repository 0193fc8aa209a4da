//! Blocks of an RLP export.

use crate::Failure;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Block, TxEnvelope};
use alloy_primitives::Address;
use alloy_rlp::Decodable;

/// The next block of `rest`.
pub fn decode(rest: &mut &[u8]) -> Result<Block<TxEnvelope>, Failure> {
    Block::decode(rest).map_err(|error| format!("decode: {error}").into())
}

/// Who signed its transactions.
pub fn senders(block: &Block<TxEnvelope>) -> Result<Vec<Address>, Failure> {
    let all = block.body.transactions.iter().map(SignerRecoverable::recover_signer);
    let all: Result<_, _> = all.collect();
    all.map_err(|error| format!("block {}: {error}", block.header.number).into())
}
