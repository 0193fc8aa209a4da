//! Looking up many keys at once.
//!
//! Run by run, newest first, the keys that a run may contain are sorted by its pages: each page is
//! read once, and pages on disk are read in the order of their positions. While some keys are
//! looked up, memory and disk prefetch what the next ones need.

use std::{sync::Arc, time::Duration, time::Instant};

use super::{
    memtable::Known,
    page::{Malformed, Page},
    run::{Room, Run},
    runs::Runs,
};
use crate::error::Result;

/// Number of keys ahead for which filters are prefetched.
const AHEAD: usize = 12;
/// Pages that are looked for in the cache before the first of them is searched.
const PAGES: usize = 32;
/// A page that takes longer comes from a disk: the next ones are asked for together.
const SLOW: Duration = Duration::from_micros(15);
/// One that takes less was in the page cache.
const QUICK: Duration = Duration::from_micros(4);

/// Answers of [`Runs::fetch`], key by key. Reused from call to call.
#[derive(Debug, Default)]
pub struct Fetched {
    generation: u64,
    bytes: Vec<u8>,
    answers: Vec<Answer>,
    room: FetchRoom,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    start: usize,
    end: usize,
    live: bool,
    /// It was found, live or as a tombstone.
    known: bool,
}

/// Working memory of a look-up.
#[derive(Debug, Default)]
struct FetchRoom {
    hashes: Vec<u64>,
    /// Keys that no newer run knows.
    left: Vec<u32>,
    /// Pages of a run, and the keys that are looked for in them.
    wanted: Vec<(u32, u32)>,
    /// The first of `wanted` of each page, and the page if it was in the cache.
    pages: Vec<(usize, Option<Arc<[u8]>>)>,
    page: Room,
    /// The pages read last came from a disk.
    is_slow: bool,
}

/// The answer of the runs of one generation for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint<'a> {
    /// Which moment: see [`Runs::generation`].
    pub generation: u64,
    /// The value, if the key was live in the runs.
    pub value: Option<&'a [u8]>,
}

impl Fetched {
    /// The answer for key `index` of the last [`Runs::fetch`]; `None` beyond its keys, and for all
    /// of them if it failed.
    #[must_use]
    pub fn hint(&self, index: usize) -> Option<Hint<'_>> {
        let Answer { start, end, live, .. } = *self.answers.get(index)?;
        Some(Hint { generation: self.generation, value: live.then(|| &self.bytes[start..end]) })
    }

    /// The value of key `index` of the last [`Runs::fetch`], if it is live.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        self.hint(index)?.value
    }

    /// Pages read from files by all fetches so far.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.room.page.reads
    }

    fn put(&mut self, at: usize, value: &[u8], live: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.answers[at] = Answer { start, end: self.bytes.len(), live, known: true };
    }
}

