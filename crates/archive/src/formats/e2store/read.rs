//! Reads files of consecutive blocks in order: runs of whole blocks on one thread, which any other
//! thread unpacks. What a block file is, its format defines.

use blockmill_verdict::Location;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::RecordFile;
use crate::chunk::PackedBlocks;
use crate::error::expect_next;
use crate::row::ReadBlocks;
use crate::{ChunkLimit, Error, Want, input};

/// An open file of consecutive blocks, of which the index was read and checked.
pub(crate) trait BlockFile: fmt::Debug + Send + Sized + 'static {
    /// The blocks of a chunk as they are in the file.
    type Packed: PackedBlocks + Default;

    /// Opens `path` and reads its index.
    fn open(path: &Path) -> Result<Self, Error>;
    /// The file.
    fn file(&self) -> &RecordFile;
    /// Number of the first block.
    fn first(&self) -> u64;
    /// Number of blocks.
    fn blocks(&self) -> usize;
    /// Offset of the first record of the first block.
    fn beginning(&self) -> u64;
    /// Bytes of some blocks, of which the parts in `want` are read. Not all blocks are in range.
    fn bytes(&self, blocks: Range<usize>, want: Want) -> u64;
    /// Reads some blocks.
    fn fill(&self, blocks: Range<usize>, want: Want, into: &mut Self::Packed) -> Result<(), Error>;
}

/// A reader of the blocks of files in a range of numbers.
#[derive(Debug)]
pub(crate) struct Reader<F> {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Current<F>>,
    want: Want,
    range: RangeInclusive<u64>,
    /// Number of the first block of the next file, and the file before it.
    follows: Option<(u64, Arc<Path>)>,
    /// Number of skipped files, equal to the files before them, and the last of them.
    skipped: Option<(usize, PathBuf)>,
}

/// The open file and the blocks that remain to be read.
#[derive(Debug)]
struct Current<F> {
    file: F,
    next: usize,
    end: usize,
}

impl<F: BlockFile> Reader<F> {
    /// Reads `files`, which are in the order of their blocks.
    pub fn new(files: Vec<PathBuf>, want: Want, range: RangeInclusive<u64>) -> Self {
        let files = files.into_iter();
        Self { files, current: None, want, range, follows: None, skipped: None }
    }

    /// Reads the next chunk, which never spans two files. False at the end.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut F::Packed) -> Result<bool, Error> {
        while self.current.as_ref().is_none_or(|current| current.next == current.end) {
            let Some(path) = self.files.next() else {
                return Ok(false);
            };
            self.open(&path)?;
        }
        if let Some(current) = &mut self.current {
            let to = current.chunk_end(limit, self.want);
            let filled = current.file.fill(current.next..to, self.want, into);
            filled.map_err(|error| error.unpacked_if(current.file.file().compression))?;
            current.next = to;
        }
        Ok(true)
    }

    /// Opens the next file and finds which of its blocks are in range.
    fn open(&mut self, path: &Path) -> Result<(), Error> {
        let file = F::open(path)?;
        let (first, after) = (file.first(), file.first() + file.blocks() as u64);
        let from = (*self.range.start()).clamp(first, after);
        let to = self.range.end().saturating_add(1).clamp(from, after);
        if from < to && self.is_again(path, after)? {
            return Ok(());
        }
        if from < to {
            if let Some((expected, before)) = self.follows.take() {
                let location = Location::new(path, file.beginning());
                expect_next(expected, &before, first, location)
                    .map_err(|gap| gap.unpacked_if(file.file().compression))?;
            }
            self.follows = Some((after, file.file().path.clone()));
        }
        let (next, end) = ((from - first) as usize, (to - first) as usize);
        self.current = Some(Current { file, next, end });
        Ok(())
    }

    /// Whether a file, which ends before block `after`, repeats the file before it.
    fn is_again(&mut self, path: &Path, after: u64) -> Result<bool, Error> {
        let before = self.follows.as_ref().filter(|(expected, _)| *expected == after);
        let Some((_, before)) = before else { return Ok(false) };
        let is_again = input::is_same(before, path)?;
        if is_again {
            let count = self.skipped.as_ref().map_or(0, |(count, _)| *count);
            self.skipped = Some((count + 1, path.to_path_buf()));
            self.current = None;
        }
        Ok(is_again)
    }
}

impl<F: BlockFile> Current<F> {
    /// The block after the last one of a chunk that begins at `next`.
    fn chunk_end(&self, limit: ChunkLimit, want: Want) -> usize {
        let most = self.end.min(self.next.saturating_add(limit.blocks));
        let is_full = |i: &usize| self.file.bytes(self.next..*i, want) >= limit.bytes as u64;
        (self.next + 1..most).find(is_full).unwrap_or(most)
    }
}

impl<F: BlockFile> ReadBlocks for Reader<F> {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|packed| self.read(limit, packed))
    }

    fn note(&self) -> Option<String> {
        let (count, path) = self.skipped.as_ref()?;
        let files = if *count == 1 { "1 file".into() } else { format!("{count} files") };
        let path = path.display();
        Some(format!("{files} came again and were skipped, equal to those before: {path} is one"))
    }
}
