//! Blocks of the store, and what their executions left.

use super::Ledger;
use crate::execute::engine::Execution;
use crate::fault::Error;
use crate::logs::application;
use crate::types::{Block, UInt256};
use blockmill_hashes::ManySha256;
use blockmill_store::ChainStore;

impl Ledger {
    /// The executions of a block, as its application log tells them; none where there is no such
    /// block.
    ///
    /// # Errors
    /// Those of reading; a log or a block that is damaged.
    pub fn executions(
        &self,
        height: u32,
        state_root: bool,
    ) -> Result<Option<Vec<Execution>>, Error> {
        let block = stored_block(&self.store.lock(), height.into(), state_root)?;
        block.map_or(Ok(None), |block| self.executions_of(&block))
    }

    /// The same of a block that was read.
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

/// A block of the store; none where it has none of this height, or it cannot be taken apart.
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
