//! A run: entries sorted by key in one file that never changes.
//!
//! In memory are the first eight bytes of each page's first key, the page's place, and a filter.
//! Layout: `docs/formats/points.md`.

use std::{
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::{
    Key, Kind,
    bloom::{BLOCK_BYTES, Bloom},
    order,
    page::{self, BLOCK, HEADER, Malformed},
    prefix,
};
use crate::error::{Error, Result, io_error, missing_or};

/// Bytes of a page in the index: the prefix of its first key, its first block.
pub(crate) const INDEX_ENTRY: usize = 12;

/// What the manifest says of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunFacts {
    /// Names the file; never given twice.
    pub number: u64,
    /// Entries, tombstones included.
    pub entries: u64,
    /// Entries that make their key live.
    pub live: u64,
    /// Entries whose key is live in older runs.
    pub below: u64,
    /// Blocks of 4 KiB with entries.
    pub blocks: u64,
    /// Pages: what the index lists.
    pub pages: u64,
    /// Blocks of the filter.
    pub filter_blocks: u64,
    /// CRC-32 of index and filter.
    pub sum: u32,
}

impl RunFacts {
    /// Bytes of the file; `None` when no file is that long.
    fn file_bytes(&self) -> Option<u64> {
        let entries = self.blocks.checked_mul(BLOCK as u64)?;
        let index = self.pages.checked_mul(INDEX_ENTRY as u64)?;
        let filter = self.filter_blocks.checked_mul(BLOCK_BYTES as u64)?;
        entries.checked_add(index)?.checked_add(filter)
    }
}

/// The file of run `number` in `dir`.
pub(crate) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("run.{number:06}"))
}

/// The number of the run whose file has this name; `None` for any other name.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix("run.")?.parse().ok()?;
    (path_of(Path::new(""), number).to_str() == Some(name)).then_some(number)
}

/// A run; see the module text.
pub(crate) struct Run {
    pub path: PathBuf,
    pub file: File,
    pub facts: RunFacts,
    pub prefixes: Vec<u64>,
    /// First block of each page, and one past the last block.
    pub starts: Vec<u32>,
    pub filter: Bloom,
}

impl Run {
    /// Opens the run that `facts` describe and reads its index and filter.
    pub fn open(dir: &Path, facts: RunFacts) -> Result<Run> {
        let path = path_of(dir, facts.number);
        let file = File::open(&path).map_err(|source| missing_or(source, &path))?;
        let found = file.metadata().map_err(io_error("read", &path))?.len();
        let damaged = |offset: u64, what: &'static str, expected: String, found: String| {
            Error::Damaged { path: path.clone(), offset, what, expected, found }
        };
        if facts.file_bytes() != Some(found) {
            let expected = format!("{:?} bytes", facts.file_bytes().unwrap_or(u64::MAX));
            return Err(damaged(found, "file length", expected, format!("{found} bytes")));
        }
        let start = facts.blocks * BLOCK as u64;
        let mut bytes = vec![0; (found - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io_error("read", &path))?;
        let sum = crc32fast::hash(&bytes);
        if sum != facts.sum {
            let (expected, found) = (format!("CRC-32 {:08x}", facts.sum), format!("{sum:08x}"));
            return Err(damaged(start, "index of a run", expected, found));
        }
        let (index, filter) = bytes.split_at(facts.pages as usize * INDEX_ENTRY);
        let (mut prefixes, mut starts) = (Vec::new(), Vec::new());
        prefixes.reserve_exact(facts.pages as usize);
        starts.reserve_exact(facts.pages as usize + 1);
        for entry in index.chunks_exact(INDEX_ENTRY) {
            let (prefix, start) = entry.split_at(8);
            prefixes.push(prefix.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
            starts.push(start.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
        }
        starts.push(facts.blocks as u32);
        if starts.first() != Some(&0) || !starts.is_sorted_by(|a, b| a < b) || filter.is_empty() {
            let expected = "pages one after the other".into();
            return Err(damaged(start, "index of a run", expected, "another order".into()));
        }
        let filter = Bloom::from_bytes(filter);
        Ok(Run { path, file, facts, prefixes, starts, filter })
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.prefixes.capacity() * 8 + self.starts.capacity() * 4 + self.filter.memory()
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.facts.file_bytes().unwrap_or(u64::MAX)
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.prefixes.len()
    }

    /// Bytes of a range of pages.
    pub fn bytes_of(&self, pages: Range<usize>) -> usize {
        (self.starts[pages.end] - self.starts[pages.start]) as usize * BLOCK
    }

    /// Reads a range of pages into `out`, unchecked.
    pub fn read_pages(&self, pages: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let offset = u64::from(self.starts[pages.start]) * BLOCK as u64;
        out.resize(self.bytes_of(pages), 0);
        self.file.read_exact_at(out, offset).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Damaged {
                path: self.path.clone(),
                offset,
                what: "page of a run",
                expected: format!("{} bytes", out.len()),
                found: "the end of the file".into(),
            },
            _ => Error::Io { action: "read", path: self.path.clone(), source },
        })
    }

