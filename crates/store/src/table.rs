//! Tables: values under keys of 1 to 255 bytes, found by key and by range.
//!
//! A log-structured merge tree: changes since the last commit are in memory; committed entries are
//! in a few immutable *sorted runs* on disk, each written sequentially and merged in the background
//! when there are many. Filters in memory answer for most absent keys. Pages that were read stay in
//! a cache with a budget, unless the values of a table are read only once, as unspent coins are.
//! Then all memory holds changes, and a key that is created and removed between two commits leaves
//! no entry.
//!
//! An entry says two things: whether the key is live from here on, and whether it may be live
//! *below*, in older runs. With both, any two entries that are adjacent in time can be combined
//! without reading others. If changes say exactly whether the key was live ([`Table::insert`],
//! [`Table::replace`], [`Table::take`]), the number of live keys is always exact; if they do not
//! ([`Table::put`], [`Table::delete`]), a change reads nothing. Bytes on disk:
//! `docs/formats/store.md`.

mod arena;
mod bloom;
mod buckets;
mod cache;
mod check;
mod cursor;
mod fetch;
mod key;
mod last;
mod memtable;
mod merge;
mod page;
mod part;
mod run;
mod run_index;
mod run_writer;
mod runs;
mod salt;
mod salvage;
mod scan;
mod sorted;
#[allow(clippy::module_inception, reason = "the table itself")]
mod table;

pub use cache::{Mixer, PageCache};
pub use check::TableSurvey;
pub(crate) use check::shared_lock;
pub use fetch::{Fetched, Hint};
pub use key::MAX_KEY_BYTES;
pub use run::{number_of, path_of};
pub use runs::{Runs, TableReader};
pub(crate) use salt::Salt;
pub use scan::Scan;
pub use table::{Table, TableOptions};

/// The longest value.
pub const MAX_VALUE_BYTES: usize = 1 << 24;

/// How pages of a table are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are, in blocks of 4 KiB.
    #[default]
    None,
    /// In LZ4, 16 KiB at a time, in units of 512 bytes.
    Lz4,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryKind {
    /// The key is live from here on; else the entry is a tombstone.
    live: bool,
    /// The key was, or may have been, live in older entries.
    below: bool,
}

impl EntryKind {
    const FRESH: EntryKind = EntryKind { live: true, below: false };
    const TOMBSTONE: EntryKind = EntryKind { live: false, below: true };

    /// The entry in two bits.
    fn bits(self) -> u8 {
        u8::from(self.live) | u8::from(self.below) << 1
    }

    /// Decodes two bits; `None` for an entry without meaning.
    fn from_bits(bits: u8) -> Option<EntryKind> {
        (1..=3).contains(&bits).then_some(EntryKind { live: bits & 1 != 0, below: bits & 2 != 0 })
    }
}

/// A key and its newest entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    key: &'a [u8],
    kind: EntryKind,
    value: &'a [u8],
}
