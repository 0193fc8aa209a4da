//! The store's chain for a real client: the database that neo-go opens and goes on from.

use crate::datadir::containers::ContainersWriter;
use crate::datadir::nodes::{Nodes, add_references};
use crate::datadir::source::SourceStore;
use crate::datadir::{executables, system, transfers, versions};
use crate::fault::Error;
use crate::types::UInt256;
use blockmill_archive::output::OutputFolder;
use blockmill_leveldb::{BulkWriter, Combine, Library, Sorter};
use blockmill_pipeline::Cancel;
use std::ops::Bound;
use std::path::Path;

/// Bytes of memory that entries are sorted in.
const SORT_MEMORY: usize = 256 << 20;
/// Pairs of contract storage between two looks at whether to stop.
const STRETCH: u32 = 1 << 12;

/// What was written.
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
    /// Transfers, each once for each of its accounts.
    pub transfers: u64,
    /// Entries of the database.
    pub entries: u64,
    /// Bytes of its tables.
    pub bytes: u64,
    /// Has it the state after every block, or after the last one only?
    pub keeps_history: bool,
}

/// Writes the store of executed blocks in `data` as a LevelDB database in `out` that neo-go opens
/// and goes on from: with `KeepOnlyLatestState: true`, or with `false` where the store has the
/// state after every block. None when the user asked to stop.
///
/// Entries come in the order of their keys, prefix by prefix. What is not in that order in the
/// store is sorted beside the output, with as much memory whatever the size of the chain.
///
/// # Errors
/// When the blocks of the store were not executed, when it is damaged, or when `out` is not empty.
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

/// Puts the nodes of the state trie, whose root must be the one that was committed. False when the
/// user asked to stop.
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