    /// Checks page `number` and returns where its entries end.
    pub fn check(&self, number: usize, page: &[u8]) -> Result<usize> {
        let block = self.starts[number];
        page::check(page, self.facts.number, block).map_err(|(expected, found)| Error::Damaged {
            path: self.path.clone(),
            offset: u64::from(block) * BLOCK as u64,
            what: "page of a run",
            expected: format!("CRC-32 {expected:08x}"),
            found: format!("{found:08x}"),
        })
    }

    /// The error for a page that holds no entry at `at`.
    pub fn malformed(&self, number: usize, at: usize) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            offset: u64::from(self.starts[number]) * BLOCK as u64 + at as u64,
            what: "entry of a run",
            expected: "key, kind and value".into(),
            found: "other bytes".into(),
        }
    }

    /// The entry of `key`: its kind, and where in `page` its value is.
    pub fn find(&self, key: &Key, page: &mut Vec<u8>) -> Result<Option<(Kind, Range<usize>)>> {
        let wanted = prefix(key);
        let last = first_above(&self.prefixes, wanted);
        let Some(mut last) = last.checked_sub(1) else { return Ok(None) };
        // pages that begin with the same prefix: one id with many numbers
        let same = self.prefixes[..last].iter().rev().take_while(|p| **p == wanted).count();
        let mut first = match self.prefixes[last] == wanted {
            true => (last - same).saturating_sub(1),
            false => last,
        };
        while first < last {
            let middle = (first + last).div_ceil(2);
            let end = self.load(middle, page)?;
            let (mut at, mut found) = (HEADER, [0; 36]);
            page::step(&page[..end], &mut at, &mut found)
                .map_err(|Malformed| self.malformed(middle, at))?;
            if order(&found, key).is_gt() { last = middle - 1 } else { first = middle }
        }
        self.find_in(first, key, page)
    }

    fn load(&self, number: usize, page: &mut Vec<u8>) -> Result<usize> {
        self.read_pages(number..number + 1, page)?;
        self.check(number, page)
    }

    fn find_in(
        &self,
        number: usize,
        key: &Key,
        page: &mut Vec<u8>,
    ) -> Result<Option<(Kind, Range<usize>)>> {
        let end = self.load(number, page)?;
        let (mut at, mut found) = (HEADER, [0; 36]);
        while at < end {
            let (kind, value) = page::step(&page[..end], &mut at, &mut found)
                .map_err(|Malformed| self.malformed(number, at))?;
            if found == *key {
                return Ok(Some((kind, value)));
            }
            if order(&found, key).is_gt() {
                break;
            }
        }
        Ok(None)
    }
}

/// How many of the sorted numbers are not above `wanted`. Evenly spread numbers are found where
/// they should be, others by bisection.
fn first_above(sorted: &[u64], wanted: u64) -> usize {
    let guess = ((u128::from(wanted) * sorted.len() as u128) >> 64) as usize;
    let mut width = 32;
    loop {
        let low = guess.saturating_sub(width);
        let high = (guess + width).min(sorted.len());
        let low_holds = low == 0 || sorted[low - 1] <= wanted;
        let high_holds = high == sorted.len() || sorted[high] > wanted;
        if low_holds && high_holds {
            return low + sorted[low..high].partition_point(|prefix| *prefix <= wanted);
        }
        width *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_are_given_name_a_run() {
        for number in [0, 7, 999_999, 1_000_000] {
            assert_eq!(number_of(&path_of(Path::new("a/b"), number)), Some(number));
        }
        for name in ["run.7", "run.txt", "run.+00007", "run.0000007", "run.", "rerun.000007"] {
            assert_eq!(number_of(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn a_prefix_is_found_among_even_and_uneven_ones() {
        let even: Vec<u64> = (0..5000u64).map(|n| n << 51 | n).collect();
        let uneven: Vec<u64> = (0..5000u64).map(|n| n / 7 * 3).collect();
        for sorted in [&even, &uneven, &vec![], &vec![u64::MAX], &vec![5; 400]] {
            let near = sorted.iter().flat_map(|p| [p.wrapping_sub(1), *p, p.wrapping_add(1)]);
            for wanted in near.chain([0, u64::MAX]) {
                let expected = sorted.iter().filter(|p| **p <= wanted).count();
                assert_eq!(first_above(sorted, wanted), expected);
            }
        }
    }
}
