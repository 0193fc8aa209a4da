//! The changes of a block, with old and new values.

use super::{Account, AccountId};
use crate::execute::Code;
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// An account before and after a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Index of the account.
    pub id: AccountId,
    /// Its address.
    pub address: Address,
    /// Before the block; `None` if it did not exist.
    pub before: Option<Account>,
    /// After the block; `None` if it does not exist any more.
    pub after: Option<Account>,
}

/// A slot before and after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// Index of the account.
    pub id: AccountId,
    /// The slot.
    pub slot: U256,
    /// Value before; 0 if there was none.
    pub before: U256,
    /// Value after; 0 if there is none.
    pub after: U256,
}

/// All changes of a block or a transaction.
///
/// Old and new values allow undo and redo. An account is listed once, a slot for each of its
/// changes, in order. The slots of cleared storage are listed, too. Each account with a changed
/// slot is among the accounts.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Accounts, in the order of their first change.
    pub accounts: Vec<AccountChange>,
    /// Accounts whose storage was cleared. The slots list what was in memory of it.
    pub cleared: Vec<AccountId>,
    /// Slots, in the order of the changes.
    pub slots: Vec<SlotChange>,
    /// Codes that were not known before.
    pub codes: Vec<(Hash, Code)>,
}

impl Changes {
    /// The changes that undo these.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let accounts = self.accounts.iter().map(|change| {
            let (before, after) = (change.after, change.before);
            AccountChange { before, after, ..change.clone() }
        });
        let slots = self.slots.iter().rev();
        Self {
            accounts: accounts.collect(),
            cleared: vec![],
            slots: slots.map(|s| SlotChange { before: s.after, after: s.before, ..*s }).collect(),
            codes: vec![],
        }
    }

    /// Merges consecutive changes. Cleared storage is listed by slots only, since it may be set
    /// again.
    #[must_use]
    pub fn together<'a>(steps: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut of_id: HashMap<AccountId, usize> = HashMap::default();
        for step in steps {
            for change in &step.accounts {
                match of_id.get(&change.id) {
                    Some(at) => all.accounts[*at].after = change.after,
                    None => {
                        of_id.insert(change.id, all.accounts.len());
                        all.accounts.push(change.clone());
                    }
                }
            }
            all.slots.extend_from_slice(&step.slots);
            all.codes.extend_from_slice(&step.codes);
        }
        all
    }

    /// Accounts and slots that are listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.accounts.len() + self.slots.len()
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.slots.is_empty()
    }
}
