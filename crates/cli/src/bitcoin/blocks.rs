//! Verified Bitcoin blocks for a program that reads them.

use crate::library::{Block, BlockSender};
use blockmill_bitcoin::verified::{Consumer, VerifiedBlock};
use std::sync::Arc;

/// Bytes of a header.
const HEADER: usize = 80;

/// A consumer that sends the verified blocks.
pub fn consumer(to: &BlockSender) -> Consumer {
    to.consumer(Arc::new(|blocks: &[VerifiedBlock<'_>]| {
        let block = |block: &VerifiedBlock<'_>| {
            let (header, body) = block.block.raw.split_at(HEADER);
            Block {
                number: block.height.into(),
                hash: block.block.hash.0,
                header: header.to_vec(),
                body: Some(body.to_vec()),
            }
        };
        Ok(BlockSender::rows(blocks.iter().map(block)))
    }))
}
