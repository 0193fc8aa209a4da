//! Opens the tables and the undo log of a store of executed blocks.

use super::undo::UndoLog;
use super::{ASKERS, CONFLICTS, ROOTS, STORAGE, TABLE_MEMORY, TRANSACTIONS};
use crate::ledger::HISTORY;
use crate::logs::{TRANSFERS, UPDATES};
use blockmill_store::{Opening, Table, TableOptions};

/// The parts of a store of executed blocks but the blocks.
pub(super) struct Parts {
    /// Contract storage, transactions, conflicts, transfers, updates, roots and askers.
    pub tables: [Table; 7],
    /// Contract storage as of every block, if the store keeps it.
    pub history: Option<Table>,
    pub undo: UndoLog,
}

impl Parts {
    pub fn open(opening: &mut Opening, keeps_history: bool) -> blockmill_store::Result<Self> {
        let undo = UndoLog::open(opening)?;
        let mut table = |name| opening.table(name, &TableOptions::new(TABLE_MEMORY));
        let history = if keeps_history { Some(table(HISTORY)?) } else { None };
        let tables = [
            table(STORAGE)?,
            table(TRANSACTIONS)?,
            table(CONFLICTS)?,
            table(TRANSFERS)?,
            table(UPDATES)?,
            table(ROOTS)?,
            table(ASKERS)?,
        ];
        Ok(Self { tables, history, undo })
    }
}
