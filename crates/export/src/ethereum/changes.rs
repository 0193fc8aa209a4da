//! What blocks changed in the state, as rows.

use super::rows::Block;
use crate::error::Error;
use crate::rows::Rows;
use crate::schema::Table;
use blockmill_ethereum::Hash;
use blockmill_ethereum::commit::executed_store::{AccountRecord, BlockChanges};
use blockmill_ethereum::state::Account;
use std::collections::HashMap;

/// The tables that this fills.
pub(super) const TABLES: [&str; 4] =
    ["balance_diffs", "nonce_diffs", "code_diffs", "storage_diffs"];

/// Adds what a block changed to `table`, which is one of [`TABLES`].
pub(super) fn add_changes(
    table: &'static Table,
    rows: &mut Rows,
    block: &Block<'_>,
    changes: &BlockChanges,
) -> Result<(), Error> {
    let mut adding = Adding { table, rows, block };
    match table.name {
        "balance_diffs" => changes.accounts.iter().for_each(|account| adding.balance(account)),
        "nonce_diffs" => changes.accounts.iter().for_each(|account| adding.nonce(account)),
        "code_diffs" => adding.codes(changes),
        _ => return changes.accounts.iter().try_for_each(|account| adding.slots(account)),
    }
    Ok(())
}

/// Rows of one block and table.
struct Adding<'a, 'b> {
    table: &'static Table,
    rows: &'a mut Rows,
    block: &'a Block<'b>,
}

impl Adding<'_, '_> {
    /// A row: what every table begins with, then `rest`.
    fn row(&mut self, account: &AccountRecord, rest: impl FnOnce(&mut Rows)) {
        let Self { rows, block, .. } = self;
        rows.int(block.number);
        rows.bytes(block.hash);
        rows.seconds(block.header.timestamp);
        rows.bytes(&account.address);
        rest(rows);
        rows.end();
    }

    /// `None` means that there is no account, so that an empty one can be distinguished
    /// from it.
    fn balance(&mut self, account: &AccountRecord) {
        let [from, to] = [account.before, account.after].map(|state| state.map(|a| a.balance));
        if from != to {
            self.row(account, |rows| {
                rows.maybe_wei(from);
                rows.maybe_wei(to);
            });
        }
    }

    fn nonce(&mut self, account: &AccountRecord) {
        let [from, to] = states(account).map(|state| state.nonce);
        if from != to {
            self.row(account, |rows| {
                rows.int(from);
                rows.int(to);
            });
        }
    }

    fn codes(&mut self, changes: &BlockChanges) {
        let by_hash = |code: &'_ Vec<u8>| blockmill_hashes::keccak256(code);
        let new: HashMap<Hash, &Vec<u8>> =
            changes.codes.iter().map(|code| (by_hash(code), code)).collect();
        for account in &changes.accounts {
            let [from, to] = states(account).map(|state| state.code_hash);
            if from != to {
                self.row(account, |rows| {
                    rows.bytes(&from);
                    rows.bytes(&to);
                    rows.maybe_bytes(new.get(&to).map(|code| &code[..]));
                });
            }
        }
    }

    fn slots(&mut self, account: &AccountRecord) -> Result<(), Error> {
        if account.cleared.is_some() {
            let expected = "the slots that accounts lose, as --with state=memory knows them";
            let (table, block) = (self.table.name, self.block.number);
            return Err(Error::Lacks { table, expected, block });
        }
        for slot in &account.slots {
            let words = [slot.slot, slot.before, slot.after].map(|word| word.to_be_bytes::<32>());
            self.row(account, |rows| words.iter().for_each(|word| rows.bytes(word)));
        }
        Ok(())
    }
}

/// Before and after; an account that is not there has nothing.
fn states(account: &AccountRecord) -> [Account; 2] {
    [account.before, account.after].map(Option::unwrap_or_default)
}