impl Runs {
    /// Looks keys up and leaves the answers in `out`, in the order of `keys`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] names the file and the offset of a page that is not as written.
    pub fn fetch<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut Fetched) -> Result<()> {
        self.fetch_over(keys, out, |_| Known::Nothing)
    }

    /// Looks up keys that `newer` does not answer first.
    pub(crate) fn fetch_over<'a, K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        out: &mut Fetched,
        newer: impl Fn(&[u8]) -> Known<'a>,
    ) -> Result<()> {
        let result = self.fetch_all(keys, out, newer);
        if result.is_err() {
            // a key that was not come to is not one that is absent
            out.answers.clear();
        }
        result
    }

    fn fetch_all<'a, K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        out: &mut Fetched,
        newer: impl Fn(&[u8]) -> Known<'a>,
    ) -> Result<()> {
        out.generation = self.generation;
        out.bytes.clear();
        out.answers.clear();
        out.answers.resize(keys.len(), Answer::default());
        out.room.hashes.clear();
        out.room.hashes.extend(keys.iter().map(|key| self.salt.hash(key.as_ref())));
        out.room.left.clear();
        for (at, key) in keys.iter().enumerate() {
            match newer(key.as_ref()) {
                Known::Live(value) => out.put(at, value, true),
                Known::Dead => out.put(at, &[], false),
                Known::Nothing => out.room.left.push(at as u32),
            }
        }
        for run in &self.runs {
            run.choose(keys, &mut out.room);
            self.search(run, keys, out)?;
            let Fetched { answers, room, .. } = out;
            room.left.retain(|at| !answers[*at as usize].known);
        }
        Ok(())
    }

    /// Looks for the wanted keys in their pages.
    fn search<K: AsRef<[u8]>>(&self, run: &Run, keys: &[K], out: &mut Fetched) -> Result<()> {
        let wanted = std::mem::take(&mut out.room.wanted);
        let mut rest = &wanted[..];
        while !rest.is_empty() {
            let taken = self.prefetch_pages(run, rest, &mut out.room);
            let (now, later) = rest.split_at(taken);
            rest = later;
            let mut pages = std::mem::take(&mut out.room.pages);
            for (at, (first, cached)) in pages.iter().enumerate() {
                let end = pages.get(at + 1).map_or(now.len(), |(next, _)| *next);
                self.search_page(run, &now[*first..end], cached.as_deref(), keys, out)?;
            }
            pages.clear();
            out.room.pages = pages;
        }
        out.room.wanted = wanted;
        Ok(())
    }

    /// Finds the next pages in the cache, and asks the operating system to read the others. Returns
    /// how many of the wanted keys are in these pages.
    fn prefetch_pages(&self, run: &Run, wanted: &[(u32, u32)], room: &mut FetchRoom) -> usize {
        let mut taken = 0;
        for same in wanted.chunk_by(|one, other| one.0 == other.0).take(PAGES) {
            let number = same[0].0;
            let cached = self.cache.as_ref().and_then(|cache| cache.get(run.id, number));
            match &cached {
                // the places that a search reads first
                Some(page) => {
                    let places = [0, page.len() / 2, page.len() - 1];
                    places
                        .iter()
                        .for_each(|place| blockmill_platform::memory::prefetch(&page[*place]));
                }
                None if room.is_slow => run.will_need(number as usize),
                None => {}
            }
            room.pages.push((taken, cached));
            taken += same.len();
        }
        taken
    }

    /// Looks for keys in one page, which is read if it was not in the cache.
    fn search_page<K: AsRef<[u8]>>(
        &self,
        run: &Run,
        wanted: &[(u32, u32)],
        cached: Option<&[u8]>,
        keys: &[K],
        out: &mut Fetched,
    ) -> Result<()> {
        let number = wanted[0].0 as usize;
        let Fetched { bytes: values, answers, room, .. } = out;
        let FetchRoom { page: page_room, is_slow, .. } = room;
        let bytes = match cached {
            Some(bytes) => bytes,
            None => {
                let start = Instant::now();
                let bytes = run.read(number, self.cache.as_ref(), page_room)?;
                let time = start.elapsed();
                *is_slow = time > SLOW || *is_slow && time > QUICK;
                bytes
            }
        };
        let page = Page::new(bytes).map_err(|Malformed| run.malformed(number, 0))?;
        for (_, at) in wanted {
            let at = *at as usize;
            let found = page.find(keys[at].as_ref());
            let found = found.map_err(|Malformed| run.malformed(number, 0))?;
            if let Some((kind, value)) = found {
                let start = values.len();
                values.extend_from_slice(value);
                answers[at] = Answer { start, end: values.len(), live: kind.live, known: true };
            }
        }
        Ok(())
    }
}

impl Run {
    /// Which of the keys that are left may be in this run, in the order of its pages.
    fn choose<K: AsRef<[u8]>>(&self, keys: &[K], room: &mut FetchRoom) {
        let FetchRoom { hashes, left, wanted, .. } = room;
        wanted.clear();
        for (nth, at) in left.iter().enumerate() {
            if let Some(ahead) = left.get(nth + AHEAD) {
                self.filter.touch(hashes[*ahead as usize]);
            }
            let index = *at as usize;
            if self.filter.may_hold(hashes[index])
                && let Some(page) = self.index.page_of(keys[index].as_ref())
            {
                wanted.push((page as u32, *at));
            }
        }
        wanted.sort_unstable();
    }
}
