//! Reads a dump: the state root in its first line, then its accounts.

use super::json::{Json, Result};
use super::slots::{GivenSlot, SlotFault, Slots, Sorted};
use super::{DumpEntry, SlotForm, fields};
use crate::snapshot::{Counts, SnapshotError};
use crate::state::{Account, EMPTY_CODE};
use crate::{Address, Hash, U256};
use blockmill_hashes::keccak256;
use blockmill_pipeline::Cancel;
use blockmill_verdict::Hex;
use hashbrown::HashSet;
use std::path::{Path, PathBuf};

/// Limit of the bytes of a code.
const MAX_CODE: usize = 16 << 20;
/// Limit of the digits of a code, and of any string that is skipped.
const MAX_TEXT: usize = 2 + 2 * MAX_CODE;
/// Limit of the digits of a word, of a key and of a root.
const MAX_WORD: usize = 2 + 2 * 33;
/// Slots that are read between two checks for a request to stop.
const PATIENCE: u64 = 1 << 14;

/// A dump whose first line was read.
pub struct StateDump {
    json: Json,
    root: Hash,
    /// Folder of temporary files.
    folder: PathBuf,
    slots: Slots,
    /// How storage is written, once that is known.
    form: Option<SlotForm>,
    /// Hashes of the codes so far.
    codes: HashSet<Hash>,
    counts: Counts,
    without_address: u64,
    text: Vec<u8>,
}

/// What a dump has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumped {
    /// The state root in its first line.
    pub root: Hash,
    /// Numbers of its entries.
    pub counts: Counts,
    /// Accounts without an address.
    pub without_address: u64,
    /// Its last line.
    pub lines: u64,
}

/// The receiver of the entries of a dump.
pub type TakeDump<'t> = dyn FnMut(DumpEntry<'_>) -> Result<()> + 't;

/// The fields of an account's line.
#[derive(Default)]
struct Line {
    balance: Option<U256>,
    nonce: Option<u64>,
    root: Option<Hash>,
    code_hash: Option<Hash>,
    code: Option<Vec<u8>>,
    address: Option<Address>,
    key: Option<Hash>,
}

impl StateDump {
    /// Opens a dump, compressed or not, and reads the state root in its first line. Slots of
    /// accounts with many are sorted in temporary files in `folder`.
    ///
    /// # Errors
    /// [`SnapshotError::Dump`] if it does not begin with a state root,
    /// [`SnapshotError::Unreadable`] if it cannot be read or unpacked.
    pub fn open(path: &Path, folder: &Path) -> Result<Self> {
        let (mut json, mut root, mut text) = (Json::open(path)?, None, vec![]);
        if json.peek()?.is_none() {
            return Err(json.wrong("a line with the state root", "the end of the file"));
        }
        json.object(|json, name| match name {
            b"root" => {
                json.string(&mut text, MAX_WORD)?;
                let found = fields::array(&text);
                root = Some(found.ok_or_else(|| wrong_text(json, "a state root", &text))?);
                Ok(())
            }
            b"accounts" => {
                Err(json
                    .wrong("a dump in lines (geth dump --iterative)", "all accounts in one object"))
            }
            _ => json.skip(MAX_TEXT),
        })?;
        let root = root.ok_or_else(|| json.wrong("a line with the state root", "no root"))?;
        let (folder, slots) = (folder.to_owned(), Slots::new(folder.to_owned()));
        let (form, codes, counts, without_address) = (None, HashSet::new(), Counts::default(), 0);
        Ok(Self { json, root, folder, slots, form, codes, counts, without_address, text })
    }

    /// The same with another limit of slots in memory.
    #[cfg(test)]
    pub(super) fn within(mut self, together: usize) -> Self {
        self.slots = Slots::within(self.folder.clone(), together);
        self
    }

    /// The state root in the first line.
    #[must_use]
    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// An error in the last line.
    #[must_use]
    pub fn wrong(&self, expected: impl ToString, found: impl ToString) -> SnapshotError {
        self.json.wrong(expected, found)
    }

