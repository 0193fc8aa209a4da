//! A block's changes: storage first, in tries of its own or in the entries of accounts, then the
//! accounts with the roots that came of it.

use blockmill_trie::{EMPTY_ROOT, codec::Ethereum};

use super::{
    Pages, Trie,
    batch::HeldPages,
    cell::{self, ACCOUNTS, Entry, FEW_NESTED, MAX_VALUE, MOST_NESTED, Place, Record},
    hashing::Hashing,
    key::{Change, StateKey},
    read::Found,
    update::{Leaf, What, is_account},
};
use blockmill_store::{Result, part::mismatch};

/// Changed storage of an account whose root is not known yet.
enum Changed {
    /// Of this trie.
    Trie(u32),
    /// In the entry of the account.
    Nested(Vec<u8>),
}

/// Accounts that wait for a storage root: index of the leaf, and the storage.
type Waiting = Vec<(usize, Changed)>;

/// An update in progress. Between its steps the pages can be read: unchanged keys have their
/// values, changed keys have their old or their new value.
pub struct Update<'a> {
    leaves: Vec<Leaf<'a>>,
    changed: Waiting,
    /// Tries whose slots move to the entries of their accounts, or whose accounts are removed.
    ended: Vec<u32>,
    /// Roots of storage in the entries of accounts.
    nested: Vec<[u8; 32]>,
    hashing: Box<Hashing>,
}

