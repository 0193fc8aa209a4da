//! The part of the state that a block accesses, by its block access list (EIP-7928). The list also
//! has the values after the block, so the state moves on before the block is executed, and the
//! block is executed on its part, on any thread.

use super::{PREFETCH, State};
use crate::execute::Code;
use crate::state::entry::{Backing, Entry, Unread};
use crate::state::{AccountId, EMPTY_CODE, StateError};
use crate::{Address, U256};
use blockmill_rlp::List;
use blockmill_rlp::ethereum::{AccountChanges, SlotChanges};

impl State {
    /// Moves to the state after a block with this access list, and returns the part of the state
    /// before the block that the block may access: the accounts and slots of the list, and the
    /// accounts that `named` calls its argument with. Any other access fails
    /// ([`StateError::NotListed`]).
    ///
    /// Nothing says yet that the list is right: the block must be executed on the part, must
    /// produce this list, and must have the state root of this state.
    ///
    /// Returns `None`, and stays, if a list does not say what follows: a listed account that is
    /// empty is removed if it is touched (EIP-161), and stays if it is only read.
    ///
    /// # Errors
    /// [`StateError`] if an account or a slot cannot be read.
    pub fn advance_by(
        &mut self,
        list: &List<'_, AccountChanges<'_>>,
        named: impl FnOnce(&mut dyn FnMut(&Address)),
    ) -> Result<Option<Self>, StateError> {
        let mut ids = Vec::with_capacity(list.len());
        for account in list.iter() {
            let id = self.id(account.address)?;
            if self.entries[id as usize].account.is_some_and(|account| account.is_empty()) {
                return Ok(None);
            }
            ids.push(id);
        }
        let mut part =
            Self { backing: Backing::Listed, ancestors: self.ancestors.clone(), ..Self::default() };
        part.index.reserve(ids.len());
        part.entries.reserve(ids.len());
        let mut failure = None;
        named(&mut |address| {
            let added = self.id(address).and_then(|id| self.add_to(&mut part, id));
            failure = failure.take().or(added.err());
        });
        for (id, account) in ids.into_iter().zip(list.iter()) {
            let own = self.add_to(&mut part, id)?;
            // the value after the block comes last
            let last = |slot: SlotChanges<'_>| Some((slot.slot, slot.changes.iter().last()?.value));
            let written: Vec<_> = account.storage_changes.iter().filter_map(last).collect();
            let changed = written.iter().map(|(slot, _)| *slot);
            let slots: Vec<U256> = account.storage_reads.iter().chain(changed).collect();
            part.entries[own as usize].slots.reserve(slots.len());
            for (at, slot) in slots.iter().enumerate() {
                if let Some(next) = slots.get(at + PREFETCH) {
                    self.entries[id as usize].touch(next);
                }
                let value = self.slot(id, slot)?;
                part.entries[own as usize].put(*slot, value);
            }
            self.apply(id, &account, &written)?;
        }
        failure.map_or(Ok(Some(part)), Err)
    }

    /// Adds an account without slots to a part. Returns its index there.
    fn add_to(&mut self, part: &mut Self, id: AccountId) -> Result<AccountId, StateError> {
        let entry = &self.entries[id as usize];
        if let Some(own) = part.index.get(&entry.address) {
            return Ok(*own);
        }
        let (address, account) = (entry.address, entry.account);
        let (code, has_slots) = (entry.code.clone(), entry.has_slots());
        let code_hash = account.map_or(EMPTY_CODE, |account| account.code_hash);
        let has_code = code_hash != EMPTY_CODE;
        let code = match code {
            None if has_code => Some(self.load_code(&code_hash)?),
            code => code,
        };
        // without code, nothing reads a slot before the account is created anew
        let unread = (has_code || has_slots).then(|| Box::new(Unread::listed(has_slots)));
        let own = part.entries.len() as AccountId;
        part.entries.push(Entry { address, account, code, unread, ..Entry::default() });
        part.index.insert(address, own);
        Ok(own)
    }

    /// Sets an account to its last values in a list, and its slots, which were read before, to
    /// those in `slots`.
    fn apply(
        &mut self,
        id: AccountId,
        changes: &AccountChanges<'_>,
        slots: &[(U256, U256)],
    ) -> Result<(), StateError> {
        let before = self.entries[id as usize].account;
        let mut account = before.unwrap_or_default();
        let mut code = None;
        if let Some(last) = changes.balance_changes.iter().last() {
            account.balance = last.balance;
        }
        if let Some(last) = changes.nonce_changes.iter().last() {
            account.nonce = last.nonce;
        }
        if let Some(last) = changes.code_changes.iter().last() {
            let new = Code::new(last.code.to_vec());
            account.code_hash = if last.code.is_empty() { EMPTY_CODE } else { new.hash() };
            code = (!last.code.is_empty()).then_some(new);
        }
        let after = Some(account).filter(|account| !account.is_empty());
        if after != before {
            self.set_account(changes.address, after, code)?;
        }
        self.set_slots(id, slots);
        Ok(())
    }
}