    /// Reads the next account, and passes it and its slots to `take`. Returns false at the end.
    ///
    /// # Errors
    /// [`SnapshotError::Dump`] with the first error in the dump; those of `take`;
    /// [`SnapshotError::Stopped`] when cancelled.
    pub fn account(&mut self, cancel: &Cancel, take: &mut TakeDump<'_>) -> Result<bool> {
        if self.json.peek()?.is_none() {
            return Ok(false);
        }
        self.slots.clear();
        // an error is about the line that begins here, even if it ends elsewhere
        let line = self.line(cancel)?;
        let name = match (&line.address, &line.key) {
            (Some(address), _) => Some(Hex(address).to_string()),
            (None, key) => key.as_ref().map(|key| Hex(key).to_string()),
        };
        let taken = self.take(line, cancel, take);
        taken.map_err(|error| match error {
            SnapshotError::Dump { path, line, expected, found, .. } => {
                SnapshotError::Dump { path, line, account: name, expected, found }
            }
            error => error,
        })?;
        Ok(true)
    }

    /// Bytes read from disk so far.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.json.disk_bytes()
    }

    /// What was read so far.
    #[must_use]
    pub fn dumped(&self) -> Dumped {
        let Self { root, counts, without_address, json, .. } = self;
        let (root, counts, without_address) = (*root, *counts, *without_address);
        Dumped { root, counts, without_address, lines: json.line }
    }

    /// Reads the fields of a line; its slots are collected.
    fn line(&mut self, cancel: &Cancel) -> Result<Line> {
        let (mut line, mut text) = (Line::default(), std::mem::take(&mut self.text));
        let Self { json, slots, folder, .. } = self;
        json.object(|json, name| {
            match name {
                b"balance" => {
                    json.number(&mut text)?;
                    line.balance = Some(parsed(json, "a balance", &text, fields::number)?);
                }
                b"nonce" => {
                    json.number(&mut text)?;
                    let nonce = |text: &[u8]| fields::number(text)?.try_into().ok();
                    line.nonce = Some(parsed(json, "a nonce of 64 bits", &text, nonce)?);
                }
                b"root" => line.root = Some(hash(json, "a storage root", &mut text)?),
                b"codeHash" => line.code_hash = Some(hash(json, "a code hash", &mut text)?),
                b"key" => line.key = Some(hash(json, "a hashed address", &mut text)?),
                b"address" => {
                    json.string(&mut text, MAX_WORD)?;
                    line.address = Some(parsed(json, "an address", &text, fields::array)?);
                }
                b"code" => {
                    json.string(&mut text, MAX_TEXT)?;
                    line.code = Some(parsed(json, "a code", &text, fields::bytes)?);
                }
                b"storage" if json.peek()? != Some(b'n') => {
                    storage(json, slots, folder, cancel, &mut text)?;
                }
                _ => json.skip(MAX_TEXT)?,
            }
            Ok(())
        })?;
        self.text = text;
        Ok(line)
    }

    /// Checks an account, and passes it on.
    fn take(&mut self, line: Line, cancel: &Cancel, take: &mut TakeDump<'_>) -> Result<()> {
        let hashed = line.address.map(|address| keccak256(&address));
        let key = match (hashed, line.key) {
            (Some(hashed), Some(key)) if hashed != key => {
                let expected = format!("the key {}, Keccak-256 of the address", Hex(&hashed));
                return Err(self.wrong(expected, Hex(&key)));
            }
            (Some(key), _) | (None, Some(key)) => key,
            (None, None) => return Err(self.wrong("an address or a key", "neither")),
        };
        let code_hash = self.code(&line, take)?;
        let balance = line.balance.ok_or_else(|| self.wrong("a balance", "no such field"))?;
        let (form, mut sorted, root) = self.sorted(&line)?;
        let account = Account { nonce: line.nonce.unwrap_or(0), balance, code_hash };
        self.counts.accounts += 1;
        self.counts.slots += self.slots.count();
        self.without_address += u64::from(line.address.is_none());
        let (address, storage_root) = (line.address.as_ref(), &root);
        take(DumpEntry::Account { key: &key, address, account: &account, storage_root })?;
        let error = SnapshotError::io(&self.folder);
        let (mut slots, mut count) = (sorted.slots().map_err(&error)?, 0u64);
        while let Some(slot) = slots.next().map_err(&error)? {
            count += 1;
            if count.is_multiple_of(PATIENCE) && cancel.is_cancelled() {
                return Err(SnapshotError::Stopped);
            }
            let plain = (form == SlotForm::Plain).then(|| U256::from_be_bytes(slot.name));
            let (account, key, value) = (&key, &slot.key, slot.value);
            take(DumpEntry::Slot { account, key, slot: plain, value })?;
        }
        Ok(())
    }

    /// Checks the code of a line, and passes it on the first time. Returns its hash.
    fn code(&mut self, line: &Line, take: &mut TakeDump<'_>) -> Result<Hash> {
        let Some(code) = line.code.as_ref().filter(|code| !code.is_empty()) else {
            let hash = line.code_hash.unwrap_or(EMPTY_CODE);
            return match hash == EMPTY_CODE || self.codes.contains(&hash) {
                true => Ok(hash),
                false => Err(self.wrong(format!("the code with hash {}", Hex(&hash)), "no code")),
            };
        };
        let hash = keccak256(code);
        if let Some(expected) = line.code_hash.filter(|expected| *expected != hash) {
            let expected = format!("a code with hash {}", Hex(&expected));
            return Err(self.wrong(expected, Hex(&hash)));
        }
        if self.codes.insert(hash) {
            self.counts.codes += 1;
            take(DumpEntry::Code(&hash, code))?;
        }
        Ok(hash)
    }

    /// Sorts the slots of a line, and compares their root with that of the line.
    ///
    /// Lines with an address have plain slots. Without one, the root of the first line with slots
    /// says which form all lines have.
    fn sorted(&mut self, line: &Line) -> Result<(SlotForm, Sorted, Hash)> {
        if line.address.is_some() {
            self.form = Some(SlotForm::Plain);
        }
        let form = self.form.unwrap_or(SlotForm::Hashed);
        let is_open = self.form.is_none() && self.slots.count() > 0;
        if is_open && line.root.is_none() {
            let expected = "the storage root of an account without an address";
            return Err(self.wrong(expected, "no such field"));
        }
        let fits = |root: &Hash| line.root.is_none_or(|expected| expected == *root);
        let root = match self.sort(form) {
            Ok((sorted, root)) if fits(&root) => {
                if is_open {
                    self.form = Some(form);
                }
                return Ok((form, sorted, root));
            }
            other => other.map(|(_, root)| root),
        };
        if is_open
            && let Ok((sorted, plain)) = self.sort(SlotForm::Plain)
            && fits(&plain)
        {
            self.form = Some(SlotForm::Plain);
            return Ok((SlotForm::Plain, sorted, plain));
        }
        let (root, count) = (root?, self.slots.count());
        let expected = format!("the storage root {}", Hex(&line.root.unwrap_or_default()));
        Err(self.wrong(expected, format!("{} of {count} slots", Hex(&root))))
    }

    fn sort(&mut self, form: SlotForm) -> Result<(Sorted, Hash)> {
        self.slots.sort(form).map_err(|fault| match fault {
            SlotFault::Io(error) => SnapshotError::io(&self.folder)(error),
            SlotFault::Wrong(slot, expected, found) => {
                self.json.wrong(format!("of slot {} {expected}", Hex(&slot)), found)
            }
        })
    }
}

