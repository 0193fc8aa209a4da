//! The changes of a block as a record of the log: by address, and with old values if rollback is
//! possible. Bytes: `docs/formats/state-log.md`.

use crate::state::{Account, AccountId, Changes, ClearedStorage, EMPTY_CODE};
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// The changes of a block, all steps merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockChanges {
    /// Block number.
    pub number: u64,
    /// Whether old values are kept.
    pub has_old: bool,
    /// Changed accounts, sorted by address.
    pub accounts: Vec<AccountRecord>,
    /// New codes, sorted by hash.
    pub codes: Vec<Vec<u8>>,
}

/// An account that a block changed, or whose storage it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    /// Which.
    pub address: Address,
    /// Before the block; `None` if it did not exist, or without old values.
    pub before: Option<Account>,
    /// After the block; `None` if it does not exist any more.
    pub after: Option<Account>,
    /// Changed slots, sorted.
    pub slots: Vec<SlotRecord>,
    /// Storage on disk that the block cleared as a whole; `None` if it cleared none.
    pub cleared: Option<Vec<(Hash, U256)>>,
}

/// A slot that a block changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRecord {
    /// Which.
    pub slot: U256,
    /// Before the block; 0 without old values.
    pub before: U256,
    /// After it.
    pub after: U256,
}

/// The error for bytes that are not a record of a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct Malformed {
    /// Offset in the record.
    pub offset: usize,
    /// What was expected there.
    pub expected: &'static str,
    /// What was found.
    pub found: String,
}

/// The record keeps old values.
const HAS_OLD: u8 = 1;
/// The account existed before, exists after, cleared its storage as a whole.
const BEFORE: u8 = 1;
const AFTER: u8 = 2;
const CLEARED: u8 = 4;
/// Fewest bytes of an account, of a slot, of a code, of a slot under its hash.
const LEAST: [usize; 4] = [22, 2, 1, 33];

impl BlockChanges {
    /// Merges the changes of all steps of block `number`. Values that are the same before and after
    /// the block are left out.
    #[must_use]
    pub fn from_steps<'a>(number: u64, steps: impl IntoIterator<Item = &'a Changes>) -> Self {
        Self::with_cleared(number, steps, &[])
    }

    /// Merges the changes of a block that cleared storage of a state on disk as a whole.
    #[must_use]
    pub fn with_cleared<'a>(
        number: u64,
        steps: impl IntoIterator<Item = &'a Changes>,
        cleared: &[ClearedStorage],
    ) -> Self {
        let mut accounts: Vec<AccountRecord> = vec![];
        let mut of_id: HashMap<AccountId, usize> = HashMap::default();
        let mut of_slot: HashMap<(AccountId, U256), usize> = HashMap::default();
        let mut codes = vec![];
        for step in steps {
            for change in &step.accounts {
                let (address, before, after) = (change.address, change.before, change.after);
                match of_id.get(&change.id) {
                    Some(at) => accounts[*at].after = after,
                    None => {
                        of_id.insert(change.id, accounts.len());
                        let (slots, cleared) = (vec![], None);
                        accounts.push(AccountRecord { address, before, after, slots, cleared });
                    }
                }
            }
            for change in &step.slots {
                // each account with a changed slot is among the accounts
                let Some(at) = of_id.get(&change.id) else { continue };
                let slots = &mut accounts[*at].slots;
                let at = *of_slot.entry((change.id, change.slot)).or_insert(slots.len());
                match slots.get_mut(at) {
                    Some(record) => record.after = change.after,
                    None => {
                        let (slot, before, after) = (change.slot, change.before, change.after);
                        slots.push(SlotRecord { slot, before, after });
                    }
                }
            }
            codes.extend(&step.codes);
        }
        // the machine lists accounts in no fixed order
        codes.sort_unstable_by_key(|(hash, _)| *hash);
        let codes = codes.into_iter().map(|(_, code)| code.bytes().to_vec()).collect();
        for ClearedStorage { id, slots } in cleared {
            if let Some(at) = of_id.get(id) {
                accounts[*at].clear_storage(slots);
            }
        }
        for account in &mut accounts {
            account.slots.retain(|slot| slot.before != slot.after);
            account.slots.sort_unstable_by_key(|slot| slot.slot);
        }
        accounts.retain(|a| a.before != a.after || !a.slots.is_empty() || a.cleared.is_some());
        accounts.sort_unstable_by_key(|account| account.address);
        Self { number, has_old: true, accounts, codes }
    }

    /// Appends the record's bytes, with old values or without.
    pub fn encode(&self, old_values: bool, out: &mut Vec<u8>) {
        out.extend(self.number.to_le_bytes());
        out.push(if old_values { HAS_OLD } else { 0 });
        put_number(self.accounts.len() as u64, out);
        for account in &self.accounts {
            out.extend(account.address);
            let before = account.before.filter(|_| old_values);
            let exists = |account: Option<Account>, bit| if account.is_some() { bit } else { 0 };
            let cleared = if account.cleared.is_some() { CLEARED } else { 0 };
            out.push(exists(before, BEFORE) | exists(account.after, AFTER) | cleared);
            before.iter().for_each(|account| put_account(account, out));
            account.after.iter().for_each(|account| put_account(account, out));
            put_number(account.slots.len() as u64, out);
            for slot in &account.slots {
                put_word(slot.slot, out);
                if old_values {
                    put_word(slot.before, out);
                }
                put_word(slot.after, out);
            }
            if let Some(cleared) = account.cleared.as_ref().filter(|_| old_values) {
                put_number(cleared.len() as u64, out);
                for (slot, value) in cleared {
                    out.extend(slot);
                    put_word(*value, out);
                }
            }
        }
        put_number(self.codes.len() as u64, out);
        for code in &self.codes {
            put_number(code.len() as u64, out);
            out.extend(code);
        }
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// [`Malformed`] for other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input { bytes, offset: 0 };
        let number = u64::from_le_bytes(input.array("the number of a block")?);
        let has_old = match input.byte("flags")? {
            0 => false,
            HAS_OLD => true,
            other => return Err(input.malformed("flags 0 or 1", other)),
        };
        let mut accounts = vec![];
        for _ in 0..input.count(LEAST[0])? {
            accounts.push(input.account_record(has_old)?);
        }
        let mut codes = vec![];
        for _ in 0..input.count(LEAST[2])? {
            let len = input.count(1)?;
            codes.push(input.take(len, "a code")?.to_vec());
        }
        match input.offset == bytes.len() {
            true => Ok(Self { number, has_old, accounts, codes }),
            false => Err(input.malformed("the end", bytes.len() - input.offset)),
        }
    }
}

