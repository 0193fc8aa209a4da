//! Removing bodies and receipts of the first blocks of a chain; headers and hashes stay.

use crate::{
    chain_store::ChainStore,
    column::Column,
    error::{Error, Result, mismatch},
};

impl ChainStore {
    /// Number of the first block that has all that the store keeps of blocks: the first one, unless
    /// blocks were removed; `None` in an empty store.
    pub fn first_whole(&self) -> Option<u64> {
        let first = self.columns.iter().map(Column::first).max().unwrap_or(0);
        self.first().map(|number| number + first)
    }

    /// Removes bodies and receipts of all blocks before `number`, which is a block of the store or
    /// was passed to an earlier call. Takes effect with the next commit, which must be durable: it
    /// removes whole files and punches holes in the first file that stays, if the system supports
    /// it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the store does not have block `number`; [`Error::Corrupt`] and
    /// [`Error::Io`] of reading.
    pub fn remove_before(&mut self, number: u64) -> Result<()> {
        self.writable()?;
        let Some(position) = number.checked_sub(self.state.first).filter(|p| *p < self.count())
        else {
            let have = format!("{} to before {}", self.state.first, self.next());
            return Err(mismatch("first block to keep", have, number));
        };
        self.change(|chain| {
            let [_, bodies, receipts] = &mut chain.columns;
            let mut kept = [bodies, receipts].into_iter().filter(|column| column.count() > 0);
            kept.try_for_each(|column| column.give_up_before(position))
        })
    }

    /// Checks that block `number` is whole.
    pub(crate) fn check_kept(&self, number: u64) -> Result<()> {
        let position = number.saturating_sub(self.state.first);
        match self.columns.iter().find(|column| position < column.first()) {
            Some(column) => Err(self.removed(column, number)),
            None => Ok(()),
        }
    }

    /// The error for a block that a column has no more.
    pub(crate) fn removed(&self, column: &Column, block: u64) -> Error {
        let first = self.state.first + column.first();
        Error::Removed { block, first, last: self.next().saturating_sub(1) }
    }
}
