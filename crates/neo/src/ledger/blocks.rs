//! Stored blocks and their executions.

use super::Ledger;
use crate::error::Error;
use crate::execute::engine::Execution;
use crate::logs::application;
use crate::types::{Block, UInt256};
use blockmill_hashes::ManySha256;
use blockmill_store::ChainStore;

impl Ledger {
    /// Decodes the executions of a block from its application log; `None` if the store has no block
    /// at this height.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the block cannot be read, [`Error::StoredLog`] if its log cannot
    /// be decoded.
    pub fn executions(
        &self,
        height: u32,
        state_root: bool,
    ) -> Result<Option<Vec<Execution>>, Error> {
        let block = stored_block(&self.store.lock(), height.into(), state_root)?;
        block.map_or(Ok(None), |block| self.executions_of(&block))
    }

    /// Decodes the executions of a block that was read.
    pub(super) fn executions_of(&self, block: &Block) -> Result<Option<Vec<Execution>>, Error> {
        let height = block.header.index;
        let Some(log) = self.store.lock().receipts(height.into())? else { return Ok(None) };
        let damaged = |error| Error::StoredLog { height, error };
        application::decode(block, &log).map(Some).map_err(damaged)
    }

    pub(super) fn block(&self, height: u32, state_root: bool) -> Result<Block, Error> {
        let store = self.store.lock();
        let number = u64::from(height);
        let expected = UInt256(store.hash_of(number)?.unwrap_or_default());
        let block = stored_block(&store, number, state_root)?;
        block.ok_or(Error::StoredBlock { number, expected, found: None })
    }
}

/// Reads a block of the store; `None` if there is none at this height or it cannot be parsed.
pub(crate) fn stored_block(
    store: &ChainStore,
    height: u64,
    state_root: bool,
) -> blockmill_store::Result<Option<Block>> {
    let (Some(mut raw), Some(body)) = (store.header(height)?, store.body(height)?) else {
        return Ok(None);
    };
    raw.extend_from_slice(&body);
    let mut block = Block { raw, ..Block::default() };
    Ok(block.decode(state_root, &ManySha256::scalar()).ok().map(|()| block))
}
