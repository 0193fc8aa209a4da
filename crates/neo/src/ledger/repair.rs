//! Repairs a store in place: unwinds corrupt blocks with all their results, or discards a corrupt
//! undo log.
//!
//! Corrupt blocks cannot be read, so their results are found by scanning the tables.

use super::undo::{LOGS, UndoLog};
use super::unwind::{Accounts, Trace, target};
use super::{Facts, Ledger, Parts, Position};
use crate::error::Error;
use crate::ledger::HISTORY;
use crate::logs::{self, TransferError};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, Opening, Options};
use blockmill_verdict::Level;
use std::path::Path;

/// Reports whether a part of a store belongs to its undo log.
#[must_use]
pub fn is_of_log(part: &str) -> bool {
    LOGS.contains(&part)
}

/// Reports whether the store in `folder` can be unwound to block `to`: always without a state,
/// within the undo log otherwise.
///
/// # Errors
/// Returns [`Error::Store`] if the store cannot be opened, [`Error::StoredFacts`] if its facts
/// cannot be decoded.
pub fn goes_back_to(folder: &Path, to: u64) -> Result<bool, Error> {
    let (store, undo) = ChainStore::open_corrupt_with(folder, UndoLog::open)?;
    let Some(tip) = store.tip().filter(|tip| tip.level >= Level::Execution as u8) else {
        return Ok(true);
    };
    let facts = Facts::read(&store)?.and_then(|facts| facts.state).unwrap_or_default();
    let earliest =
        undo.first(&facts).map_or(tip.number, |first| u64::from(first.saturating_sub(1)));
    Ok(to >= earliest)
}

/// Makes block `to` the last one of the store in `folder`; the blocks up to it must be intact. With
/// `gives_up_log` the undo log is discarded: the store cannot be unwound afterwards. Durable when
/// it returns.
///
/// # Errors
/// Returns [`Error::Unwind`] if the undo log does not reach block `to`, [`Error::StoredUndo`] or
/// [`Error::Store`] if the log or a table is corrupt, [`Error::Store`] if the store is locked or
/// cannot be written.
pub fn repair(folder: &Path, to: u64, gives_up_log: bool) -> Result<(), Error> {
    let (store, _) = ChainStore::open_corrupt(folder)?;
    let (_, new) = target(&store, to)?;
    if new.level < Level::Execution as u8 {
        return Ok(ChainStore::repair(folder, Some(&new), None, |_| false, &[])?);
    }
    let keeps_history = store.parts_besides().contains(&HISTORY);
    drop(store);
    let parts = |opening: &mut Opening| Parts::open(opening, keeps_history);
    let (store, parts) =
        ChainStore::open_to_repair(folder, |part| gives_up_log && is_of_log(part), parts)?;
    Ledger::from_parts(store, parts)?.unwind_by(Trace::Tables, to, &Cancel::new())?;
    // opening rebuilds a corrupt index
    Ok(ChainStore::open(folder, &Options::default())?.0.sync()?)
}

impl Ledger {
    /// Removes the transactions after block `to`. Returns the accounts and standards of the
    /// transfers after it.
    pub(super) fn trace_tables(&mut self, to: u32) -> Result<Accounts, Error> {
        let mut gone = vec![];
        let mut scan = self.transactions.iter()?;
        while let Some((key, value)) = scan.next()? {
            if Position::decode(value).is_some_and(|position| position.height > to) {
                gone.push(key.to_vec());
            }
        }
        drop(scan);
        gone.iter().try_for_each(|key| self.transactions.delete(key))?;
        let mut accounts = Accounts::new();
        logs::of_all(&self.transfers.reader(), |account, transfer| {
            if transfer.place.height > to {
                accounts.insert((account, transfer.standard.number()));
            }
            Ok::<_, TransferError>(())
        })?;
        Ok(accounts)
    }
}
