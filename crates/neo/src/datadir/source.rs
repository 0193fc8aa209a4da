//! The source of the export: the last commit of a store of executed blocks.

use crate::error::Error;
use crate::execute::engine::Execution;
use crate::ledger::HISTORY;
use crate::ledger::has_state_roots;
use crate::ledger::{self, CONFLICTS, Facts, ROOTS, STORAGE, StateFacts, TABLE_MEMORY};
use crate::logs::{TRANSFERS, UPDATES, application};
use crate::params::Configuration;
use crate::types::{Block, UInt256};
use blockmill_store::{ChainStore, Table, TableOptions};
use blockmill_verdict::Level;
use std::path::Path;

/// A store of executed blocks, opened read-only.
pub(crate) struct SourceStore {
    pub store: ChainStore,
    pub storage: Table,
    pub conflicts: Table,
    pub transfers: Table,
    pub updates: Table,
    pub roots: Table,
    /// Contract storage as of every block, if the store keeps it.
    pub history: Option<Table>,
    pub configuration: Configuration,
    /// The state root after the last block.
    pub root: UInt256,
    /// The last block.
    pub height: u32,
    /// Its hash.
    pub tip: UInt256,
    state_root: bool,
}

impl SourceStore {
    /// Opens the store in a folder, read-only.
    ///
    /// # Errors
    /// Returns [`Error::NotExecuted`] if the store has no executed blocks, [`Error::Store`] if it
    /// cannot be opened.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (store, _) = ChainStore::open_read_only(folder)?;
        let level = store.tip().and_then(|tip| Level::stored(tip.level));
        if level != Some(Level::Execution) {
            return Err(Error::NotExecuted(level));
        }
        let keeps_history = store.parts_besides().contains(&HISTORY);
        let parts = |opening: &mut blockmill_store::Opening| {
            let mut table = |name| opening.table(name, &TableOptions::new(TABLE_MEMORY));
            let history = if keeps_history { Some(table(HISTORY)?) } else { None };
            Ok((
                [
                    table(STORAGE)?,
                    table(CONFLICTS)?,
                    table(TRANSFERS)?,
                    table(UPDATES)?,
                    table(ROOTS)?,
                ],
                history,
            ))
        };
        let ((store, _), (tables, history)) = ChainStore::open_read_only_with(folder, parts)?;
        let [storage, conflicts, transfers, updates, roots] = tables;
        let (Some(tip), Some(facts)) = (store.tip(), Facts::read(&store)?) else {
            return Err(Error::NotExecuted(None));
        };
        let Some(StateFacts { root, .. }) = facts.state else {
            return Err(Error::NotExecuted(level));
        };
        let state_root = has_state_roots(&store)?;
        // heights have four bytes
        let (height, tip, configuration) =
            (tip.number as u32, UInt256(tip.hash), facts.configuration);
        Ok(Self {
            store,
            storage,
            conflicts,
            transfers,
            updates,
            roots,
            history,
            configuration,
            root,
            height,
            tip,
            state_root,
        })
    }

    /// A block and its executions.
    ///
    /// # Errors
    /// Returns [`Error::StoredBlock`] or [`Error::StoredLog`] if block or log are not as written,
    /// [`Error::Store`] if they cannot be read.
    pub fn block(&self, height: u32) -> Result<(Block, Vec<Execution>), Error> {
        let number = u64::from(height);
        let expected = UInt256(self.store.hash_of(number)?.unwrap_or_default());
        let block = ledger::stored_block(&self.store, number, self.state_root)?;
        let found = block.as_ref().map(|block| block.hash);
        let Some(block) = block.filter(|block| block.hash == expected) else {
            return Err(Error::StoredBlock { number, expected, found });
        };
        let log = self.store.receipts(number)?.unwrap_or_default();
        let damaged = |error| Error::StoredLog { height, error };
        let executions = application::decode(&block, &log).map_err(damaged)?;
        Ok((block, executions))
    }

    /// Reports whether a setting is true in the configuration of the blocks.
    pub fn holds(&self, setting: &str) -> bool {
        self.configuration.value(setting) == Some("true")
    }
}
