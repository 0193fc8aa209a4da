//! Pass 1: reads the headers of all files, and builds their tree.

mod saved;

use crate::error::Error;
use crate::fault::{Cause, Fault};
use crate::index::scan::{self, FindBlocks};
use crate::index::suspects;
use crate::index::{Anchor, Found, RefusalReason, Tree};
use crate::options::Options;
use crate::params::Params;
use crate::run::{Run, Tip, TrailingBytes};
use crate::types::Block;
use crate::{Level, body};
use blockmill_archive::blkdat::{BlockFiles, BodyReader, Corruption, CorruptionKind, FRAME};
use blockmill_verdict::Location;
use std::path::Path;
use std::time::Instant;

/// The result of pass 1.
pub(crate) struct Index {
    /// The tree of headers.
    pub tree: Tree,
    /// Corrupt ranges, each with the index of its file; complete except for `unlisted`.
    pub corruption: Vec<(u32, Corruption)>,
    /// Number of corrupt ranges that are not listed.
    pub unlisted: u64,
    /// Records that are longer than their blocks, found by reading bodies.
    pub too_long: Vec<(u32, Corruption)>,
    /// Records that are longer than their blocks: position, size of the record, size of the block.
    oversized: Vec<((u32, u64), u32, u32)>,
}

impl Index {
    /// An index with the first block of the network only.
    pub fn empty(params: &Params) -> Self {
        Self {
            tree: Tree::empty(params),
            corruption: vec![],
            unlisted: 0,
            too_long: vec![],
            oversized: vec![],
        }
    }

    /// All listed corrupt ranges.
    pub fn all_corruption(&self) -> impl Iterator<Item = &(u32, Corruption)> {
        self.corruption.iter().chain(&self.too_long)
    }

    /// Notes that the record of a block has trailing `bytes`, with the corrupt ranges in them.
    /// Returns the size of the block.
    pub fn note_trailing_bytes(
        &mut self,
        found: &Found,
        bytes: u32,
        corruption: &[Corruption],
    ) -> u32 {
        let (stated, size) = (found.size, found.size.saturating_sub(bytes));
        let kind = CorruptionKind::WrongSize { stated, found: size };
        let (offset, length) = (found.offset.saturating_sub(FRAME), FRAME + u64::from(size));
        self.too_long.push((found.file, Corruption { offset, length, kind }));
        self.too_long.extend(corruption.iter().map(|range| (found.file, *range)));
        size
    }

    /// Searches the trailing bytes of records for blocks: a wrong length can hide them. Sets the
    /// actual size of the blocks of these records. Returns the new blocks.
    pub fn find_hidden_blocks(
        &mut self,
        files: &BlockFiles,
        trailing: Vec<TrailingBytes>,
    ) -> Result<Vec<Found>, Error> {
        let mut all = vec![];
        for TrailingBytes { record, bytes } in trailing {
            let Some(found) = self.tree.found().get(record as usize).copied() else { continue };
            let corruption = scan::files::scan_trailing(files, &found, bytes, &mut all)?;
            let size = self.note_trailing_bytes(&found, bytes, &corruption);
            self.oversized.push((position(&found), found.size, size));
            self.tree.set_size(record, size);
        }
        // the index may have them from an earlier run
        let known = self.tree.found();
        let is_new = |one: &Found| known.binary_search_by_key(&position(one), position).is_err();
        all.retain(is_new);
        Ok(all)
    }

    /// Removes all records from the tree, and returns them together with `more`.
    pub fn take_found(&mut self, params: &Params, mut more: Vec<Found>) -> Vec<Found> {
        let tree = std::mem::replace(&mut self.tree, Tree::empty(params));
        let mut found = tree.into_found();
        found.append(&mut more);
        found.sort_unstable_by_key(position);
        found
    }

    /// Sets the size of each record that is longer than its block, to the size of the record or to
    /// that of the block.
    fn set_sizes(&self, found: &mut [Found], to_record_size: bool) {
        for (at, of_record, of_block) in &self.oversized {
            if let Ok(record) = found.binary_search_by_key(at, position) {
                found[record].size = if to_record_size { *of_record } else { *of_block };
            }
        }
    }
}

