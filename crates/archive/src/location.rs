//! Parts of blocks, and their locations on disk.

use std::path::Path;
use std::sync::Arc;

use blockmill_verdict::Location;
use serde::Serialize;

/// A part of a block in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Part {
    /// The header's RLP.
    Header,
    /// The body's RLP.
    Body,
    /// The list of receipts.
    Receipts,
    /// The total difficulty after the block.
    TotalDifficulty,
    /// The block's access list.
    AccessList,
}

/// The locations of all items of one part of a chunk, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    /// Each file with the index of the first item that comes from it.
    files: Vec<(u32, Arc<Path>)>,
    offsets: Vec<u64>,
}

impl Track {
    pub fn clear(&mut self) {
        self.files.clear();
        self.offsets.clear();
    }

    /// Appends the location of the next item.
    #[inline]
    pub fn push(&mut self, file: &Arc<Path>, offset: u64) {
        if !self.files.last().is_some_and(|(_, last)| Arc::ptr_eq(last, file)) {
            self.files.push((self.offsets.len() as u32, file.clone()));
        }
        self.offsets.push(offset);
    }

    /// The location of item `i`; `None` if it is unknown.
    pub fn get(&self, i: usize) -> Option<Location> {
        let offset = *self.offsets.get(i)?;
        let file = self.files.iter().rev().find(|(first, _)| *first as usize <= i)?;
        Some(Location::new(&*file.1, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_names_the_file_of_each_item() {
        let (a, b): (Arc<Path>, Arc<Path>) = (Path::new("a").into(), Path::new("b").into());
        let mut track = Track::default();
        track.push(&a, 8);
        track.push(&a, 90);
        track.push(&b, 0);
        assert_eq!(track.get(1), Some(Location::new("a", 90)));
        assert_eq!(track.get(2), Some(Location::new("b", 0)));
        assert_eq!(track.get(3), None);
    }
}
