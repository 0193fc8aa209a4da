//! Pass 1: from files to the tree of their headers.

use crate::data_folder::INDEX;
use crate::fault::{Cause, Error, Fault};
use crate::index::scan::{self, FindBlocks};
use crate::index::suspects;
use crate::index::{self, Anchor, FileStamp, Found, Loaded, Tree, Why};
use crate::options::Options;
use crate::params::Params;
use crate::run::{Run, Spare, Tip};
use crate::types::Block;
use crate::{Level, body};
use blockmill_archive::blkdat::{BlockFiles, BodyReader, Corruption, CorruptionKind, FRAME};
use blockmill_verdict::Location;
use std::path::Path;
use std::time::Instant;

/// What pass 1 found.
pub(crate) struct Index {
    /// The headers, linked.
    pub tree: Tree,
    /// What the scan found wrong with files, by their indexes; complete but for `unlisted`.
    pub damage: Vec<(u32, Corruption)>,
    /// Corrupt places that are not listed.
    pub unlisted: u64,
    /// What bodies showed to be wrong: records that are longer than their blocks.
    pub too_long: Vec<(u32, Corruption)>,
    /// Records that are longer than their blocks: place, length of the record, of the block.
    stepping: Vec<((u32, u64), u32, u32)>,
}

impl Index {
    /// No blocks but the first one of the network.
    pub fn empty(params: &Params) -> Self {
        Self {
            tree: Tree::empty(params),
            damage: vec![],
            unlisted: 0,
            too_long: vec![],
            stepping: vec![],
        }
    }

    /// All that is wrong with files and listed.
    pub fn all_damage(&self) -> impl Iterator<Item = &(u32, Corruption)> {
        self.damage.iter().chain(&self.too_long)
    }

    /// Notes that the record of a block has `bytes` to spare, and what is damaged in them; the
    /// block's true size.
    pub fn note_spare(&mut self, found: &Found, bytes: u32, damage: &[Corruption]) -> u32 {
        let (stated, size) = (found.size, found.size.saturating_sub(bytes));
        let kind = CorruptionKind::WrongSize { stated, found: size };
        let (offset, length) = (found.offset.saturating_sub(FRAME), FRAME + u64::from(size));
        self.too_long.push((found.file, Corruption { offset, length, kind }));
        self.too_long.extend(damage.iter().map(|damage| (found.file, *damage)));
        size
    }

    /// Looks for blocks in the bytes that records have to spare: a wrong length can step over some.
    /// Sets the true size of each of these blocks; the blocks that were found, and are not known.
    pub fn reveal(&mut self, files: &BlockFiles, spare: Vec<Spare>) -> Result<Vec<Found>, Error> {
        let mut all = vec![];
        for Spare { record, bytes } in spare {
            let Some(found) = self.tree.found().get(record as usize).copied() else { continue };
            let damage = scan::files::stretch(files, &found, bytes, &mut all)?;
            let size = self.note_spare(&found, bytes, &damage);
            self.stepping.push((place(&found), found.size, size));
            self.tree.set_size(record, size);
        }
        // what an earlier run found is in the index
        let known = self.tree.found();
        let is_new = |one: &Found| known.binary_search_by_key(&place(one), place).is_err();
        all.retain(is_new);
        Ok(all)
    }

    /// Takes the records out of the tree, and adds `more` to them.
    pub fn take_found(&mut self, params: &Params, mut more: Vec<Found>) -> Vec<Found> {
        let tree = std::mem::replace(&mut self.tree, Tree::empty(params));
        let mut found = tree.into_found();
        found.append(&mut more);
        found.sort_unstable_by_key(place);
        found
    }

    /// Sets the sizes of records that are longer than their blocks: those of the records, or those
    /// of the blocks.
    fn set_sizes(&self, found: &mut [Found], of_records: bool) {
        for (at, of_record, of_block) in &self.stepping {
            if let Ok(record) = found.binary_search_by_key(at, place) {
                found[record].size = if of_records { *of_record } else { *of_block };
            }
        }
    }
}

/// Finds the headers of all blocks with `finder` and links them. With a folder, files that have
/// not changed since an earlier run are not read again, and what is found is saved.
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
        Some(data) => known_or_found(files, finder, options, data, &mut index, run)?,
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

/// Links the blocks in the bytes that records have to spare, of those records where headers make
/// that likely, and takes note of the first block and of the best chain.
pub(crate) fn choose(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    index: &mut Index,
    run: &mut Run,
) -> Result<(), Error> {
    run.spare = suspects::measured(files, &index.tree)?;
    while relink(files, options, data, index, run)? {
        run.spare = suspects::measured(files, &index.tree)?;
    }
    anchor(files, options, index)?;
    note_best(&index.tree, run);
    if run.anchor.is_some() {
        // there is another best tip
        run.spare = suspects::measured(files, &index.tree)?;
        while look_behind_blocks(files, options, data, index, run)? {
            run.spare = suspects::measured(files, &index.tree)?;
        }
    }
    Ok(())
}

/// Where no block follows the genesis block, the files may begin in the middle of the chain: the
/// first block of the longest piece is believed, and the others are linked to it.
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
    // the order of records stays as it is: it is that of files and offsets
    let found = tree.into_found();
    index.tree = Tree::build_from(&options.params, Some(anchor), found, options.now);
    Ok(())
}

/// What a block says of its height.
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