impl Pages {
    /// Applies the changes of a block, in the order of their keys, each key once. Returns the state
    /// root.
    ///
    /// Removing an account removes its slots. If the same block creates the account again without
    /// its old slots, an update of its own must remove it before. The storage root in the value of
    /// an account is computed here and replaces the caller's.
    ///
    /// A caller that shares the pages with readers takes the steps one by one, as only some of them
    /// need exclusive access: [`Pages::fetch_for`], [`Pages::begin`], [`Pages::hash_storage`],
    /// [`Pages::change_accounts`], [`Pages::hash_accounts`], [`Pages::finish`].
    ///
    /// # Errors
    /// [`blockmill_store::Error::Mismatch`] if keys do not ascend, a value is empty or longer than
    /// 127 bytes, the value of an account is malformed, or a removed account gets slots: nothing
    /// has changed then. `Mismatch` if an account with slots does not exist, `Corrupt` and `Io` of
    /// reading: the store must be opened again then.
    pub fn update(&mut self, changes: &[Change<'_>]) -> Result<[u8; 32]> {
        check(changes)?;
        let held = self.fetch_for(changes)?;
        let mut update = self.begin(changes, held)?;
        self.hash_storage(&mut update)?;
        self.change_accounts(&mut update)?;
        self.hash_accounts(&mut update)?;
        Ok(self.finish(update))
    }

    /// The first step: changes the storage of accounts.
    ///
    /// # Errors
    /// As [`Pages::update`].
    pub fn begin<'a>(&mut self, changes: &[Change<'a>], held: HeldPages) -> Result<Update<'a>> {
        self.check_ready()?;
        if self.packing.is_some() {
            return Err(mismatch("changes", "none while pages are packed", changes.len()));
        }
        check(changes)?;
        self.is_updating = true;
        self.files.held = held.0;
        let mut ended = vec![];
        let (leaves, changed) = self.change_storage(changes, &mut ended)?;
        let hashing = self.hashing.take();
        let anew = || Box::new(Hashing::new(Ethereum::new(), self.threads));
        let hashing = hashing.unwrap_or_else(anew);
        Ok(Update { leaves, changed, ended, nested: vec![], hashing })
    }

    /// The second: hashes that storage.
    ///
    /// # Errors
    /// None of pages that are whole.
    pub fn hash_storage(&self, update: &mut Update<'_>) -> Result<()> {
        let mut tries: Vec<u32> = vec![];
        let mut nested: Vec<&[u8]> = vec![];
        for (_, changed) in &update.changed {
            match changed {
                Changed::Trie(number) => tries.push(*number),
                Changed::Nested(slots) => nested.push(slots),
            }
        }
        update.hashing.hash(&tries, &self.tries, &self.arena, &self.buffer)?;
        let mut roots = vec![EMPTY_ROOT; nested.len()];
        let with_slots: Vec<usize> = (0..nested.len()).filter(|i| !nested[*i].is_empty()).collect();
        let slots = with_slots.iter().map(|i| {
            cell::nested(nested[*i]).map(|(key, value)| Entry::slot(key, value)).collect()
        });
        update.hashing.roots(slots, |i, root| roots[with_slots[i]] = root);
        update.nested = roots;
        Ok(())
    }

    /// The third step: changes the accounts, which get their storage roots.
    ///
    /// # Errors
    /// As [`Pages::update`].
    pub fn change_accounts(&mut self, update: &mut Update<'_>) -> Result<()> {
        update.hashing.put(&mut self.tries, &mut self.arena);
        self.put_roots(update);
        self.change(ACCOUNTS, &update.leaves)?;
        let ended = std::mem::take(&mut update.ended);
        ended.into_iter().try_for_each(|number| self.remove_trie(number))
    }

    /// The fourth: hashes the accounts.
    ///
    /// # Errors
    /// None of pages that are whole.
    pub fn hash_accounts(&self, update: &mut Update<'_>) -> Result<()> {
        update.hashing.hash(&[ACCOUNTS], &self.tries, &self.arena, &self.buffer)
    }

    /// The last: the state root.
    pub fn finish(&mut self, update: Update<'_>) -> [u8; 32] {
        let mut hashing = update.hashing;
        hashing.put(&mut self.tries, &mut self.arena);
        self.hashing = Some(hashing);
        self.files.held.clear();
        (self.is_updating, self.has_changed) = (false, true);
        self.root()
    }

    /// Changes the storage of accounts. Returns the changes of accounts, and which of them wait for
    /// a storage root.
    fn change_storage<'a>(
        &mut self,
        changes: &[Change<'a>],
        ended: &mut Vec<u32>,
    ) -> Result<(Vec<Leaf<'a>>, Waiting)> {
        let (mut leaves, mut changed) = (vec![], vec![]);
        for group in changes.chunk_by(|a, b| a.key.account == b.key.account) {
            let (own, slots) = match group {
                [own, slots @ ..] if own.key.slot.is_none() => (Some(own), slots),
                slots => (None, slots),
            };
            let account = group[0].key.account;
            let number = self.storage.get(&account).copied();
            let value = own.and_then(|own| own.value);
            let what = if own.is_some() && value.is_none() {
                ended.extend(number);
                What::Remove
            } else {
                if !slots.is_empty() {
                    let slots: Vec<_> = slots.iter().map(slot_leaf).collect();
                    changed
                        .push((leaves.len(), self.change_slots(&account, number, &slots, ended)?));
                }
                What::Set { value, storage: None }
            };
            leaves.push(Leaf { key: account, what });
        }
        Ok((leaves, changed))
    }

    /// Changes slots of an account that has the trie `number`, or none.
    fn change_slots(
        &mut self,
        account: &[u8; 32],
        number: Option<u32>,
        slots: &[Leaf<'_>],
        ended: &mut Vec<u32>,
    ) -> Result<Changed> {
        if let Some(number) = number {
            self.change(number, slots)?;
            return self.nest_again(number, ended);
        }
        let mut old = vec![];
        if let Some(found) = self.cell_of(ACCOUNTS, account)? {
            let record = self.peek(&found)?;
            let entry = Record::new(&record).and_then(|record| record.find(account));
            old = entry.map_or(vec![], |(_, entry)| entry.nested.into_owned());
        }
        let entries = cell::nested(&old).map(|(key, value)| Entry::slot(key, value));
        let (entries, _) = super::update::merge(!ACCOUNTS, entries, slots)?;
        if let Some(nested) = cell::nest(&entries, MOST_NESTED) {
            return Ok(Changed::Nested(nested));
        }
        let number = self.add_trie(account)?;
        self.tries[number as usize].top = self.put(number, 0, &entries)?;
        Ok(Changed::Trie(number))
    }

    /// Moves the slots of a trie to the entry of their account, if only few are left.
    fn nest_again(&mut self, number: u32, ended: &mut Vec<u32>) -> Result<Changed> {
        let Trie { account, top, .. } = self.tries[number as usize];
        let Some(top) = top else {
            ended.push(number);
            return Ok(Changed::Nested(vec![]));
        };
        if !(1..=FEW_NESTED).contains(&top.count()) {
            return Ok(Changed::Trie(number));
        }
        let Some(found) = self.cell_of(number, &account)? else { return Ok(Changed::Trie(number)) };
        let record = self.peek(&found)?;
        let entries: Vec<_> = Record::new(&record).into_iter().flat_map(Record::entries).collect();
        let Some(nested) = cell::nest(&entries, FEW_NESTED) else {
            return Ok(Changed::Trie(number));
        };
        ended.push(number);
        Ok(Changed::Nested(nested))
    }

    fn add_trie(&mut self, account: &[u8; 32]) -> Result<u32> {
        let trie = Trie { account: *account, ..Trie::default() };
        let number = match self.free_tries.pop() {
            Some(number) => number,
            None => {
                self.tries.push(Trie::default());
                let last = u32::try_from(self.tries.len() - 1);
                last.map_err(|_| mismatch("storage tries", "less than 2^32", "more"))?
            }
        };
        self.tries[number as usize] = trie;
        self.storage.insert(*account, number);
        Ok(number)
    }

    fn remove_trie(&mut self, number: u32) -> Result<()> {
        let removed = Trie { was_removed: true, ..Trie::default() };
        let before = std::mem::replace(&mut self.tries[number as usize], removed);
        let Trie { account, top, .. } = before;
        self.storage.remove(&account);
        self.free_tries.push(number);
        let place = Place { trie: number, key: [0; 32], depth: 0 };
        top.map_or(Ok(()), |child| self.clear(&Found { place, child }))
    }

    /// Gives the leaves of accounts the roots of their storage.
    fn put_roots(&self, update: &mut Update<'_>) {
        let mut nested = update.nested.iter();
        for (at, changed) in std::mem::take(&mut update.changed) {
            let (root, slots) = match changed {
                Changed::Trie(number) => {
                    let top = self.tries[number as usize].top;
                    (top.map_or(EMPTY_ROOT, |top| top.reference().bytes), vec![])
                }
                Changed::Nested(slots) => (nested.next().copied().unwrap_or(EMPTY_ROOT), slots),
            };
            if let What::Set { storage, .. } = &mut update.leaves[at].what {
                *storage = Some((root, slots));
            }
        }
    }
}

