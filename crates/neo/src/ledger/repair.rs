//! Repairs a store in place: takes back damaged blocks with all that they left, or gives up a
//! damaged undo log.
//!
//! Corrupt blocks cannot be read, so that what they left is found in the tables.

use super::undo::{LOGS, UndoLog};
use super::unwind::{Accounts, Trace, target};
use super::{Facts, Ledger, Parts, Position};
use crate::fault::Error;
use crate::history::HISTORY;
use crate::logs::{self, TransferError};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, Opening, Options};
use blockmill_verdict::Level;
use std::path::Path;

/// Is a part of a store its undo log?
#[must_use]
pub fn is_of_log(part: &str) -> bool {
    LOGS.contains(&part)
}

/// Can the store in `folder` be taken back to block `to`? That of a store without a state always,
/// that of executed blocks where its undo log leads there.
///
/// # Errors
/// [`Error::Store`] when the store cannot be opened, [`Error::StoredFacts`] when it does not say
/// which blocks the log has.
pub fn goes_back_to(folder: &Path, to: u64) -> Result<bool, Error> {
    let (store, undo) = ChainStore::open_damaged_with(folder, UndoLog::open)?;
    let Some(tip) = store.tip().filter(|tip| tip.level >= Level::Execution as u8) else {
        return Ok(true);
    };
    let facts = Facts::of(&store)?.and_then(|facts| facts.state).unwrap_or_default();
    let earliest =
        undo.first(&facts).map_or(tip.number, |first| u64::from(first.saturating_sub(1)));
    Ok(to >= earliest)
}

/// Makes block `to` the last one of the store in `folder`; it and all blocks before it are whole.
/// With `gives_up_log` no block before the last one can be gone back to afterwards. Durable when it
/// returns.
///
/// # Errors
/// [`Error::Unwind`] when the undo log does not reach so far back; damage of tables and of the log;
/// [`Error::Store`] when the store is open elsewhere or cannot be written.
pub fn repair(folder: &Path, to: u64, gives_up_log: bool) -> Result<(), Error> {
    let (store, _) = ChainStore::open_damaged(folder)?;
    let (_, new) = target(&store, to)?;
    if new.level < Level::Execution as u8 {
        return Ok(ChainStore::repair(folder, Some(&new), None, |_| false, &[])?);
    }
    let keeps_history = store.parts_besides().contains(&HISTORY);
    drop(store);
    let parts = |opening: &mut Opening| Parts::open(opening, keeps_history);
    let (store, parts) =
        ChainStore::open_to_repair(folder, |part| gives_up_log && is_of_log(part), parts)?;
    Ledger::of(store, parts)?.unwind_by(Trace::Tables, to, &Cancel::new())?;
    // this builds the index again where it is damaged
    Ok(ChainStore::open(folder, &Options::default())?.0.sync()?)
}

impl Ledger {
    /// Removes the transactions after block `to`; the accounts and standards of the transfers after
    /// it.
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
