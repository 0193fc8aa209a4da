//! Finds shortfalls of block files, so that a part of a chain is not taken for the whole.
//!
//! A block without a parent proves that a block is missing. If no later block names the missing
//! one, as at the end of the chain, corrupt bytes are the only sign. So a corrupt range that could
//! be the rest of a record counts as a lost block, unless its header shows that another record has
//! the block, too. See `docs/formats/blkdat.md`.

use crate::BlockHash;
use crate::fault::{Cause, Fault};
use crate::header::HEADER_BYTES;
use crate::index::pass1::Index;
use crate::index::{Gap, RefusalReason, Tree, WrongLength, lengths};
use crate::options::Options;
use crate::run::Run;
use blockmill_archive::blkdat::{
    BlockFiles, BlockLocation, BodyReader, Corruption, CorruptionKind, FRAME, MIN_BLOCK,
    otherwise_obfuscated,
};
use blockmill_verdict::{Location, Shortfall, ShortfallKind};
use std::collections::HashMap;

/// Maximum number of listed shortfalls of a kind.
const MAX_LISTED: usize = 20;
/// Maximum number of listed refused headers.
const MAX_REFUSED: usize = 100;
/// Minimum size of a record: fewer bytes between records, or after a block, cannot contain a block.
const LEAST_RECORD: u64 = FRAME + MIN_BLOCK as u64;

/// Adds the shortfalls of `files` to `run`, and notes on corruption without loss of a block.
pub(crate) fn judge(files: &BlockFiles, options: &Options, index: &Index, run: &mut Run) {
    refused(files, &index.tree, run);
    let mut lacks = vec![];
    lacks.extend(beginning(files, options, index));
    lacks.extend(above_the_tip(options, index));
    lacks.extend(not_contained(options, index));
    lacks.extend(unconnected(files, index));
    lacks.extend(missing_files(files));
    lacks.extend(corrupt(files, index, options.until, run));
    let (unread, notes) = files.left_out().judge(reaches_until(options, index));
    lacks.extend(unread);
    run.notes.extend(notes);
    if reaches_until(options, index) {
        // all requested blocks are there
        run.notes.extend(lacks.iter().map(ToString::to_string));
    } else {
        run.shortfalls.append(&mut lacks);
    }
}

/// Notes refused headers in branches other than the best chain.
fn refused(files: &BlockFiles, tree: &Tree, run: &mut Run) {
    for refused in tree.refused().iter().take(MAX_REFUSED) {
        let Some(found) = tree.found().get(refused.record as usize) else { continue };
        let Some(file) = files.files().get(found.file as usize) else { continue };
        let (offset, id) = (found.offset, found.hash);
        run.notes.push(match refused.reason {
            // in the words of an error, so that the record does not have it twice
            RefusalReason::Rule(height, violation) => Fault {
                block: (tree.base() + height).into(),
                hash: Some(id),
                location: Some(Location::new(file.path(), offset)),
                cause: Cause::Header(violation),
            }
            .to_string(),
            RefusalReason::Ancestor(_) => {
                let file = file.path().display();
                format!("block {id}, {file} at byte {offset}: the block before it was refused")
            }
        });
    }
}

fn best_height(index: &Index) -> u32 {
    index.tree.base() + index.tree.height(index.tree.best_tip())
}

fn reaches_until(options: &Options, index: &Index) -> bool {
    options.until.is_some_and(|until| until <= best_height(index))
}

/// The files begin in the middle of the chain, without a request for that. A folder of Bitcoin
/// Core, or its first file, must begin with the genesis block.
fn beginning(files: &BlockFiles, options: &Options, index: &Index) -> Option<Shortfall> {
    let anchor = index.tree.anchor()?;
    let from_genesis = !files.folders().is_empty() || files.has_first();
    if options.by_itself && !from_genesis {
        return None;
    }
    let first = index.tree.found().get(anchor.record as usize)?;
    let file = files.files().get(first.file as usize)?;
    let id = anchor.hash;
    let text = format!("the blocks before {id}, from the genesis block on, are not in these files");
    let missing = Shortfall::new(ShortfallKind::MissingBlocks, text).at(file.path(), first.offset);
    Some(match anchor.height {
        Some(height) => missing.of_blocks(height.saturating_sub(1).into()),
        None => missing,
    })
}

/// The last requested block is missing.
fn above_the_tip(options: &Options, index: &Index) -> Option<Shortfall> {
    Shortfall::after_last(options.until.map(u64::from), best_height(index).into())
}

