//! Merging several sorted sources: the combined entry of each key.

use std::{
    ops::{Bound, Range},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use super::{
    EntryKind, PageCache, Record,
    key::{KeyBytes, prefix},
    page::{HEADER, Malformed, Page},
    run::Run,
    sorted::Sorted,
};
use crate::error::{Error, Result};

/// Bytes that are read from a run at once when all of it is read.
pub(crate) const PIECE: usize = 1 << 16;
/// Pages that a scan takes from the cache or into it, before it reads larger pieces past it.
const CACHED_PAGES: usize = 4;

/// A range of keys.
pub(crate) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// All keys.
pub(crate) const ALL: KeyRange = (Bound::Unbounded, Bound::Unbounded);

/// Goes through a run from some key to its last.
pub(crate) struct RunCursor {
    run: Arc<Run>,
    cache: Option<PageCache>,
    /// Pages that are still to be taken from the cache or into it.
    cached: usize,
    /// The next page, and the one after the last that may be wanted.
    next: usize,
    end: usize,
    /// Pages that were read, the first one that is not among them, where the next one begins.
    piece: Vec<u8>,
    piece_end: usize,
    piece_at: usize,
    unpacked: Vec<u8>,
    /// The page in work, checked.
    page: PageAt,
    at: usize,
    key: KeyBytes,
    /// Corrupt pages count as if they were not there.
    skips: bool,
}

/// Where the page in work is.
enum PageAt {
    /// There is none yet.
    Nowhere,
    /// In the cache.
    Cached(Arc<[u8]>),
    /// Here in the piece.
    Piece(Range<usize>),
    /// Unpacked.
    Unpacked,
}

impl PageAt {
    /// The bytes of the page; empty if there is none.
    fn bytes<'a>(&'a self, piece: &'a [u8], unpacked: &'a [u8]) -> &'a [u8] {
        match self {
            PageAt::Nowhere => &[],
            PageAt::Cached(page) => page,
            PageAt::Piece(place) => &piece[place.clone()],
            PageAt::Unpacked => unpacked,
        }
    }
}

impl RunCursor {
    /// From the first key on.
    pub fn new(run: Arc<Run>) -> RunCursor {
        RunCursor {
            cache: None,
            cached: 0,
            next: 0,
            end: run.pages(),
            run,
            piece: Vec::new(),
            piece_end: 0,
            piece_at: 0,
            unpacked: Vec::new(),
            page: PageAt::Nowhere,
            at: HEADER,
            key: KeyBytes::default(),
            skips: false,
        }
    }

    /// A cursor from the first key on that skips corrupt pages.
    pub fn skipping_corruption(run: Arc<Run>) -> RunCursor {
        RunCursor { skips: true, ..RunCursor::new(run) }
    }

    /// From the page on that holds the start of `range` if any does, to that which holds its end,
    /// with pages from the cache.
    pub fn within(run: Arc<Run>, range: &KeyRange, cache: Option<PageCache>) -> Result<RunCursor> {
        let mut cursor = RunCursor { cache, cached: CACHED_PAGES, ..RunCursor::new(run) };
        if let Bound::Included(key) | Bound::Excluded(key) = &range.1 {
            cursor.end = cursor.run.index.page_of(key).map_or(0, |page| page + 1);
        }
        if let Bound::Included(key) | Bound::Excluded(key) = &range.0 {
            cursor.next = cursor.run.index.page_of(key).unwrap_or(0);
            if cursor.next_page()? {
                let number = cursor.next - 1;
                let bytes = cursor.page.bytes(&cursor.piece, &cursor.unpacked);
                let page = Page::new(bytes).and_then(|page| page.restart(key));
                cursor.at = page.map_err(|Malformed| cursor.run.malformed(number, 0))?;
            }
        }
        Ok(cursor)
    }

    /// Moves on to the next page; false at the end.
    fn next_page(&mut self) -> Result<bool> {
        loop {
            match self.load_page() {
                Err(Error::Corrupt { .. }) if self.skips => {
                    (self.next, self.page) = (self.next + 1, PageAt::Nowhere);
                }
                done => return done,
            }
        }
    }

    /// Moves to the next page; after an error the current page is still the one before.
    fn load_page(&mut self) -> Result<bool> {
        let number = self.next;
        if number >= self.end {
            return Ok(false);
        }
        let cache = self.cache.as_ref().filter(|_| self.cached > 0);
        let is_read = number < self.piece_end;
        let found = cache.filter(|_| !is_read).and_then(|c| c.get(self.run.id, number as u32));
        if let Some(page) = found {
            self.page = PageAt::Cached(page);
        } else {
            if !is_read {
                let most = if self.cached > 0 { number + self.cached } else { self.end };
                let mut end = number + 1;
                while end < most.min(self.end) && self.run.bytes_of(number..end + 1) <= PIECE {
                    end += 1;
                }
                self.run.read_pages(number..end, &mut self.piece)?;
                (self.piece_end, self.piece_at) = (end, 0);
            }
            let start = self.piece_at;
            self.piece_at += self.run.bytes_of(number..number + 1);
            let stored = &self.piece[start..self.piece_at];
            let bytes = self.run.unpack(number, stored, &mut self.unpacked)?;
            if let Some(cache) = cache {
                cache.insert(self.run.id, number as u32, bytes.into());
            }
            self.page = match bytes.as_ptr() == stored.as_ptr() {
                true => PageAt::Piece(start..start + bytes.len()),
                false => PageAt::Unpacked,
            };
        }
        self.cached = self.cached.saturating_sub(1);
        (self.next, self.at) = (number + 1, HEADER);
        Ok(true)
    }

