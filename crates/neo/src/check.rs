//! Checks the contents of a store: every header against its hash and parent, every body against the
//! merkle root, every application log against its block, contract storage against the state root.
//!
//! [`ChainStore::check`] checks the bytes; blocks with corrupt bytes are skipped here.

use crate::Level;
use crate::body::merkle;
use crate::error::Error;
use crate::ledger::{self, Facts, STORAGE, TABLE_MEMORY};
use crate::logs::application;
use crate::types::{Block, UInt256};
use blockmill_hashes::ManySha256;
use blockmill_store::{ChainStore, TableOptions};
use blockmill_verdict::CheckReport;
use std::path::Path;

/// Blocks between two checks for cancellation.
const STRETCH: u64 = 256;

/// The expected value in findings about a part that cannot be decoded.
const READABLE: &str = "one that can be read";

/// Checks every block of a store. `watch` regularly gets the number of bytes read; the check ends
/// when it returns false.
///
/// # Errors
/// Returns an I/O error if the store cannot be read. Corruption is a finding, not an error.
pub fn check(store: &ChainStore, watch: &mut dyn FnMut(u64) -> bool) -> Result<CheckReport, Error> {
    let mut checked = CheckReport::default();
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return Ok(checked) };
    let state_root = match ledger::has_state_roots(store) {
        Ok(state_root) => state_root,
        Err(Error::StoredBlock { number, expected, .. }) => {
            checked.add(number, "last block", READABLE, format!("another than {expected}"));
            return Ok(checked);
        }
        // the check of bytes has reported it
        Err(Error::Store(blockmill_store::Error::Corrupt { .. })) => return Ok(checked),
        Err(error) => return Err(error),
    };
    let (hasher, level) = (ManySha256::detect(), Level::stored(tip.level));
    let level = level.unwrap_or(Level::Headers);
    let (mut before, mut bytes) = (None, 0);
    // removed blocks have headers only
    let whole = store.first_whole().unwrap_or(first);
    for number in first..=tip.number {
        let level = if number < whole { Level::Headers } else { level };
        match one(store, number, (level, state_root), &hasher, before, &mut checked) {
            Ok((hash, read)) => (before, bytes) = (hash, bytes + read),
            Err(blockmill_store::Error::Corrupt { .. }) => before = None,
            Err(error) => return Err(error.into()),
        }
        if number % STRETCH == 0 && !watch(std::mem::take(&mut bytes)) {
            checked.stopped = true;
            return Ok(checked);
        }
    }
    checked.stopped = !watch(bytes);
    Ok(checked)
}

/// Checks a block. Returns its hash, for the next block, and the number of bytes read.
fn one(
    store: &ChainStore,
    number: u64,
    (level, state_root): (Level, bool),
    hasher: &ManySha256,
    before: Option<UInt256>,
    checked: &mut CheckReport,
) -> blockmill_store::Result<(Option<UInt256>, u64)> {
    let mut raw = store.header(number)?.unwrap_or_default();
    let stated = UInt256(store.hash_of(number)?.unwrap_or_default());
    let header_bytes = raw.len();
    if level >= Level::Bodies {
        raw.extend(store.body(number)?.unwrap_or_default());
    }
    let mut read = raw.len() as u64;
    let mut block = Block { raw, ..Block::default() };
    let decoded = match level {
        Level::Headers => {
            let raw = std::mem::take(&mut block.raw);
            block.parse_header(&raw, state_root)
        }
        _ => block.parse(state_root),
    };
    if let Err(error) = decoded {
        checked.add(number, "block", READABLE, error);
        return Ok((None, read));
    }
    crate::types::hash_blocks(std::slice::from_mut(&mut block), hasher);
    checked.blocks += 1;
    if block.hash != stated {
        checked.add(number, "hash", stated, block.hash);
    }
    if block.header_length() != header_bytes {
        checked.add(number, "header", READABLE, "one of another length");
    }
    if let Some(before) = before.filter(|before| *before != block.header.previous) {
        checked.add(number, "hash of the block before", before, block.header.previous);
    }
    if level >= Level::Bodies {
        let root = merkle::root_with(block.transactions.hashes(), hasher);
        if root != block.header.merkle_root {
            checked.add(number, "merkle root", block.header.merkle_root, root);
        }
    }
    if level >= Level::Execution {
        let log = store.receipts(number)?.unwrap_or_default();
        read += log.len() as u64;
        if let Err(error) = application::decode(&block, &log) {
            checked.add(number, "application log", READABLE, error);
        }
    }
    Ok((Some(block.hash), read))
}

/// Builds the state trie of a store of executed blocks from contract storage. Returns the committed
/// root, and the computed one if it differs.
///
/// # Errors
/// Returns [`Error::Store`] if the store cannot be read, [`Error::StoredFacts`] if its facts cannot
/// be decoded.
pub fn check_state(folder: &Path) -> Result<Option<(UInt256, Option<UInt256>)>, Error> {
    let parts = |opening: &mut blockmill_store::Opening| {
        opening.table(STORAGE, &TableOptions::new(TABLE_MEMORY))
    };
    let ((store, _), storage) = ChainStore::open_read_only_with(folder, parts)?;
    let executed = store.tip().is_some_and(|tip| tip.level >= Level::Execution as u8);
    let root = Facts::read(&store)?.and_then(|facts| facts.state).map(|state| state.root);
    let Some(expected) = root.filter(|_| executed) else { return Ok(None) };
    let found = ledger::trie_of(&storage.reader(), ManySha256::detect())?.root();
    Ok(Some((expected, (found != expected).then_some(found))))
}
