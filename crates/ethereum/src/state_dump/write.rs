//! Writes a dump as go-ethereum does: the fields in its order, storage sorted by its names.

use crate::snapshot::Counts;
use crate::state::{Account, DiskState, EMPTY_CODE, State, StateError};
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::{EMPTY_ROOT, RootBuilder};
use std::io::{self, Write};

/// Bytes that are written together.
const TOGETHER: usize = 1 << 20;

/// Writes the lines of a dump.
struct DumpWriter<'o> {
    out: &'o mut dyn Write,
    buffer: Vec<u8>,
    /// Slots of the current account.
    slots: u64,
    counts: Counts,
    bytes: u64,
}

impl<'o> DumpWriter<'o> {
    /// A writer whose first line has the state root.
    fn new(out: &'o mut dyn Write, root: &Hash) -> Self {
        let (buffer, counts) = (Vec::with_capacity(2 * TOGETHER), Counts::default());
        let mut writer = Self { out, buffer, slots: 0, counts, bytes: 0 };
        writer.text("{\"root\":");
        writer.hex(root);
        writer.text("}\n");
        writer
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Appends a string of `0x` and digits.
    fn hex(&mut self, bytes: &[u8]) {
        self.text("\"0x");
        self.digits(bytes);
        self.text("\"");
    }

    fn digits(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let pair = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        self.buffer.extend(bytes.iter().flat_map(pair));
    }

    /// Begins the line of an account.
    fn begin(&mut self, account: &Account, storage_root: &Hash, code: &[u8]) {
        let Account { nonce, balance, code_hash } = account;
        self.text(&format!("{{\"balance\":\"{balance}\",\"nonce\":{nonce},\"root\":"));
        self.hex(storage_root);
        self.text(",\"codeHash\":");
        self.hex(code_hash);
        if !code.is_empty() {
            self.text(",\"code\":");
            self.hex(code);
        }
        self.slots = 0;
        self.counts.accounts += 1;
    }

    /// Adds a slot to the line, with the digits of its value.
    fn slot(&mut self, name: &[u8], value: &[u8]) -> io::Result<()> {
        self.text(if self.slots == 0 { ",\"storage\":{" } else { "," });
        self.hex(name);
        self.text(":\"");
        self.digits(value);
        self.text("\"");
        self.slots += 1;
        self.flush_if(TOGETHER)
    }

    /// Ends the line.
    fn end(&mut self, address: Option<&Address>, key: &Hash) -> io::Result<()> {
        if self.slots > 0 {
            self.text("}");
        }
        self.counts.slots += self.slots;
        if let Some(address) = address {
            self.text(",\"address\":");
            self.hex(address);
        }
        self.text(",\"key\":");
        self.hex(key);
        self.text("}\n");
        self.flush_if(TOGETHER)
    }

    fn flush_if(&mut self, least: usize) -> io::Result<()> {
        if self.buffer.len() >= least {
            self.out.write_all(&self.buffer)?;
            self.bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the rest. Returns numbers of accounts and slots, and the bytes of the file.
    fn finish(mut self) -> io::Result<(Counts, u64)> {
        self.flush_if(0)?;
        self.out.flush()?;
        Ok((self.counts, self.bytes))
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Numbers of entries; codes are not counted.
    pub counts: Counts,
    /// Bytes of the file.
    pub bytes: u64,
    /// The state root of the entries.
    pub state_root: Hash,
}

/// The reason why a dump is not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The state.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Writes a state in memory, with addresses and slots, as `geth dump --iterative` does. `None` when
/// cancelled. `root` is for the first line; the caller compares it with that of the entries.
///
/// # Errors
/// An I/O error of `out`.
pub fn write_state(
    state: &State,
    root: &Hash,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> io::Result<Option<Written>> {
    let hasher = ManyKeccak::detect();
    let accounts = state.accounts_by_key(hasher);
    let (mut roots, mut leaves) = (RootBuilder::new(), Vec::with_capacity(accounts.len()));
    let mut writer = DumpWriter::new(out, root);
    for (key, id, address, account) in accounts {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let mut slots: Vec<(Hash, U256)> =
            state.slots(id).map(|(slot, value)| (slot.to_be_bytes(), *value)).collect();
        let storage_root = &storage_root(&slots, hasher, &mut roots);
        let (nonce, balance, code_hash) = (account.nonce, account.balance, &account.code_hash);
        leaves.push((key, Leaf { nonce, balance, storage_root, code_hash }.encode()));
        let code = state.code(code_hash).map_err(io::Error::other)?;
        writer.begin(account, storage_root, code.bytes());
        slots.sort_unstable();
        for (slot, value) in &slots {
            writer.slot(slot, &value.to_be_bytes_trimmed_vec())?;
        }
        writer.end(Some(address), &key)?;
    }
    let (counts, bytes) = writer.finish()?;
    Ok(Some(Written { counts, bytes, state_root: roots.sorted(leaves) }))
}

/// The root of the trie of these slots.
fn storage_root(slots: &[(Hash, U256)], hasher: ManyKeccak, roots: &mut RootBuilder) -> Hash {
    if slots.is_empty() {
        return EMPTY_ROOT;
    }
    let messages: Vec<&[u8]> = slots.iter().map(|(slot, _)| &slot[..]).collect();
    let mut keys = vec![[0; 32]; slots.len()];
    hasher.keccak256(&messages, &mut keys);
    let mut leaves: Vec<_> = keys.into_iter().zip(slots.iter().map(|slot| slot.1)).collect();
    leaves.sort_unstable_by_key(|leaf| leaf.0);
    roots.sorted(leaves.iter().map(|(key, value)| (key, value.encode())))
}

/// Writes a state on disk, with hashed addresses and slots, as `geth snapshot dump` does. `None`
/// when cancelled.
///
/// # Errors
/// [`WriteError::Io`] of `out`, [`WriteError::State`] of the state.
pub fn write_disk_state(
    state: &DiskState,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> Result<Option<Written>, WriteError> {
    let state_root = state.root();
    let mut writer = DumpWriter::new(out, &state_root);
    let mut ended: Result<(), WriteError> = Ok(());
    state.each_account(&mut |key, account, storage_root| {
        ended = write_account(state, key, (account, storage_root), &mut writer);
        ended.is_ok() && !cancel.is_cancelled()
    })?;
    ended?;
    if cancel.is_cancelled() {
        return Ok(None);
    }
    let (counts, bytes) = writer.finish()?;
    Ok(Some(Written { counts, bytes, state_root }))
}

/// Writes the line of an account of a state on disk.
fn write_account(
    state: &DiskState,
    key: &Hash,
    (account, storage_root): (&Account, &Hash),
    writer: &mut DumpWriter<'_>,
) -> Result<(), WriteError> {
    let code = match account.code_hash == EMPTY_CODE {
        true => None,
        false => Some(state.code_of(&account.code_hash)?),
    };
    writer.begin(account, storage_root, code.as_ref().map_or(&[], |code| code.bytes()));
    if *storage_root != EMPTY_ROOT {
        let mut written = Ok(());
        state.each_slot(key, &mut |slot, value| {
            if written.is_ok() {
                written = writer.slot(slot, value);
            }
        })?;
        written?;
    }
    Ok(writer.end(None, key)?)
}