/// Collects the slots of a line.
fn storage(
    json: &mut Json,
    slots: &mut Slots,
    folder: &Path,
    cancel: &Cancel,
    text: &mut Vec<u8>,
) -> Result<()> {
    json.object(|json, name| {
        let slot = parsed(json, "a slot of 32 bytes", name, fields::word)?;
        json.string(text, MAX_WORD)?;
        let mut value = [0; 33];
        let bytes = |text: &[u8]| fields::bytes_into(text, &mut value);
        let length = parsed(json, "the value of a slot", text, bytes)?;
        let slot = GivenSlot::new(slot, &value[..length])
            .ok_or_else(|| wrong_text(json, "the value of a slot", text))?;
        slots.push(slot).map_err(SnapshotError::io(folder))?;
        match slots.count().is_multiple_of(PATIENCE) && cancel.is_cancelled() {
            true => Err(SnapshotError::Stopped),
            false => Ok(()),
        }
    })
}

/// Reads a string with 32 bytes.
fn hash(json: &mut Json, expected: &str, text: &mut Vec<u8>) -> Result<Hash> {
    json.string(text, MAX_WORD)?;
    parsed(json, expected, text, fields::array)
}

/// Parses `text`.
fn parsed<T>(
    json: &Json,
    expected: &str,
    text: &[u8],
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T> {
    parse(text).ok_or_else(|| wrong_text(json, expected, text))
}

fn wrong_text(json: &Json, expected: &str, text: &[u8]) -> SnapshotError {
    let shown = &text[..text.len().min(80)];
    json.wrong(expected, format!("{:?}", String::from_utf8_lossy(shown)))
}