/// Finds the headers of all blocks with `finder`, and links them. With the folder `data`, files
/// that have not changed since an earlier run are not read again, and the headers are saved.
pub(crate) fn index(
    files: &BlockFiles,
    finder: &mut impl FindBlocks,
    options: &Options,
    data: Option<&Path>,
    run: &mut Run,
) -> Result<Index, Error> {
    let start = Instant::now();
    let mut index = Index::empty(&options.params);
    let found = match data {
        Some(data) => saved::load_or_scan(files, finder, options, data, &mut index, run)?,
        None => scan(files, &all(files), finder, options, &mut index, run)?,
    };
    run.counts.files = files.files().len() as u64;
    run.counts.file_bytes = files.bytes();
    run.counts.blocks = found.len() as u64;
    index.tree = Tree::build(&options.params, found, options.now);
    run.counts.out_of_order = index.tree.out_of_order().into();
    run.counts.orphans = index.tree.unlinked().into();
    choose(files, options, data, &mut index, run)?;
    run.index_s = start.elapsed().as_secs_f64();
    Ok(index)
}

/// Links the blocks hidden in trailing bytes of suspect records, and sets the first block and the
/// best chain.
pub(crate) fn choose(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    index: &mut Index,
    run: &mut Run,
) -> Result<(), Error> {
    run.trailing = suspects::find(files, &index.tree)?;
    while relink(files, options, data, index, run)? {
        run.trailing = suspects::find(files, &index.tree)?;
    }
    anchor(files, options, index)?;
    note_best(&index.tree, run);
    run.best.iter().for_each(|best| options.cancel.live().knows(best.height.into()));
    if run.anchor.is_some() {
        // the best tip has changed
        run.trailing = suspects::find(files, &index.tree)?;
        while link_hidden_blocks(files, options, data, index, run)? {
            run.trailing = suspects::find(files, &index.tree)?;
        }
    }
    Ok(())
}

/// If no block follows the genesis block, the files may begin in the middle of the chain: the first
/// block of the longest piece is trusted, and the others are linked to it.
pub(crate) fn anchor(
    files: &BlockFiles,
    options: &Options,
    index: &mut Index,
) -> Result<(), Error> {
    let tree = &index.tree;
    let starts = if tree.height(tree.best_tip()) > 0 { vec![] } else { tree.gaps() };
    let Some(start) = starts.iter().rev().max_by_key(|gap| gap.records) else {
        let (expected, given) = (0, options.from.filter(|from| *from > 0));
        return given.map_or(Ok(()), |found| Err(Error::OtherHeight { expected, found }));
    };
    let Some(found) = tree.found().get(start.first as usize).copied() else { return Ok(()) };
    if options.level == Level::Execution {
        return Err(Error::NoBeginning(found.hash));
    }
    let announced = announced_height(files, options, &found);
    let height = match (announced, options.from) {
        (Some(expected), Some(found)) if expected != found => {
            return Err(Error::OtherHeight { expected, found });
        }
        (announced, given) => announced.or(given),
    };
    let anchor = Anchor { record: start.first, hash: found.hash, height };
    let tree = std::mem::replace(&mut index.tree, Tree::empty(&options.params));
    // the records remain in the order of files and offsets
    let found = tree.into_found();
    index.tree = Tree::build_from(&options.params, Some(anchor), found, options.now);
    Ok(())
}

/// The height that a block states.
pub(crate) fn announced_height(
    files: &BlockFiles,
    options: &Options,
    found: &Found,
) -> Option<u32> {
    let mut block = Block::default();
    BodyReader::new(files, 1).read(found.location(), &mut block.raw).ok()?;
    block.parse_record().ok()?;
    body::announced_height(&block, options.params.bip34_height)
}

