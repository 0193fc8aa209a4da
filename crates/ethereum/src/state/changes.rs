//! What a block changes, as a list with old and new values.

use super::{Account, AccountId};
use crate::execute::Code;
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// An account before and after a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Which.
    pub id: AccountId,
    /// Its address.
    pub address: Address,
    /// As the block found it; none where it did not exist.
    pub before: Option<Account>,
    /// As the block left it; none where it does not exist any more.
    pub after: Option<Account>,
}

/// A slot before and after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// Whose.
    pub id: AccountId,
    /// Which of its slots.
    pub slot: U256,
    /// The value before; 0 where there was none.
    pub before: U256,
    /// The value after; 0 where there is none any more.
    pub after: U256,
}

/// Everything that a block, or a transaction, changes.
///
/// The state after it follows from the state before it by the new values, and the other way round
/// by the old ones. An account is listed once, a slot as often as it was changed, in order. Storage
/// that an account loses as a whole is listed slot by slot. Each account with a changed slot is
/// among the accounts.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Accounts, in the order of their first change.
    pub accounts: Vec<AccountChange>,
    /// Accounts whose storage was emptied as a whole; what they had is among the slots too.
    pub cleared: Vec<AccountId>,
    /// Slots, in the order of the changes.
    pub slots: Vec<SlotChange>,
    /// Codes that were not known before.
    pub codes: Vec<(Hash, Code)>,
}

impl Changes {
    /// The way back: what these changes changed, changed to what it was.
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

    /// What these changes, one after the other, come to. Storage that is emptied as a whole is
    /// listed slot by slot only, as it may be filled again.
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
