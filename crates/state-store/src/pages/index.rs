//! The branches and the references on disk: each checkpoint appends those that changed, and
//! goes on with a sweep over all of them, so that older files go. Layout: `docs/formats/pages.md`.
//!
//! # Why a sweep
//!
//! What changed is written at once, and as much again of what did not, in the order of tries and
//! keys, from where the checkpoint before it stopped. When the sweep has come to the end, its file
//! has everything: each reference was written by the sweep, or, where it is another one since, with
//! what changed. The file before it goes, and a new one begins. So a checkpoint writes twice what
//! changed, whatever the size of the state, and there are at most four times the bytes of all
//! references on disk.

mod merge;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::read;
pub(super) use write::write;

use blockmill_store::part::Fields;

const MAGIC: &[u8; 8] = b"BMPAGES3";
/// Bytes before what a section has: how many these are, and their sum.
const HEADER: usize = 12;
/// Comes after the last child of a branch, and where a trie is no more.
const END: u8 = 0;

/// The files with the references, as a manifest names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexFiles {
    /// The one that is appended to.
    pub current: IndexFile,
    /// The one before it, until that has everything.
    pub before: Option<IndexFile>,
    /// Where the sweep goes on: trie and key.
    pub next: (u32, [u8; 32]),
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexFile {
    pub number: u64,
    /// Bytes that count.
    pub bytes: u64,
}

impl IndexFiles {
    /// The numbers of these files.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + use<> {
        [Some(self.current), self.before].into_iter().flatten().map(|file| file.number)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let before = self.before.unwrap_or(IndexFile { number: 0, bytes: 0 });
        for IndexFile { number, bytes } in [self.current, before] {
            out.extend([number.to_le_bytes(), bytes.to_le_bytes()].concat());
        }
        out.extend(self.next.0.to_le_bytes());
        out.extend(self.next.1);
    }

    pub fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let mut file = || Some(IndexFile { number: fields.long()?, bytes: fields.long()? });
        let (current, before) = (file()?, file()?);
        let next = (fields.short()?, fields.array()?);
        Some(Self { current, before: Some(before).filter(|before| before.bytes > 0), next })
    }
}

/// Begins the sum of a section, which is also over where it is.
fn sum(file: u64, offset: u64) -> crc32fast::Hasher {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file.to_le_bytes());
    sum.update(&offset.to_le_bytes());
    sum
}