impl AccountRecord {
    /// Records that the block cleared this storage: as old values of slots that it changed, and as
    /// cleared slots.
    fn clear_storage(&mut self, all: &[(Hash, U256)]) {
        let mut rest: HashMap<Hash, U256> = all.iter().copied().collect();
        for record in &mut self.slots {
            let slot = blockmill_hashes::keccak256(&record.slot.to_be_bytes::<32>());
            record.before = rest.remove(&slot).unwrap_or(U256::ZERO);
        }
        let mut cleared: Vec<_> = rest.into_iter().collect();
        cleared.sort_unstable();
        self.cleared = Some(cleared);
    }
}

/// A number in groups of seven bits, the low ones first.
pub(crate) fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A word without its leading zeros, its length in front.
pub(crate) fn put_word(word: U256, out: &mut Vec<u8>) {
    let len = word.byte_len();
    out.push(len as u8);
    out.extend(&word.to_be_bytes::<32>()[32 - len..]);
}

/// An account: nonce, balance, and the hash of its code, of which the empty one has no bytes.
pub(crate) fn put_account(account: &Account, out: &mut Vec<u8>) {
    put_number(account.nonce, out);
    put_word(account.balance, out);
    match account.code_hash == EMPTY_CODE {
        true => out.push(0),
        false => {
            out.push(1);
            out.extend(account.code_hash);
        }
    }
}

/// Takes bytes off the front.
pub(crate) struct Input<'a> {
    pub bytes: &'a [u8],
    pub offset: usize,
}

impl<'a> Input<'a> {
    pub fn malformed(&self, expected: &'static str, found: impl ToString) -> Malformed {
        Malformed { offset: self.offset, expected, found: found.to_string() }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    pub fn take(&mut self, len: usize, expected: &'static str) -> Result<&'a [u8], Malformed> {
        let found = self.bytes.get(self.offset..).and_then(|rest| rest.get(..len));
        let found =
            found.ok_or_else(|| self.malformed(expected, format!("{} bytes left", self.left())))?;
        self.offset += len;
        Ok(found)
    }

    pub fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, expected)?);
        Ok(out)
    }

    pub fn byte(&mut self, expected: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(expected)?[0])
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte("a number")?;
            let bits = u64::from(byte & 0x7f);
            // the shortest form only, and 64 bits at most
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.malformed("a number of at most 64 bits in its shortest form", "another"))
    }

    /// Reads the number of the following items, each of at least `least` bytes.
    pub fn count(&mut self, least: usize) -> Result<usize, Malformed> {
        let number = self.number()?;
        let fits = usize::try_from(number).ok().filter(|count| *count <= self.left() / least);
        fits.ok_or_else(|| self.malformed("a count of things that follow", number))
    }

    pub fn word(&mut self) -> Result<U256, Malformed> {
        Ok(U256::from_be_slice(self.word_bytes()?))
    }

    /// A word's bytes, without leading zeros.
    pub fn word_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::from(self.byte("the length of a word")?);
        if len > 32 {
            return Err(self.malformed("a word of at most 32 bytes", len));
        }
        let bytes = self.take(len, "a word")?;
        match bytes.first() {
            Some(0) => Err(self.malformed("a word without leading zeros", "one with them")),
            _ => Ok(bytes),
        }
    }

    pub fn account(&mut self) -> Result<Account, Malformed> {
        let (nonce, balance) = (self.number()?, self.word()?);
        let code_hash: Hash = match self.byte("0 or 1")? {
            0 => EMPTY_CODE,
            1 => self.array("a code's hash")?,
            other => return Err(self.malformed("0 or 1", other)),
        };
        Ok(Account { nonce, balance, code_hash })
    }

    fn account_record(&mut self, has_old: bool) -> Result<AccountRecord, Malformed> {
        let address = self.array("an address")?;
        let exists = self.byte("flags of an account")?;
        let known = CLEARED | if has_old { BEFORE | AFTER } else { AFTER };
        if exists & !known > 0 {
            return Err(self.malformed("flags of an account", exists));
        }
        let before = if exists & BEFORE > 0 { Some(self.account()?) } else { None };
        let after = if exists & AFTER > 0 { Some(self.account()?) } else { None };
        let mut slots = vec![];
        for _ in 0..self.count(LEAST[1])? {
            let slot = self.word()?;
            let before = if has_old { self.word()? } else { U256::ZERO };
            slots.push(SlotRecord { slot, before, after: self.word()? });
        }
        let mut cleared = (exists & CLEARED > 0).then(Vec::new);
        if let Some(cleared) = cleared.as_mut().filter(|_| has_old) {
            for _ in 0..self.count(LEAST[3])? {
                cleared.push((self.array("the hash of a slot")?, self.word()?));
            }
        }
        Ok(AccountRecord { address, before, after, slots, cleared })
    }
}

#[cfg(test)]
mod tests;