    /// Reads the next entry into `head`; false at the end.
    fn next(&mut self, head: &mut Head) -> Result<bool> {
        loop {
            let bytes = self.page.bytes(&self.piece, &self.unpacked);
            if !bytes.is_empty() {
                let malformed = |at| self.run.malformed(self.next - 1, at);
                let page = Page::new(bytes).map_err(|Malformed| malformed(0))?;
                if self.at < page.end() {
                    let (kind, value) = page
                        .step(&mut self.at, &mut self.key)
                        .map_err(|Malformed| malformed(self.at))?;
                    head.kind = kind;
                    head.key.set(self.key.as_ref());
                    head.value.extend_from_slice(page.value(value));
                    return Ok(true);
                }
            }
            if !self.next_page()? {
                return Ok(false);
            }
        }
    }
}

/// A sorted source.
pub(crate) enum CursorSource<'a> {
    Table(Sorted<'a>),
    Run(Box<RunCursor>),
}

/// The current entry of a source.
struct Head {
    prefix: u64,
    key: KeyBytes,
    kind: EntryKind,
    value: Vec<u8>,
    done: bool,
}

/// All sources as one, each key once; see the module text.
pub(crate) struct Merged<'a> {
    /// Newest first.
    sources: Vec<(CursorSource<'a>, Head)>,
    /// Nothing older exists: no key is live below the last source.
    oldest: bool,
    end: Bound<Vec<u8>>,
    /// The combined entry under construction.
    key: KeyBytes,
    value: Vec<u8>,
    stop: Option<Arc<AtomicBool>>,
}

impl<'a> Merged<'a> {
    /// Merges sources, newest first, within `range`. `oldest` says that nothing older exists.
    pub fn new(
        sources: Vec<CursorSource<'a>>,
        oldest: bool,
        range: KeyRange,
    ) -> Result<Merged<'a>> {
        let head = || Head {
            prefix: 0,
            key: KeyBytes::default(),
            kind: EntryKind::FRESH,
            value: Vec::new(),
            done: false,
        };
        let sources = sources.into_iter().map(|source| (source, head())).collect();
        let (start, end) = range;
        let mut merged = Merged {
            sources,
            oldest,
            end,
            key: KeyBytes::default(),
            value: Vec::new(),
            stop: None,
        };
        for at in 0..merged.sources.len() {
            merged.advance(at)?;
            while merged.is_before(at, &start) {
                merged.advance(at)?;
            }
        }
        Ok(merged)
    }

    /// Returns whether the current key of a source is before the start of the range.
    fn is_before(&self, at: usize, start: &Bound<Vec<u8>>) -> bool {
        let head = &self.sources[at].1;
        !head.done
            && match start {
                Bound::Included(key) => head.key.as_ref() < &key[..],
                Bound::Excluded(key) => head.key.as_ref() <= &key[..],
                Bound::Unbounded => false,
            }
    }

    /// Ends early, as if there was nothing more, when `stop` becomes true.
    pub fn stop_at(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    fn advance(&mut self, at: usize) -> Result<()> {
        let (source, head) = &mut self.sources[at];
        head.value.clear();
        let found = match source {
            CursorSource::Table(sorted) => sorted.next().map(|record| {
                head.kind = record.kind;
                head.key.set(record.key);
                head.value.extend_from_slice(record.value);
            }),
            CursorSource::Run(cursor) => cursor.next(head)?.then_some(()),
        };
        head.done = found.is_none();
        head.prefix = prefix(head.key.as_ref());
        Ok(())
    }

    /// The newest source among those whose current key is the smallest.
    fn smallest(&self) -> Option<usize> {
        let mut best: Option<(usize, &Head)> = None;
        for (at, (_, head)) in self.sources.iter().enumerate() {
            let smaller = match &best {
                _ if head.done => false,
                None => true,
                Some((_, best)) if head.prefix != best.prefix => head.prefix < best.prefix,
                Some((_, best)) => head.key.as_ref() < best.key.as_ref(),
            };
            if smaller {
                best = Some((at, head));
            }
        }
        best.map(|(at, _)| at)
    }

    /// The next key that still has something to say: live, or dead over something older.
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        loop {
            if self.stop.as_ref().is_some_and(|stop| stop.load(Relaxed)) {
                return Ok(None);
            }
            let Some(newest) = self.smallest() else { return Ok(None) };
            let head = &mut self.sources[newest].1;
            let is_beyond = match &self.end {
                Bound::Included(end) => head.key.as_ref() > &end[..],
                Bound::Excluded(end) => head.key.as_ref() >= &end[..],
                Bound::Unbounded => false,
            };
            if is_beyond {
                return Ok(None);
            }
            let mut kind = head.kind;
            self.key.set(head.key.as_ref());
            std::mem::swap(&mut self.value, &mut head.value);
            let first = head.prefix;
            self.advance(newest)?;
            for at in newest + 1..self.sources.len() {
                let head = &self.sources[at].1;
                let same = head.prefix == first && head.key.as_ref() == self.key.as_ref();
                if !head.done && same {
                    // the key is live below all of them if it is live below the oldest
                    kind.below = head.kind.below;
                    self.advance(at)?;
                }
            }
            kind.below &= !self.oldest;
            if kind.live || kind.below {
                let key = self.key.as_ref();
                return Ok(Some(Record { key, kind, value: &self.value }));
            }
        }
    }
}
