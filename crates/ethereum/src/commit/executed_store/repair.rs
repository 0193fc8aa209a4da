//! Repair of a store: the state follows removed blocks, or is removed if it is corrupt.

use super::{ExecutedStore, Facts, KeptState, Limits, is_state_part};
use crate::error::Error;
use crate::state::{FlatStore, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_state_store::PAGE_FORMAT;
use blockmill_store::{ChainStore, Options, Tip};
use blockmill_verdict::Status;
use std::path::Path;

/// The state after a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateAfter {
    /// There was none, or it is the state after the last block or an earlier one.
    Kept,
    /// It was removed: the next import executes the blocks of the store again.
    GivenUp,
}

impl Facts {
    /// Facts of the state in the last commit of a store; `None` without a state.
    #[must_use]
    pub fn from_store(store: &ChainStore) -> Option<Self> {
        Self::decode(store.state_of_parts())
    }

    /// Whether the log has, or had, the blocks after block `to`.
    #[must_use]
    pub fn reaches(&self, to: u64) -> bool {
        let [active, other] = [self.first[self.active], self.first[1 - self.active]];
        // an unused or emptied log has 0 or a later block
        let first = if (1..active).contains(&other) { other } else { active };
        to >= self.block || to + 1 >= first
    }
}

/// Makes `tip` the last block of the store in `dir`; all blocks up to it are intact. With
/// `keeps_state`, the state is rolled back too, if the log reaches that far. Otherwise state and
/// log are removed, and the store keeps the kind of its state.
///
/// # Errors
/// [`blockmill_store::Error::Locked`] when the store is open elsewhere; those of reading and
/// writing.
pub fn repair(
    dir: &Path,
    tip: &Tip,
    keeps_state: bool,
    cancel: &Cancel,
) -> Result<StateAfter, Error> {
    if keeps_state {
        ChainStore::repair(dir, Some(tip), None, |_| false, &[])?;
        match follow(dir, tip.number, cancel) {
            Err(Error::Unwind { .. }) => {}
            Err(error) if error.status() == Status::Corrupt => {}
            done => return done.map(|()| StateAfter::Kept),
        }
    }
    let (store, _) = ChainStore::open_corrupt(dir)?;
    let parts = store.parts_besides();
    let has = |name: &str| parts.contains(&name);
    let kind = StateKind::from_parts(has).unwrap_or_default();
    let kept = KeptState { kind, flat: FlatStore::from_parts(has) };
    drop(store);
    ChainStore::repair(dir, Some(tip), Some(&PAGE_FORMAT), is_state_part, &kept.encode())?;
    Ok(StateAfter::GivenUp)
}

/// Rolls the state back to block `to`, the last one of the store. The next import completes a
/// cancelled rollback.
fn follow(dir: &Path, to: u64, cancel: &Cancel) -> Result<(), Error> {
    let (store, _) = ChainStore::open_read_only(dir)?;
    if Facts::from_store(&store).is_none_or(|facts| facts.block <= to) {
        return Ok(());
    }
    drop(store);
    let (mut store, _) = ExecutedStore::open(dir, &Options::default(), Limits::default())?;
    store.unwind(to, cancel)?;
    Ok(())
}
