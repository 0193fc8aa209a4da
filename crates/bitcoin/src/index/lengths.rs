//! Finds length fields of records that do not match their blocks, and because of which Bitcoin Core
//! loses blocks.
//!
//! The rules are those of `ChainstateManager::LoadExternalBlockFile` of Bitcoin Core
//! (`validation.cpp`) with `-reindex`:
//!
//! - A length below 80 or above 4,000,000 is no record: it searches for the next magic, and the
//!   block is lost.
//! - A length below that of the block ends reading within the block: the block is lost.
//! - A length that reaches beyond the end of the file ends reading of the file: the block and all
//!   blocks after it in the file are lost.
//! - A longer one within the file is skipped as a whole when the block waits for its parent or is
//!   known already: the blocks in the skipped bytes are lost. When the block comes in order, it is
//!   decoded and reading resumes after the block: nothing is lost.
//!
//! A block that another record of the files has, too, is not lost. `docs/formats/blkdat.md` has the
//! rule for users.

use super::pass1::Index;
use super::{GENESIS, Tree};
use crate::BlockHash;
use blockmill_archive::blkdat::{BlockFiles, CorruptionKind, FRAME, HEADER, MAX_BLOCK, Shape};
use blockmill_verdict::{FaultReport, counted};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;

/// Advice for such a file.
const HINT: &str = "every block is used here; `blockmill convert FILES --to blk --out FOLDER` \
                    writes block files with correct lengths";

/// A record with a length field because of which Bitcoin Core loses blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongLength {
    /// The file.
    pub file: PathBuf,
    /// Offset of the record, at its magic.
    pub offset: u64,
    /// Size of the block in bytes.
    pub block: u32,
    /// Value of the length field.
    pub stated: u32,
    /// Hash of the block.
    pub hash: BlockHash,
    /// Height of the block, if it is linked.
    pub height: Option<u32>,
    /// Number of blocks that `-reindex` of Bitcoin Core loses.
    pub lost: u64,
    /// Offset of the first of their records.
    pub first_lost: u64,
}

impl WrongLength {
    /// The message, without the location.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { block, stated, first_lost, .. } = self;
        let lost = counted(self.lost, "block");
        format!(
            "corrupt length field of a record: expected {block} bytes, the length of its block, \
             found {stated}; Bitcoin Core's -reindex loses {lost}, the first at byte {first_lost}"
        )
    }

    /// The fields of the report.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        FaultReport {
            message: self.to_string(),
            block: self.height.map(Into::into),
            hash: Some(self.hash.to_string()),
            file: Some(self.file.clone()),
            offset: Some(self.offset),
            rule: Some("record-length".into()),
            expected: Some(format!("a length of {} bytes", self.block)),
            found: Some(format!("{} bytes", self.stated)),
            hint: Some(HINT.into()),
        }
    }
}

impl fmt::Display for WrongLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.file.display(), self.offset, self.text())
    }
}

/// Wrong length fields in `files` because of which Bitcoin Core loses blocks, each with file and
/// offset of its record.
pub(crate) fn corrupt(files: &BlockFiles, index: &Index) -> Vec<((u32, u64), WrongLength)> {
    let tree = &index.tree;
    let wrong = wrong_lengths(files, index);
    if wrong.is_empty() {
        return vec![];
    }
    let whole = Reindex::simulate(files, tree, &HashMap::new());
    let reindex = Reindex::simulate(files, tree, &wrong);
    let is_lost = |record: u32| {
        let hash = &tree.found()[record as usize].hash;
        whole.known.contains(hash) && !reindex.known.contains(hash)
    };
    let mut lost_by: HashMap<u32, Vec<u32>> = HashMap::new();
    for (record, cause) in reindex.unread.iter().filter(|(record, _)| is_lost(*record)) {
        lost_by.entry(*cause).or_default().push(*record);
    }
    let mut heights = HashMap::new();
    for block in 0..tree.len() {
        let record = tree.record_number(block);
        if lost_by.contains_key(&record) {
            heights.insert(record, tree.base() + tree.height(block));
        }
    }
    let described = lost_by.iter().filter_map(|(record, lost)| {
        let found = tree.found().get(*record as usize)?;
        let offset = found.offset.saturating_sub(FRAME);
        let lost_hashes: HashSet<_> =
            lost.iter().map(|record| tree.found()[*record as usize].hash).collect();
        let first = lost.iter().min().and_then(|record| tree.found().get(*record as usize))?;
        let wrong = WrongLength {
            file: files.files().get(found.file as usize)?.path().to_path_buf(),
            offset,
            block: found.size,
            stated: *wrong.get(record)?,
            hash: found.hash,
            height: heights.get(record).copied(),
            lost: lost_hashes.len() as u64,
            first_lost: first.offset.saturating_sub(FRAME),
        };
        Some(((found.file, offset), wrong))
    });
    described.collect()
}

