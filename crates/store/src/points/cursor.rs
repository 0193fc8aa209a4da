//! Several sorted sources read as one: what each key's changes come to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{
    KEY_BYTES, Key, Kind, MAX_POINT_BYTES, Record,
    memtable::Sorted,
    order,
    page::{HEADER, Malformed, step},
    prefix,
    run::Run,
};
use crate::error::Result;

/// Bytes that are read from a run at once.
pub(crate) const PIECE: usize = 1 << 16;

/// Goes through a run from its first entry to its last.
pub(crate) struct RunCursor {
    run: Arc<Run>,
    /// The next page to read from the file.
    page: usize,
    /// Pages in memory.
    piece: Vec<u8>,
    /// Of the page in work: its number, its bytes within the piece, the end of its entries.
    here: (usize, std::ops::Range<usize>, usize),
    at: usize,
    key: Key,
}

impl RunCursor {
    pub fn new(run: Arc<Run>) -> RunCursor {
        let (piece, here) = (Vec::new(), (0, 0..0, 0));
        RunCursor { run, page: 0, piece, here, at: 0, key: [0; KEY_BYTES] }
    }

    /// Moves on to the next page; false at the end.
    fn next_page(&mut self) -> Result<bool> {
        let pages = self.run.pages();
        let next = if self.piece.is_empty() { 0 } else { self.here.0 + 1 };
        if next == pages {
            return Ok(false);
        }
        let mut start = self.here.1.end;
        if next == self.page {
            let mut end = next + 1;
            while end < pages && self.run.bytes_of(next..end + 1) <= PIECE {
                end += 1;
            }
            self.run.read_pages(next..end, &mut self.piece)?;
            (self.page, start) = (end, 0);
        }
        let bytes = start..start + self.run.bytes_of(next..next + 1);
        let end = self.run.check(next, &self.piece[bytes.clone()])?;
        (self.here, self.at) = ((next, bytes, end), HEADER);
        Ok(true)
    }

    /// Reads the next entry: its kind and where in the piece its value is. `key` has its key then.
    fn next(&mut self) -> Result<Option<(Kind, std::ops::Range<usize>)>> {
        while self.at >= self.here.2 {
            if !self.next_page()? {
                return Ok(None);
            }
        }
        let (number, bytes, end) = &self.here;
        let page = &self.piece[bytes.start..bytes.start + end];
        let (kind, value) = step(page, &mut self.at, &mut self.key)
            .map_err(|Malformed| self.run.malformed(*number, self.at))?;
        Ok(Some((kind, bytes.start + value.start..bytes.start + value.end)))
    }
}

/// A sorted source.
pub(crate) enum Source<'a> {
    Table(Sorted<'a>),
    Run(Box<RunCursor>),
}

/// The entry that a source stands at.
struct Head {
    prefix: u64,
    key: Key,
    kind: Kind,
    value: Vec<u8>,
    done: bool,
}

/// All sources as one, each key once; see the module text.
pub(crate) struct Merged<'a> {
    /// Newest first.
    sources: Vec<(Source<'a>, Head)>,
    /// Nothing older exists: what is below the last source is empty.
    oldest: bool,
    /// The answer in the making.
    key: Key,
    value: Vec<u8>,
    stop: Option<Arc<AtomicBool>>,
}

impl<'a> Merged<'a> {
    /// The sources, newest first. `oldest` says that nothing older exists.
    pub fn new(sources: Vec<Source<'a>>, oldest: bool) -> Result<Merged<'a>> {
        let head = || Head {
            prefix: 0,
            key: [0; KEY_BYTES],
            kind: Kind::FRESH,
            value: Vec::new(),
            done: false,
        };
        let sources = sources.into_iter().map(|source| (source, head())).collect();
        let value = Vec::with_capacity(MAX_POINT_BYTES);
        let mut merged = Merged { sources, oldest, key: [0; KEY_BYTES], value, stop: None };
        for at in 0..merged.sources.len() {
            merged.advance(at)?;
        }
        Ok(merged)
    }

    /// Ends early, as if there was nothing more, when `stop` becomes true.
    pub fn stop_at(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    fn advance(&mut self, at: usize) -> Result<()> {
        let (source, head) = &mut self.sources[at];
        head.value.clear();
        match source {
            Source::Table(sorted) => match sorted.next() {
                Some(record) => {
                    (head.key, head.kind) = (*record.key, record.kind);
                    head.value.extend_from_slice(record.value);
                }
                None => head.done = true,
            },
            Source::Run(cursor) => match cursor.next()? {
                Some((kind, value)) => {
                    (head.key, head.kind) = (cursor.key, kind);
                    head.value.extend_from_slice(&cursor.piece[value]);
                }
                None => head.done = true,
            },
        }
        head.prefix = prefix(&head.key);
        Ok(())
    }

    /// The newest source among those that stand at the smallest key.
    fn smallest(&self) -> Option<usize> {
        let mut best: Option<(usize, &Head)> = None;
        for (at, (_, head)) in self.sources.iter().enumerate() {
            let smaller = match &best {
                _ if head.done => false,
                None => true,
                Some((_, best)) if head.prefix != best.prefix => head.prefix < best.prefix,
                Some((_, best)) => order(&head.key, &best.key).is_lt(),
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
            let mut kind = head.kind;
            self.key = head.key;
            std::mem::swap(&mut self.value, &mut head.value);
            let first = head.prefix;
            self.advance(newest)?;
            for at in newest + 1..self.sources.len() {
                let head = &self.sources[at].1;
                if !head.done && head.prefix == first && head.key == self.key {
                    // what lies below all of them is what lies below the oldest
                    kind.below = head.kind.below;
                    self.advance(at)?;
                }
            }
            kind.below &= !self.oldest;
            if kind.live || kind.below {
                return Ok(Some(Record { key: &self.key, kind, value: &self.value }));
            }
        }
    }
}
