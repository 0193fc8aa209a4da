//! Blocks of an RLP export.

use crate::Failure;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Block, BlockBody, Header, TxEnvelope};
use alloy_primitives::Address;
use alloy_rlp::{Decodable, Header as Prefix};

/// The next block of `rest`, without its access list (EIP-7928), which is not used.
pub fn decode(rest: &mut &[u8]) -> Result<Block<TxEnvelope>, Failure> {
    items(rest).map_err(|error| format!("decode: {error}").into())
}

fn items(rest: &mut &[u8]) -> alloy_rlp::Result<Block<TxEnvelope>> {
    let mut items = Prefix::decode_bytes(rest, true)?;
    let header = Header::decode(&mut items)?;
    let transactions = Vec::decode(&mut items)?;
    let ommers = Vec::decode(&mut items)?;
    let withdrawals = (!items.is_empty()).then(|| Decodable::decode(&mut items)).transpose()?;
    Ok(Block { header, body: BlockBody { transactions, ommers, withdrawals } })
}

/// Who signed its transactions.
pub fn senders(block: &Block<TxEnvelope>) -> Result<Vec<Address>, Failure> {
    let all = block.body.transactions.iter().map(SignerRecoverable::recover_signer);
    let all: Result<_, _> = all.collect();
    all.map_err(|error| format!("block {}: {error}", block.header.number).into())
}
