//! Commits of pass 2.

use crate::chainstate::{Commit, CommitClock, Undo, lock};
use crate::run::Run;
use blockmill_store::Table;
use std::sync::Mutex;
use std::time::Instant;

/// Coins and undo data, and when they are committed.
pub(super) struct Store<'a> {
    pub coins: &'a Mutex<Table>,
    pub undo: &'a mut Undo,
    pub commit: Commit,
    pub clock: &'a CommitClock,
}

impl Store<'_> {
    /// Commits them.
    pub fn commit(&mut self, run: &mut Run) -> Result<(), blockmill_store::Error> {
        let clock = Instant::now();
        run.coins_memory = run.coins_memory.max(lock(self.coins).memory() as u64);
        self.commit.commit(self.coins, self.undo, self.clock)?;
        run.committed = Some(self.undo.tip());
        run.commit_s += clock.elapsed().as_secs_f64();
        run.commits += 1;
        run.coins = lock(self.coins).len();
        Ok(())
    }
}
