//! The branches and the references on disk: each checkpoint appends the changed ones, and continues
//! a sweep over all of them, so that older files can be removed. Layout: `docs/formats/pages.md`.
//!
//! # Why a sweep
//!
//! A checkpoint writes the changed references, and as many unchanged ones, in the order of tries
//! and keys, from where the checkpoint before it stopped. When the sweep reaches the end, its file
//! is complete: each reference was written by the sweep or, if it changed since, with the changes.
//! Then the file before it is removed, and a new one starts. So a checkpoint writes twice the
//! changed references, whatever the size of the state, and the files take at most four times the
//! bytes of all references.

mod merge;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::read;
pub(super) use write::write;

use blockmill_store::part::Fields;

const MAGIC: &[u8; 8] = b"BMPAGES3";
/// Header of a section: its length and its checksum.
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
    /// Where the sweep continues: trie and key.
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

/// Starts the checksum of a section, which covers its position as well.
fn sum(file: u64, offset: u64) -> crc32fast::Hasher {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file.to_le_bytes());
    sum.update(&offset.to_le_bytes());
    sum
}
