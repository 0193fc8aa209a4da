//! Small values under 36-byte keys, each read once and then removed: a store for unspent coins.
//!
//! A value that is read once has no use for a read cache. So all the memory goes to the *changes
//! since the last flush*, in which what is made and removed again leaves nothing behind, and to
//! filters that answer for absent keys. What survives lies in a few immutable *runs* on disk, each
//! sorted by key and written in one go; runs are merged in the background as they become many.
//!
//! An entry says two things: whether the key is live from here on, and whether it was live *below*,
//! in older runs. With both, any two neighbours in time can be combined without looking further,
//! and the number of live keys is known exactly at all times. Bytes on disk:
//! `docs/formats/points.md`.

mod arena;
mod bloom;
mod check;
mod commit;
mod crash;
mod cursor;
mod iter;
mod manifest;
mod memtable;
mod merge;
mod page;
mod run;
mod run_writer;
mod runs;
mod salt;
mod segment;
mod store;

pub use check::PointSurvey;
pub use crash::PointCrash;
pub use iter::Points;
pub use runs::{Fetched, Hint, PointReader, Runs};
pub use store::{PointOptions, PointStore};

use std::cmp::Ordering;

/// Bytes of a key.
pub const KEY_BYTES: usize = 36;
/// The longest value.
pub const MAX_POINT_BYTES: usize = (1 << 14) - 1;

/// A key: an id of 32 bytes, then a number of four bytes in little endian.
pub type Key = [u8; KEY_BYTES];

/// What an entry says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The key is live from here on; else the entry is a tombstone.
    live: bool,
    /// The key was live in what is older than this entry.
    below: bool,
}

impl Kind {
    const FRESH: Kind = Kind { live: true, below: false };
    const TOMBSTONE: Kind = Kind { live: false, below: true };

    /// The entry in two bits.
    fn bits(self) -> u8 {
        u8::from(self.live) | u8::from(self.below) << 1
    }

    /// The kind of these two bits, unless the entry says nothing.
    fn from_bits(bits: u8) -> Option<Kind> {
        (1..=3).contains(&bits).then_some(Kind { live: bits & 1 != 0, below: bits & 2 != 0 })
    }
}

/// A key and what its newest change says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    key: &'a Key,
    kind: Kind,
    value: &'a [u8],
}

/// The order of keys: the id's bytes, then the number.
pub(crate) fn order(a: &Key, b: &Key) -> Ordering {
    let by_id = a[..32].cmp(&b[..32]);
    by_id.then_with(|| number(a).cmp(&number(b)))
}

/// The number at a key's end.
pub(crate) fn number(key: &Key) -> u32 {
    key.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The first eight bytes of a key as a number: what is compared first.
pub(crate) fn prefix(key: &Key) -> u64 {
    key.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
