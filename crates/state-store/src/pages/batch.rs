//! Reading many values: all cells are found first, then their pages are read together.

use std::{collections::HashMap, hash::BuildHasherDefault, sync::Arc};

use super::{
    Pages,
    branches::Below,
    key::{Change, StateKey},
    page_reads::Wanted,
    read::{CellPart, Found, value_in},
};
use blockmill_store::{Result, part::Mixer};

/// Pages that are read together: more need more memory and bring nothing.
const PAGE_BATCH: usize = 1024;
/// Number of pages ahead for which records are prefetched.
const AHEAD: usize = 6;
/// Pages that an update keeps in addition to the cache.
const HELD: usize = 1 << 14;

/// Pages that an update will need.
#[derive(Debug)]
pub struct HeldPages(pub(super) Held);

/// A record in a page that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanting {
    pub page: u32,
    /// Which key it is for.
    pub at: usize,
    pub found: Found,
    pub part: CellPart,
}

impl Wanting {
    /// A read for a key; `None` if its record is not in a page.
    pub fn new(at: usize, found: Found, part: CellPart) -> Option<Self> {
        match found.child.below() {
            Below::Page(page) | Below::Evicted(page) => Some(Self { page, at, found, part }),
            Below::Branch(_) | Below::Buffer(_) => None,
        }
    }
}

/// Pages in memory in addition to the cache.
pub(super) type Held = HashMap<u32, Arc<[u8]>, BuildHasherDefault<Mixer>>;

impl Pages {
    /// Reads the values of keys in any order. Calls `each` with the index of a key in `keys` and
    /// its value, in any order.
    ///
    /// # Errors
    /// As [`Pages::get`].
    pub fn get_many(
        &self,
        keys: &[StateKey],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.check_whole()?;
        let (mut in_pages, mut elsewhere) = (vec![], vec![]);
        self.find_cells(keys.iter(), |at, found| match found {
            Some((found, part)) => match Wanting::new(at, found, part) {
                Some(wanting) => in_pages.push(wanting),
                None => elsewhere.push((at, found, part)),
            },
            None => each(at, None),
        })?;
        let mut out = vec![];
        for (nth, (at, found, part)) in elsewhere.iter().enumerate() {
            if let Some((_, next, _)) = elsewhere.get(nth + AHEAD)
                && let Below::Buffer(record) = next.child.below()
            {
                self.buffer.prefetch(record);
            }
            out.clear();
            let is_there = self.append_value(found, &keys[*at], *part, &mut out)?;
            each(*at, is_there.then_some(&out[..]));
        }
        self.fetch_records(in_pages, |record, Wanting { at, part, .. }| {
            out.clear();
            let is_there = value_in(record, &keys[at], part, &mut out);
            each(at, is_there.then_some(&out[..]));
            Ok(())
        })
    }

    /// Finds the cells that may have these keys, in any order. Calls `each` with the index of a
    /// key, the cell, and how to search it.
    fn find_cells<'a>(
        &'a self,
        keys: impl Iterator<Item = &'a StateKey>,
        mut each: impl FnMut(usize, Option<(Found, CellPart)>),
    ) -> Result<()> {
        let mut below_evicted = vec![];
        self.find_many(keys, |at, found| match found {
            Some((found, part)) if found.child.is_evicted() => {
                below_evicted.extend(Wanting::new(at, found, part));
            }
            found => each(at, found),
        });
        self.below_evicted_many(below_evicted, each)
    }

    /// Reads records, those of many pages together, and calls `each` with them, in the order of
    /// pages.
    pub(super) fn fetch_records(
        &self,
        mut wanting: Vec<Wanting>,
        mut each: impl FnMut(&[u8], Wanting) -> Result<()>,
    ) -> Result<()> {
        wanting.sort_unstable_by_key(|of| (of.page, of.at));
        let mut of_pages = wanting.chunk_by(|a, b| a.page == b.page);
        loop {
            let now: Vec<_> = of_pages.by_ref().take(PAGE_BATCH).collect();
            if now.is_empty() {
                return Ok(());
            }
            let wanted: Vec<_> =
                now.iter().map(|of| (of[0].page, of[0].found.child.bytes())).collect();
            let pages = self.fetch_pages(&wanted)?;
            for (nth, (of, bytes)) in now.iter().zip(&pages).enumerate() {
                if let (Some(of), Some(bytes)) = (now.get(nth + AHEAD), pages.get(nth + AHEAD)) {
                    self.files.prefetch_record(&of[0].found.child, bytes);
                }
                for wanting in *of {
                    let Wanting { page, found: Found { place, child }, .. } = wanting;
                    let range = self.files.place_in(place, *page, child, bytes)?;
                    each(&bytes[range], *wanting)?;
                }
            }
        }
    }

    /// Reads pages, each with the bytes of a record in it, that are not in the cache.
    fn fetch_pages(&self, pages: &[(u32, u64)]) -> Result<Vec<Arc<[u8]>>> {
        let mut found = self.files.cached_many(pages.iter().map(|(page, _)| *page))?;
        let missing = || pages.iter().zip(&found).filter(|(_, found)| found.is_none());
        let wanted = missing().map(|((page, bytes), _)| self.files.wanted(*page, *bytes));
        let wanted = wanted.collect::<Result<Vec<Wanted>>>()?;
        let mut read = self.files.reader.read(&wanted).ok().map(Vec::into_iter);
        for ((page, bytes), found) in pages.iter().zip(&mut found) {
            if found.is_none() {
                let read = read.as_mut().and_then(Iterator::next);
                // where they could not be read, one by one, so that the error names the file
                *found = Some(match read {
                    Some(bytes) => self.files.accept(*page, bytes)?,
                    None => self.files.read(*page, self.files.units(*bytes))?,
                });
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Reads the pages that an update will need, as far as the changes determine them.
    ///
    /// # Errors
    /// As [`Pages::get`].
    pub fn fetch_for(&self, changes: &[Change<'_>]) -> Result<HeldPages> {
        self.check_whole()?;
        let mut wanted = vec![];
        let mut last = None;
        // a change of a slot changes its account
        let accounts: Vec<_> = changes
            .iter()
            .filter(|change| last.replace(change.key.account) != Some(change.key.account))
            .map(|change| StateKey::account(change.key.account))
            .collect();
        let slots = changes.iter().map(|change| &change.key).filter(|key| key.slot.is_some());
        let mut want = |found: &Found| {
            if let Below::Page(page) | Below::Evicted(page) = found.child.below() {
                wanted.push((page, found.child.bytes()));
            }
        };
        let mut below_evicted = vec![];
        self.find_many(accounts.iter().chain(slots), |at, found| {
            if let Some((found, part)) = found {
                want(&found);
                below_evicted
                    .extend(Wanting::new(at, found, part).filter(|_| found.child.is_evicted()));
            }
        });
        self.below_evicted_many(below_evicted, |_, found| {
            found.iter().for_each(|(found, _)| want(found));
        })?;
        wanted.sort_unstable();
        wanted.dedup_by_key(|(page, _)| *page);
        wanted.truncate(HELD);
        let mut held = Held::default();
        for pages in wanted.chunks(PAGE_BATCH) {
            let numbers = pages.iter().map(|(page, _)| *page);
            held.extend(numbers.zip(self.fetch_pages(pages)?));
        }
        Ok(HeldPages(held))
    }
}