/// Searches the trailing bytes of records for hidden blocks, and links them. Returns whether there
/// are any; if so, the tree is new and has no marks.
pub(crate) fn link_hidden_blocks(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    index: &mut Index,
    run: &mut Run,
) -> Result<bool, Error> {
    if !relink(files, options, data, index, run)? {
        return Ok(false);
    }
    anchor(files, options, index)?;
    note_best(&index.tree, run);
    Ok(true)
}

/// Links hidden blocks from the first block of the network on.
fn relink(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    index: &mut Index,
    run: &mut Run,
) -> Result<bool, Error> {
    let more = index.find_hidden_blocks(files, std::mem::take(&mut run.trailing))?;
    if more.is_empty() {
        return Ok(false);
    }
    let mut found = index.take_found(&options.params, more);
    run.counts.blocks = found.len() as u64;
    if let Some(data) = data {
        // with the sizes of the records: the next run finds the blocks and the wrong lengths again
        index.set_sizes(&mut found, true);
        let stamps = saved::stamps(files)?;
        saved::save(data, options, stamps, &found, index)?;
        index.set_sizes(&mut found, false);
    }
    index.tree = Tree::build(&options.params, found, options.now);
    Ok(true)
}

fn position(found: &Found) -> (u32, u64) {
    (found.file, found.offset)
}

/// The indices of all files.
fn all(files: &BlockFiles) -> Vec<u32> {
    (0..files.files().len() as u32).collect()
}

/// Scans the files with these indices.
fn scan(
    files: &BlockFiles,
    numbers: &[u32],
    finder: &mut impl FindBlocks,
    options: &Options,
    index: &mut Index,
    run: &mut Run,
) -> Result<Vec<Found>, Error> {
    let (some, start, cancel) = (files.only(numbers), Instant::now(), &options.cancel);
    let scan = finder
        .find_blocks(&some, cancel)
        .map_err(|error| if cancel.is_cancelled() { Error::Stopped } else { error.into() })?;
    run.scan_s = start.elapsed().as_secs_f64();
    run.counts.bytes_read = scan.bytes_read;
    for (file, report) in numbers.iter().zip(&scan.reports) {
        index.corruption.extend(report.corruption.iter().map(|corruption| (*file, *corruption)));
        index.unlisted += report.corruption_count - report.corruption.len() as u64;
    }
    let renumber = |found: Found| Found { file: numbers[found.file as usize], ..found };
    Ok(scan.found.into_iter().map(renumber).collect())
}

/// The first header that breaks a rule above the best chain: because of it the chain is shorter
/// than the files. Bad headers in other branches are notes.
pub(crate) fn refused_above(tree: &Tree, files: &BlockFiles) -> Option<Fault> {
    let best = tree.height(tree.best_tip());
    tree.refused().iter().find_map(|refused| {
        let RefusalReason::Rule(height, violation) = refused.reason else { return None };
        let found = tree.found().get(refused.record as usize).filter(|_| height > best)?;
        let file = files.files().get(found.file as usize)?.path().to_path_buf();
        let location = Some(Location::new(file, found.offset));
        let (block, hash) = (u64::from(tree.base() + height), Some(found.hash));
        Some(Fault { block, hash, location, cause: Cause::Header(violation) })
    })
}

/// Records the best chain in `run`.
pub(crate) fn note_best(tree: &Tree, run: &mut Run) {
    let best = tree.best_tip();
    let height = tree.base() + tree.height(best);
    run.best = Some(Tip { height, hash: *tree.hash(best) });
    run.anchor = tree.anchor();
    run.tree_memory = tree.memory();
    run.stale = u64::from(tree.len()) - u64::from(tree.height(best)) - 1;
}

/// The last requested block of the best chain. `None` if all its blocks are higher.
pub fn last_asked(tree: &Tree, options: &Options) -> Option<Tip> {
    let (base, best) = (tree.base(), tree.best_tip());
    let last = (tree.height(best) as usize).min(options.asked(base).checked_sub(1)?);
    let block = tree.ancestor(best, last as u32)?;
    Some(Tip { height: base + last as u32, hash: *tree.hash(block) })
}
