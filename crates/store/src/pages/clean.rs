//! Emptying files: the cells of those with many dead bytes are taken into the buffer, and written
//! again with what changed.

use trie::nibbles::nibble;

use super::{
    Pages,
    cell::{self, Place, Record},
    files::FileFacts,
    upper::{Below, Child},
};
use crate::error::Result;

impl Pages {
    /// Empties files, those with the least live bytes first, until the disk will have no more dead
    /// bytes than it may when the buffer is written.
    pub(super) fn clean(&mut self) -> Result<()> {
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

    /// Takes the cells of a file that count into the buffer, and the file out.
    fn empty(&mut self, file: &FileFacts) -> Result<()> {
        let mut index = 0;
        while file.live > 0 && index < file.pages {
            let page = file.slot * self.files.file_pages + index;
            let (records, units) = self.files.scan(page)?;
            for record in cell::records(&records, self.files.spot_bytes()) {
                let Some(head) = Record::new(record) else { continue };
                let place = Place { trie: head.trie, key: head.prefix, depth: head.depth };
                let is_here = |child: &Child| child.below() == Below::Page(page);
                let Some(child) = self.locate(&place).filter(is_here) else { continue };
                let bytes = child.bytes();
                let at = self.buffer.put(record.into())?;
                self.replace(&place, child.in_buffer(at));
                self.files.dies(page, bytes);
                self.cleaned += record.len() as u64;
            }
            index += units;
        }
        self.files.end_file(file.slot);
        Ok(())
    }

    /// What is at a place in a trie.
    fn locate(&self, place: &Place) -> Option<Child> {
        let mut child = self.tries.get(place.trie as usize)?.top?;
        let mut depth = 0;
        while depth < place.depth {
            let Below::Branch(at) = child.below() else { return None };
            let branch = self.arena.get(at);
            let parting = depth + branch.path.len();
            let mut path = (depth..).zip(&branch.path);
            if parting >= place.depth || path.any(|(at, half)| nibble(&place.key, at) != *half) {
                return None;
            }
            child = *branch.get(nibble(&place.key, parting))?;
            depth = parting + 1;
        }
        (depth == place.depth).then_some(child)
    }

    /// Puts a child where one was located, which changes those above it.
    fn replace(&mut self, place: &Place, by: Child) {
        let Self { tries, arena, .. } = self;
        let Some(top) = tries.get_mut(place.trie as usize) else { return };
        let (mut child, mut depth) = (top.top.as_mut(), 0);
        while let Some(here) = child {
            if depth == place.depth {
                *here = by;
                return;
            }
            here.touch();
            let Below::Branch(at) = here.below() else { return };
            let parting = depth + arena.get(at).path.len();
            child = arena.get_mut(at).get_mut(nibble(&place.key, parting));
            depth = parting + 1;
        }
    }
}