fn slot_leaf<'a>(change: &Change<'a>) -> Leaf<'a> {
    let what = match change.value {
        Some(value) => What::Set { value: Some(value), storage: None },
        None => What::Remove,
    };
    Leaf { key: change.key.slot.unwrap_or_default(), what }
}

/// Checks that these are valid changes of a block.
fn check(changes: &[Change<'_>]) -> Result<()> {
    let mut removed: Option<[u8; 32]> = None;
    let mut before: Option<StateKey> = None;
    for Change { key, value } in changes {
        if before.is_some_and(|before| before >= *key) {
            return Err(mismatch("keys of changes", "each greater than the one before", "another"));
        }
        before = Some(*key);
        let len = value.map_or(1, <[u8]>::len);
        if !(1..=MAX_VALUE).contains(&len) {
            let expected = format!("1 to {MAX_VALUE}");
            return Err(mismatch("bytes of a value", expected, len));
        }
        match (key.slot, value) {
            (None, None) => removed = Some(key.account),
            (None, Some(value)) if !is_account(value) => {
                let expected = "one that ends with a storage root and the hash of a code";
                return Err(mismatch(
                    "value of an account",
                    expected,
                    blockmill_verdict::Hex(value),
                ));
            }
            (Some(_), Some(_)) if removed == Some(key.account) => {
                return Err(mismatch("slots of a removed account", "none", "some"));
            }
            _ => {}
        }
    }
    Ok(())
}
