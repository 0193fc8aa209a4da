//! Verified Ethereum blocks for a program that reads them.

use crate::library::{Block, BlockSender};
use blockmill_ethereum::commit::{Consumer, Verified};
use std::sync::Arc;

/// A consumer that sends the verified blocks.
pub fn consumer(to: &BlockSender) -> Consumer {
    to.consumer(Arc::new(|blocks: &Verified<'_>| {
        let block = |at| Block {
            number: blocks.number(at),
            hash: *blocks.hash(at),
            header: blocks.header(at).to_vec(),
            body: blocks.body(at).map(<[u8]>::to_vec),
        };
        Ok(BlockSender::rows(blocks.range().map(block)))
    }))
}
