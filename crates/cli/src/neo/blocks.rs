//! Verified Neo blocks for a program that reads them.

use crate::library::{Block, BlockSender};
use blockmill_neo::import::{Consumer, Verified};
use std::sync::Arc;

/// A consumer that sends the verified blocks.
pub fn consumer(to: &BlockSender) -> Consumer {
    to.consumer(Arc::new(|blocks: &Verified<'_>| {
        let block = |block: &blockmill_neo::types::Block| {
            let (header, body) = block.raw.split_at(block.header_length());
            Block {
                number: block.header.index.into(),
                hash: block.hash.0,
                header: header.to_vec(),
                body: Some(body.to_vec()),
            }
        };
        Ok(BlockSender::rows(blocks.blocks().iter().map(block)))
    }))
}