/// Loads what the index file of an earlier run knows, and scans the other files.
fn known_or_found(
    files: &BlockFiles,
    finder: &mut impl FindBlocks,
    options: &Options,
    data: &Path,
    index: &mut Index,
    run: &mut Run,
) -> Result<Vec<Found>, Error> {
    std::fs::create_dir_all(data).map_err(Error::system("make", data))?;
    let path = data.join(INDEX);
    let stamps = stamps(files)?;
    let mut kept = index::Kept { found: vec![], to_scan: all(files) };
    match index::load(&path, options.params.magic).map_err(Error::Index)? {
        Loaded::Index(saved) => kept = index::take_over(saved, &stamps),
        Loaded::Corrupt(damage) => run.damage.push(damage.to_string()),
        Loaded::Foreign(found) => return Err(foreign(&options.params, found)),
        Loaded::Nothing => {}
    }
    let mut found = kept.found;
    if !kept.to_scan.is_empty() {
        found.extend(scan(files, &kept.to_scan, finder, options, index, run)?);
        save(&path, options, stamps, &found, index)?;
    }
    Ok(found)
}

/// Keeps what was found for the next run. Corrupt files are scanned again by each run, so that each
/// tells the damage.
fn save(
    path: &Path,
    options: &Options,
    mut stamps: Vec<FileStamp>,
    found: &[Found],
    index: &Index,
) -> Result<(), Error> {
    for (file, _) in &index.damage {
        if let Some(stamp) = stamps.get_mut(*file as usize) {
            stamp.length = index::DAMAGED_LENGTH;
        }
    }
    index::save(path, options.params.magic, &stamps, found).map_err(Error::Index)
}

/// Looks for blocks in the bytes that records have to spare, and links those that are found with
/// the others; true when there are any. What was marked in the tree is forgotten then.
pub(crate) fn look_behind_blocks(
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

/// The same, from the first block of the network on.
fn relink(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    index: &mut Index,
    run: &mut Run,
) -> Result<bool, Error> {
    let more = index.reveal(files, std::mem::take(&mut run.spare))?;
    if more.is_empty() {
        return Ok(false);
    }
    let mut found = index.take_found(&options.params, more);
    run.counts.blocks = found.len() as u64;
    if let Some(data) = data {
        // with the lengths of the records: the next run finds the blocks at once, and the damage
        index.set_sizes(&mut found, true);
        save(&data.join(INDEX), options, stamps(files)?, &found, index)?;
        index.set_sizes(&mut found, false);
    }
    index.tree = Tree::build(&options.params, found, options.now);
    Ok(true)
}

fn place(found: &Found) -> (u32, u64) {
    (found.file, found.offset)
}

/// The error for the index of another network.
fn foreign(params: &Params, found: [u8; 4]) -> Error {
    let stored = Params::all().into_iter().find(|params| params.magic == found);
    let unknown = || format!("the network with the magic {found:02x?}");
    let expected = stored.map_or_else(unknown, |stored| format!("Bitcoin {}", stored.name));
    Error::OtherChain { expected, found: format!("Bitcoin {}", params.name) }
}

/// The indexes of all files.
fn all(files: &BlockFiles) -> Vec<u32> {
    (0..files.files().len() as u32).collect()
}

fn stamps(files: &BlockFiles) -> Result<Vec<FileStamp>, Error> {
    let stamp = |file: &blockmill_archive::blkdat::BlockFile| {
        if blockmill_archive::is_pipe(file.path()) {
            return Ok(FileStamp::of_pipe(file.path(), file.length()));
        }
        let path = std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_path_buf());
        FileStamp::of(&path, file.key().0).map_err(Error::system("read", file.path()))
    };
    files.files().iter().map(stamp).collect()
}

/// Scans the files with these numbers.
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
        index.damage.extend(report.damage.iter().map(|damage| (*file, *damage)));
        index.unlisted += report.damage_count - report.damage.len() as u64;
    }
    let renumber = |found: Found| Found { file: numbers[found.file as usize], ..found };
    Ok(scan.found.into_iter().map(renumber).collect())
}

/// The first header that breaks a rule where the best chain would go on: because of it the chain is
/// shorter than the files. Bad headers in branches beside it are notes.
pub(crate) fn refused_above(tree: &Tree, files: &BlockFiles) -> Option<Fault> {
    let best = tree.height(tree.best_tip());
    tree.refused().iter().find_map(|refused| {
        let Why::Rule(height, violation) = refused.why else { return None };
        let found = tree.found().get(refused.record as usize).filter(|_| height > best)?;
        let file = files.files().get(found.file as usize)?.path().to_path_buf();
        let location = Some(Location::new(file, found.offset));
        let (block, hash) = (u64::from(tree.base() + height), Some(found.hash));
        Some(Fault { block, hash, location, cause: Cause::Header(violation) })
    })
}

/// Takes note of the best chain.
pub(crate) fn note_best(tree: &Tree, run: &mut Run) {
    let best = tree.best_tip();
    let height = tree.base() + tree.height(best);
    run.best = Some(Tip { height, hash: *tree.hash(best) });
    run.anchor = tree.anchor();
    run.tree_memory = tree.memory();
    run.stale = u64::from(tree.len()) - u64::from(tree.height(best)) - 1;
}

/// The last block of the best chain that is asked for; none where all have greater heights.
pub fn last_asked(tree: &Tree, options: &Options) -> Option<Tip> {
    let (base, best) = (tree.base(), tree.best_tip());
    let last = (tree.height(best) as usize).min(options.asked(base).checked_sub(1)?);
    let block = tree.ancestor(best, last as u32)?;
    Some(Tip { height: base + last as u32, hash: *tree.hash(block) })
}
