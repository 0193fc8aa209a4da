//! Converts a store of executed blocks into a neo-go database, ready to sync.

use crate::datadir::containers::ContainersWriter;
use crate::datadir::nodes::{Nodes, add_references};
use crate::datadir::source::SourceStore;
use crate::datadir::{executables, system, transfers, versions};
use crate::error::Error;
use crate::types::UInt256;
use blockmill_archive::output::OutputFolder;
use blockmill_leveldb::{BulkWriter, Combine, Library, Sorter};
use blockmill_pipeline::Cancel;
use std::ops::Bound;
use std::path::Path;

/// Memory for sorting entries, in bytes.
const SORT_MEMORY: usize = 256 << 20;
/// Pairs of contract storage between two checks for cancellation.
const STRETCH: u32 = 1 << 12;

/// The result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The last block.
    pub height: u32,
    /// Its hash.
    pub tip: UInt256,
    /// The state root after it.
    pub root: UInt256,
    /// Pairs of contract storage.
    pub pairs: u64,
    /// Transfers, counted once for each account.
    pub transfers: u64,
    /// Entries of the database.
    pub entries: u64,
    /// Bytes of its tables.
    pub bytes: u64,
    /// Whether it has the state after every block, not only after the last one.
    pub keeps_history: bool,
}

/// Writes the store of executed blocks in `data` as a LevelDB database of neo-go in `out`: for
/// `KeepOnlyLatestState: true`, or for `false` if the store has the state after every block.
/// Returns `None` if it was cancelled.
///
/// Entries are written in key order, prefix by prefix. Entries that the store has in another order
/// are sorted next to the output, in bounded memory.
///
/// # Errors
/// Returns [`Error::NotExecuted`] if the store has no executed blocks, an error of the store if it
/// is corrupt, and an I/O error if `out` is not empty or cannot be written.
pub fn to_neo_go(data: &Path, out: &Path, cancel: &Cancel) -> Result<Option<Written>, Error> {
    let source = SourceStore::open(data)?;
    let output = OutputFolder::create(out)?;
    let mut database = BulkWriter::in_empty(output.path(), Library::GoLevelDb);
    let sorter_in =
        |folder, combine| Sorter::new(&output.path().join(folder), SORT_MEMORY, combine);
    let sorter = |combine: Combine| sorter_in("runs", combine);

    let mut sorted = sorter(executables::combine);
    let mut containers = ContainersWriter::create(&output.path().join("containers"))?;
    for height in 0..=source.height {
        let (block, executions) = source.block(height)?;
        executables::put_block(&block, &executions, &mut sorted)?;
        containers.push(&block)?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    executables::put_conflicts(&source, &mut sorted)?;
    sorted.finish(|key, value| database.put(key, value))?;

    let mut sorted = sorter(|value, other| add_references(value, other));
    let whole = match &source.history {
        None => put_nodes(&source, &mut sorted, cancel)?,
        Some(history) => {
            sorted = sorter(|_, _| {});
            let changes = sorter_in("changes", |_, _| {});
            versions::put(&source, history, changes, &mut sorted, cancel)?
        }
    };
    if !whole {
        return Ok(None);
    }
    sorted.finish(|key, value| database.put(key, value))?;
    system::put_roots(&source, &mut database)?;
    let pairs = system::put_storage(&source, &mut database)?;

    let mut sorted = sorter(|_, _| {});
    let mut containers = containers.finish()?;
    let transfers = transfers::put(&source, &mut containers, &mut sorted)?;
    containers.remove()?;
    sorted.finish(|key, value| database.put(key, value))?;
    system::put_tip(&source, &mut database)?;
    if cancel.is_cancelled() {
        return Ok(None);
    }
    let loaded = database.finish()?;
    output.finish()?;
    let (entries, bytes) = (loaded.entries, loaded.bytes);
    let SourceStore { height, tip, root, history, .. } = source;
    let keeps_history = history.is_some();
    Ok(Some(Written { height, tip, root, pairs, transfers, entries, bytes, keeps_history }))
}

/// Puts the nodes of the state trie and checks its root. Returns false if it was cancelled.
fn put_nodes(source: &SourceStore, into: &mut Sorter, cancel: &Cancel) -> Result<bool, Error> {
    let mut nodes = Nodes::new(into);
    let runs = source.storage.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    let mut count = 0;
    while let Some((key, value)) = scan.next()? {
        nodes.push(key, value)?;
        count = (count + 1) % STRETCH;
        if count == 0 && cancel.is_cancelled() {
            return Ok(false);
        }
    }
    let (expected, found) = (source.root, nodes.finish()?);
    match found == expected {
        true => Ok(true),
        false => Err(Error::StoredState { expected, found }),
    }
}