/// Blocks that the best chain must have, and has not.
fn not_contained(options: &Options, index: &Index) -> Vec<Shortfall> {
    let (tree, base) = (&index.tree, index.tree.base());
    let wanted = options.contains.iter();
    let wanted = wanted.filter(|tip| options.until.is_none_or(|until| tip.height <= until));
    wanted
        .filter_map(|tip| {
            let above_base = tip.height.checked_sub(base);
            let found = above_base.and_then(|height| tree.ancestor(tree.best_tip(), height));
            let found = match found.map(|block| tree.hash(block)) {
                Some(hash) if *hash == tip.hash => return None,
                Some(hash) => format!("block {hash} has its height"),
                None => format!("the last block has height {}", best_height(index)),
            };
            let (height, id) = (tip.height, tip.hash);
            let text =
                format!("the store's block {height} ({id}) is not in these files' chain: {found}");
            Some(Shortfall::new(ShortfallKind::MissingBlocks, text))
        })
        .collect()
}

/// Blocks after missing ones.
fn unconnected(files: &BlockFiles, index: &Index) -> Vec<Shortfall> {
    let gaps = index.tree.gaps();
    let mut all: Vec<_> =
        gaps.iter().take(MAX_LISTED).map(|gap| of_gap(files, index, gap)).collect();
    if let Some(more @ [_, ..]) = gaps.get(MAX_LISTED..) {
        let blocks = more.iter().map(|gap| u64::from(gap.records)).sum();
        let text = format!("{blocks} blocks after {} more gaps", more.len());
        all.push(Shortfall::new(ShortfallKind::Unconnected, text).of_blocks(blocks));
    }
    all
}

fn of_gap(files: &BlockFiles, index: &Index, gap: &Gap) -> Shortfall {
    let blocks = match gap.records {
        1 => "1 block follows".to_owned(),
        records => format!("{records} blocks follow"),
    };
    let missing = gap.missing;
    let text = format!("the block before this one, {missing}, is not in any file ({blocks})");
    let shortfall = Shortfall::new(ShortfallKind::Unconnected, text).of_blocks(gap.records.into());
    let first = index.tree.found().get(gap.first as usize);
    match first.and_then(|found| Some((files.files().get(found.file as usize)?, found.offset))) {
        Some((file, offset)) => shortfall.at(file.path(), offset),
        None => shortfall,
    }
}

/// Gaps in the numbers of the files of a folder.
pub(crate) fn missing_files(files: &BlockFiles) -> Vec<Shortfall> {
    let hole = |(folder, first, last): (&std::path::Path, u64, u64)| {
        let (name, folder) = (format!("blk{first:05}.dat"), folder.display());
        let text = match last - first {
            0 => format!("{name} is not in {folder}, the files before and after it are"),
            _ => format!(
                "{name} to blk{last:05}.dat are not in {folder}, the files before and after \
                 them are"
            ),
        };
        Shortfall::new(ShortfallKind::MissingBlocks, text)
    };
    files.holes().into_iter().take(MAX_LISTED).map(hole).collect()
}

/// A corrupt range of a file, and its consequence.
#[derive(Clone, Debug)]
pub struct CorruptRange {
    /// Index of the file in the list of files.
    pub file: u32,
    /// The range.
    pub corruption: Corruption,
    /// Its consequence.
    pub meaning: Meaning,
}

/// The consequence of a corrupt range.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A length field because of which Bitcoin Core loses blocks.
    Length(Box<WrongLength>),
    /// A block may be lost.
    Lack(ShortfallKind),
    /// No block is lost, or another record has this one, too.
    Nothing(Option<BlockHash>),
}

/// The corrupt ranges of `files` with their consequences, in order.
pub(crate) fn places(files: &BlockFiles, index: &Index) -> Vec<CorruptRange> {
    let mut corruption: Vec<_> = index.all_corruption().copied().collect();
    corruption.sort_by_key(|(file, corruption)| (*file, corruption.offset));
    let copies = copies(files, index, &corruption);
    let mut lengths: HashMap<_, _> = lengths::corrupt(files, index).into_iter().collect();
    let mut all = vec![];
    for (number, (file, corruption)) in corruption.into_iter().enumerate() {
        let meaning = match kind_of(&corruption) {
            None => match lengths.remove(&(file, corruption.offset)) {
                Some(wrong) => Meaning::Length(Box::new(wrong)),
                None => Meaning::Nothing(None),
            },
            Some(kind) => match copies.get(&number) {
                Some(id) => Meaning::Nothing(Some(*id)),
                None => Meaning::Lack(kind),
            },
        };
        all.push(CorruptRange { file, corruption, meaning });
    }
    all
}