/// Records with a wrong length field, and its value.
fn wrong_lengths(files: &BlockFiles, index: &Index) -> HashMap<u32, u32> {
    let found = index.tree.found();
    let wrong = index.all_corruption().filter_map(|(file, corruption)| {
        let CorruptionKind::WrongSize { stated, .. } = corruption.kind else { return None };
        // files of hexadecimal digits have no length fields
        let shape = files.files().get(*file as usize)?.shape();
        let at = (*file, corruption.offset + FRAME);
        let record = found.binary_search_by_key(&at, |found| (found.file, found.offset)).ok()?;
        matches!(shape, Shape::Records { .. }).then_some((record as u32, stated))
    });
    wrong.collect()
}

/// Simulates which records `-reindex` of Bitcoin Core reads.
#[derive(Default)]
struct Reindex {
    /// Blocks that were read and linked to the first one.
    known: HashSet<BlockHash>,
    /// Records that were not read, and the record that is the cause.
    unread: Vec<(u32, u32)>,
    /// Records that wait for a parent, and whether they can be read.
    waiting: HashMap<BlockHash, Vec<(u32, bool)>>,
}

impl Reindex {
    /// Reads all records. `wrong` has the wrong length fields, by record.
    fn simulate(files: &BlockFiles, tree: &Tree, wrong: &HashMap<u32, u32>) -> Self {
        let mut reindex = Self::default();
        let first = *tree.hash(GENESIS);
        if tree.record(GENESIS).is_none() {
            // Core knows the genesis block, which files need not have
            reindex.known.insert(first);
        }
        let (mut file, mut length, mut next, mut cause) = (u32::MAX, 0, 0, 0);
        for (record, found) in (0..).zip(tree.found()) {
            if found.file != file {
                let block_file = files.files().get(found.file as usize);
                (file, next) = (found.file, 0);
                length = block_file.map_or(0, |file| file.length());
            }
            if found.offset < next + FRAME {
                reindex.unread.push((record, cause));
                continue;
            }
            let stated = wrong.get(&record).copied().unwrap_or(found.size);
            let end = found.offset + u64::from(stated);
            let is_read = stated >= found.size;
            if wrong.contains_key(&record) {
                cause = record;
            }
            if (stated as usize) < HEADER || stated > MAX_BLOCK {
                reindex.unread.push((record, record));
                next = found.offset;
            } else if wrong.contains_key(&record) && end > length {
                reindex.unread.push((record, record));
                next = u64::MAX - FRAME;
            } else if found.hash != first && !reindex.known.contains(&found.header().previous()) {
                let waiting = reindex.waiting.entry(found.header().previous()).or_default();
                waiting.push((record, is_read));
                next = end;
            } else if reindex.known.contains(&found.hash) {
                next = end;
            } else if is_read {
                next = found.offset + u64::from(found.size);
                reindex.read(tree, found.hash);
            } else {
                reindex.unread.push((record, record));
                next = end;
            }
        }
        reindex
    }

    /// Reads a block, and the records that wait for it.
    fn read(&mut self, tree: &Tree, block: BlockHash) {
        let mut queue = vec![block];
        while let Some(block) = queue.pop() {
            self.known.insert(block);
            for (record, is_read) in self.waiting.remove(&block).unwrap_or_default() {
                let hash = tree.found()[record as usize].hash;
                match is_read {
                    true if self.known.contains(&hash) => {}
                    true => queue.push(hash),
                    false => self.unread.push((record, record)),
                }
            }
        }
    }
}
