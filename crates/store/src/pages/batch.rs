//! Reading many values: all cells are found first, then their pages are read together.

use std::{collections::HashMap, sync::Arc};

use super::{
    Pages,
    ahead::Wanted,
    key::{Change, StateKey},
    read::{Found, Part, value_in},
    upper::Below,
};
use crate::error::Result;

/// Pages that are read together: more need more memory and bring nothing.
const TOGETHER: usize = 1024;
/// Pages that an update holds besides the cache.
const HELD: usize = 1 << 14;

/// Pages that an update will need.
#[derive(Debug)]
pub struct HeldPages(pub(super) Held);

/// Pages that are at hand besides the cache.
pub(super) type Held = HashMap<u32, Arc<[u8]>>;

impl Pages {
    /// Reads the values of keys in any order and calls `each` with the place of a key among `keys`
    /// and its value, in any order.
    ///
    /// # Errors
    /// Those of [`Pages::get`].
    pub fn get_many(
        &self,
        keys: &[StateKey],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.check_whole()?;
        let mut in_pages: Vec<(u32, usize, Found, Part)> = vec![];
        let mut out = vec![];
        for (at, key) in keys.iter().enumerate() {
            let Some((found, part)) = self.find(key) else {
                each(at, None);
                continue;
            };
            match found.child.below() {
                Below::Page(page) => in_pages.push((page, at, found, part)),
                _ => {
                    out.clear();
                    let is_there = value_in(&self.peek(&found)?, key, part, &mut out);
                    each(at, is_there.then_some(&out[..]));
                }
            }
        }
        in_pages.sort_unstable_by_key(|(page, at, ..)| (*page, *at));
        let mut rest = &in_pages[..];
        while !rest.is_empty() {
            let mut held = Held::new();
            let pages = rest.chunk_by(|a, b| a.0 == b.0).take(TOGETHER);
            let count = pages.map(<[_]>::len).sum();
            let (now, later) = rest.split_at(count);
            rest = later;
            let wanted = now.iter().map(|(page, _, found, _)| (*page, found.child.bytes()));
            self.bring(wanted, &mut held)?;
            for (page, at, found, part) in now {
                let record = match held.get(page) {
                    Some(bytes) => self.files.record_in(&found.place, *page, bytes)?,
                    None => self.peek(found)?,
                };
                out.clear();
                let is_there = value_in(&record, &keys[*at], *part, &mut out);
                each(*at, is_there.then_some(&out[..]));
            }
        }
        Ok(())
    }

    /// Reads pages, each with the bytes of a record in it, that are not in the cache. Those of one
    /// page come one after the other.
    fn bring(&self, pages: impl Iterator<Item = (u32, u64)>, held: &mut Held) -> Result<()> {
        let (mut numbers, mut wanted): (Vec<u32>, Vec<Wanted>) = (vec![], vec![]);
        for (page, bytes) in pages {
            if numbers.last() == Some(&page) || held.contains_key(&page) {
                continue;
            }
            match self.files.cached(page) {
                Some(bytes) => _ = held.insert(page, bytes),
                None => {
                    numbers.push(page);
                    wanted.push(self.files.wanted(page, bytes)?);
                }
            }
        }
        let Ok(read) = self.files.reader.read(&wanted) else {
            // one by one, so that the error names the file
            for (page, wanted) in numbers.into_iter().zip(wanted) {
                let units = wanted.bytes / self.files.page_bytes;
                held.insert(page, self.files.read(page, units)?);
            }
            return Ok(());
        };
        for (page, bytes) in numbers.into_iter().zip(read) {
            held.insert(page, self.files.accept(page, bytes)?);
        }
        Ok(())
    }

    /// Reads the pages that an update will need, as far as that can be told.
    ///
    /// # Errors
    /// Those of [`Pages::get`].
    pub fn bring_for(&self, changes: &[Change<'_>]) -> Result<HeldPages> {
        self.check_whole()?;
        let mut wanted = vec![];
        let mut last = None;
        let mut want = |found: Option<Found>| {
            if let Some(Found { child, .. }) = found
                && let Below::Page(page) = child.below()
            {
                wanted.push((page, child.bytes()));
            }
        };
        for Change { key, .. } in changes {
            // a change of a slot changes its account
            if last != Some(key.account) {
                want(self.cell_of(super::cell::ACCOUNTS, &key.account));
                last = Some(key.account);
            }
            if key.slot.is_some() {
                want(self.find(key).map(|(found, _)| found));
            }
        }
        wanted.sort_unstable();
        wanted.dedup_by_key(|(page, _)| *page);
        wanted.truncate(HELD);
        let mut held = Held::new();
        for pages in wanted.chunks(TOGETHER) {
            self.bring(pages.iter().copied(), &mut held)?;
        }
        Ok(HeldPages(held))
    }
}