/// Shortfalls by corrupt bytes that may have been blocks. Adds to `run` the length fields because
/// of which Bitcoin Core loses blocks up to height `until`, and notes on ranges without loss of a
/// block.
fn corrupt(files: &BlockFiles, index: &Index, until: Option<u32>, run: &mut Run) -> Vec<Shortfall> {
    let (mut all, mut more) = (vec![], index.unlisted);
    for CorruptRange { file, corruption, meaning } in places(files, index) {
        let Some(path) = files.files().get(file as usize).map(|file| file.path()) else {
            continue;
        };
        let place = format!("{}: byte {}", path.display(), corruption.offset);
        match meaning {
            Meaning::Length(wrong) if until.is_none() || wrong.height <= until => {
                run.wrong_lengths.push(*wrong);
            }
            Meaning::Length(_) | Meaning::Nothing(None) => {
                run.notes.push(format!("{place}: {corruption}"));
            }
            Meaning::Nothing(Some(id)) => {
                run.notes
                    .push(format!("{place}: {corruption}; another record has block {id}, too"));
            }
            Meaning::Lack(_) if all.len() == MAX_LISTED => more += 1,
            Meaning::Lack(kind) => {
                let text = format!("{corruption}{}", otherwise(files, file, &corruption));
                all.push(Shortfall::new(kind, text).at(path, corruption.offset));
            }
        }
    }
    if more > 0 {
        let text = format!("and {more} more corrupt places");
        all.push(Shortfall::new(ShortfallKind::CorruptRecord, text));
    }
    all
}

/// A hint, if the bytes are blocks with another obfuscation.
fn otherwise(files: &BlockFiles, file: u32, corruption: &Corruption) -> String {
    let file = files.files().get(file as usize).filter(|_| corruption.length >= LEAST_RECORD);
    // a file that cannot be read is reported when blocks are read
    let found = file.and_then(|file| otherwise_obfuscated(file, corruption.offset).ok().flatten());
    found.map_or(String::new(), |blocks| format!(": {blocks}, unlike the rest of the file"))
}

/// The kind of loss. `None` if no block can be lost.
fn kind_of(corruption: &Corruption) -> Option<ShortfallKind> {
    match corruption.kind {
        CorruptionKind::WrongSize { .. } => None,
        CorruptionKind::Truncated { .. } => Some(ShortfallKind::Cut),
        CorruptionKind::BadLine => Some(ShortfallKind::CorruptRecord),
        // bytes of at least the smallest record may be the rest of a block
        CorruptionKind::Broken { .. } | CorruptionKind::Junk(_) | CorruptionKind::Zeros => {
            (corruption.length >= LEAST_RECORD).then_some(ShortfallKind::CorruptRecord)
        }
    }
}

/// Corrupt records with the header of a linked block, by their indices in the list.
fn copies(
    files: &BlockFiles,
    index: &Index,
    places: &[(u32, Corruption)],
) -> HashMap<usize, BlockHash> {
    let mut reader = BodyReader::new(files, 4);
    let mut headers = HashMap::new();
    for (number, (file, corruption)) in places.iter().enumerate() {
        let doubted = kind_of(corruption).is_some() && is_one_record(corruption);
        if let Some(hash) = doubted.then(|| header_of(&mut reader, *file, corruption)).flatten() {
            headers.entry(hash).or_insert_with(Vec::new).push(number);
        }
    }
    if headers.is_empty() {
        return HashMap::new();
    }
    let linked = (0..index.tree.len()).map(|block| *index.tree.hash(block));
    let known = linked.filter_map(|hash| Some((hash, headers.remove(&hash)?)));
    known
        .flat_map(|(hash, numbers)| numbers.into_iter().map(move |number| (number, hash)))
        .collect()
}

/// Returns whether the range is not longer than the record at its start. More could hide a block.
fn is_one_record(corruption: &Corruption) -> bool {
    match corruption.kind {
        CorruptionKind::Truncated { .. } => true,
        CorruptionKind::Broken { stated } => corruption.length <= FRAME + u64::from(stated),
        _ => false,
    }
}

fn header_of(reader: &mut BodyReader, file: u32, corruption: &Corruption) -> Option<BlockHash> {
    let location =
        BlockLocation { file, offset: corruption.offset + FRAME, size: HEADER_BYTES as u32 };
    let mut header = vec![];
    let whole = corruption.length >= FRAME + HEADER_BYTES as u64;
    whole.then(|| reader.read(location, &mut header).ok()).flatten()?;
    Some(BlockHash(blockmill_hashes::sha256d(&header)))
}
