//! Compaction: moves the live cells of files with many dead bytes to the buffer, and their live
//! branches to memory, so that the files can be removed. The next checkpoint writes the cells
//! again.

use blockmill_trie::nibbles::nibble;

use super::{
    Pages,
    branches::{Below, Child, Parent},
    cell::{self, Place, Record},
    files::FileFacts,
    read::Found,
};
use blockmill_store::Result;

impl Pages {
    /// Empties files, those with the least live bytes first, until the disk will have no more dead
    /// bytes than it may when the buffer is written.
    pub(super) fn compact(&mut self) -> Result<()> {
        loop {
            let (bytes, live) = self.files.bytes();
            let buffered = self.buffer.bytes as u64;
            if (bytes + buffered) as f64 <= self.disk_factor * (live + buffered) as f64 {
                return Ok(());
            }
            let files = self.files.facts().filter(|file| !self.files.is_current(file.slot));
            let share = |file: &FileFacts| file.live * (1 << 20) / u64::from(file.pages.max(1));
            // the current file is the one that is left where all is dead
            let Some(file) = files.min_by_key(share) else { return Ok(()) };
            self.empty(&file)?;
        }
    }

    /// Moves the live cells of a file to the buffer, and removes the file.
    fn empty(&mut self, file: &FileFacts) -> Result<()> {
        let mut index = 0;
        while file.live > 0 && index < file.pages {
            let page = file.slot * self.files.file_pages + index;
            let (records, units) = self.files.scan(page)?;
            for record in cell::records(&records, self.files.offset_unit_bytes()) {
                let Some(head) = Record::new(record) else { continue };
                let place = Place { trie: head.trie, key: head.prefix, depth: head.depth };
                let here = if head.is_branch { Below::Evicted(page) } else { Below::Page(page) };
                let found = self.locate(&place)?.filter(|child| child.below() == here);
                let Some(child) = found else { continue };
                let by = if head.is_branch {
                    self.load(&place, child)?
                } else {
                    self.files.release(page, child.bytes());
                    child.in_buffer(self.buffer.put(record.into())?)
                };
                self.replace(&place, by)?;
                self.compacted += record.len() as u64;
            }
            index += units;
        }
        self.files.end_file(file.slot);
        Ok(())
    }

    /// The child at a place in a trie.
    fn locate(&self, place: &Place) -> Result<Option<Child>> {
        let Some(top) = self.tries.get(place.trie as usize).and_then(|trie| trie.top) else {
            return Ok(None);
        };
        let mut found = Found { place: Place { depth: 0, ..*place }, child: top };
        while found.place.depth < place.depth {
            let depth = found.place.depth;
            let Some(branch) = self.branch(&found)? else { return Ok(None) };
            let parting = depth + branch.path.len();
            let mut path = (depth..).zip(&branch.path);
            if parting >= place.depth || path.any(|(at, half)| nibble(&place.key, at) != *half) {
                return Ok(None);
            }
            let Some(child) = branch.get(nibble(&place.key, parting)) else { return Ok(None) };
            found = Found { place: Place { depth: parting + 1, ..*place }, child: *child };
        }
        Ok((found.place.depth == place.depth).then_some(found.child))
    }

    /// Puts a child where one was located, which changes those above it: they are in memory then.
    fn replace(&mut self, place: &Place, by: Child) -> Result<()> {
        let (mut parent, mut depth) = (Parent::Trie(place.trie), 0);
        while let Some(here) = self.child_mut(parent).copied() {
            let mut other = by;
            if depth < place.depth {
                other = self.load(&Place { depth, ..*place }, here)?;
                other.touch();
            }
            if let Some(here) = self.child_mut(parent) {
                *here = other;
            }
            let Below::Branch(at) = other.below() else { return Ok(()) };
            if depth >= place.depth {
                return Ok(());
            }
            let parting = depth + self.arena.get(at).path.len();
            parent = Parent::Branch(at, nibble(&place.key, parting));
            depth = parting + 1;
        }
        Ok(())
    }
}
