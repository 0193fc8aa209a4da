//! An open file. A reader that jumps about gets pages; one that reads in order gets ranges of some
//! MiB, and those after them are fetched ahead while it works, into the next file as well. How far
//! ahead grows with how far it has read in order.

use crate::Error;
use crate::cache::Cached;
use crate::fetch::{self, Object};
use crate::mount::Mount;
use crate::pool::Content;
use blockmill_platform::remote::{RemoteFile, is_stopped};
use bytes::Bytes;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that are fetched for a reader that jumps about.
const PAGE: u64 = 64 << 10;
/// Bytes of a request of a reader that reads in order.
const RANGE: u64 = 4 << 20;
/// Bytes that such a reader may pass over.
const GAP: u64 = 1 << 20;
/// Bytes that are fetched ahead at most.
const AHEAD: u64 = 40 << 20;
/// How long a reader waits before it checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// An open file.
#[derive(Debug)]
pub struct Handle {
    mount: Arc<Mount>,
    object: Arc<Object>,
    place: Mutex<Place>,
    /// Stays open, and locked, for as long as the file is.
    _cached: Option<Arc<Cached>>,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The byte after those that it read last.
    next: u64,
    /// How many bytes it has read in order.
    run: u64,
}

impl Handle {
    pub fn open(mount: Arc<Mount>, object: Arc<Object>) -> Result<Self, Error> {
        let _cached = mount.cached(&object)?;
        Ok(Self { mount, object, place: Mutex::default(), _cached })
    }

    /// How many bytes the reader has read in order, before it reads `length` bytes at `at`.
    fn run(&self, at: u64, length: u64) -> u64 {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let in_order = at >= place.next.saturating_sub(PAGE) && at <= place.next + GAP;
        // a long read is in order by itself; a short one at the beginning is the first of many
        let before = if in_order && place.next > 0 { place.run } else { 0 };
        let run = before.max(if length >= GAP { length } else { 0 });
        *place = Place { next: at + length, run: run + length };
        run
    }

    fn inherit(&self, run: u64) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.run = place.run.max(run);
    }

    /// Fetches the range at `at`, which is in none that is there or on its way.
    fn fetch(&self, at: u64, length: u64, run: u64) -> Result<(), Error> {
        let want = if run == 0 { length.max(PAGE) } else { run.max(length).max(PAGE) };
        self.mount.fetch(&self.object, at, at + want.min(RANGE), run)
    }

    /// Fetches what a reader in order is going to need after `at`.
    fn read_ahead(&self, at: u64, run: u64) -> Result<(), Error> {
        let (mut object, mut at, mut left) = (self.object.clone(), at, AHEAD.min(run * 4));
        while left > 0 {
            let end = object.meta.size.min(at.saturating_add(left));
            while let Some(gap) = self.mount.gap(&object, at, end) {
                self.mount.fetch(&object, gap, end.min(gap + RANGE), run)?;
            }
            left -= end.saturating_sub(at).min(left);
            if left == 0 || end < object.meta.size {
                break;
            }
            let Some(next) = self.mount.after(&object) else { break };
            (object, at) = (next, 0);
        }
        Ok(())
    }

    fn read(&self, into: &mut [u8], at: u64) -> Result<usize, Error> {
        let length = (into.len() as u64).min(self.object.meta.size.saturating_sub(at));
        if length == 0 {
            return Ok(0);
        }
        let run = self.run(at, length);
        if run >= PAGE {
            // before waiting, so that several ranges of a long read come at the same time
            self.read_ahead(at, run)?;
        }
        let mut pool = self.mount.pool();
        loop {
            let Some(found) = pool.find(self.object.id, at) else {
                drop(pool);
                self.fetch(at, length, run)?;
                pool = self.mount.pool();
                continue;
            };
            match found.content {
                Content::There(bytes) => {
                    drop(pool);
                    self.inherit(found.run);
                    let rest = &bytes[(at - found.start) as usize..];
                    let count = rest.len().min(into.len());
                    into[..count].copy_from_slice(&rest[..count]);
                    return Ok(count);
                }
                Content::Failed(error) => return Err(error),
                Content::Awaited if is_stopped() => return Err(Error::Stopped),
                Content::Awaited => pool = self.mount.wait(pool, PATIENCE),
            }
        }
    }
}

impl RemoteFile for Handle {
    fn length(&self) -> u64 {
        self.object.meta.size
    }

    fn version(&self) -> u64 {
        self.object.version()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.read(into, offset)?)
    }
}

impl Mount {
    /// The first byte of `object` from `at` on that is not there and not on its way, if more may be
    /// fetched ahead.
    fn gap(&self, object: &Object, at: u64, end: u64) -> Option<u64> {
        let pool = self.pool();
        if pool.has_room() { pool.first_gap(object.id, at, end) } else { None }
    }

    /// Begins to fetch a range from `start` to `end`, or a part of it: up to the next one that is
    /// there, and all of it in the cache folder or nothing.
    fn fetch(
        self: &Arc<Self>,
        object: &Arc<Object>,
        start: u64,
        end: u64,
        run: u64,
    ) -> Result<(), Error> {
        let cached = self.cached(object)?;
        let mut end = end.min(object.meta.size);
        if let Some(cached) = &cached {
            let limit = cached.end_of(start).or_else(|| cached.next_start(start));
            end = end.min(limit.unwrap_or(end));
        }
        // none if another reader was faster
        let Some(end) = self.pool().await_range(object.id, start, end, run) else { return Ok(()) };
        let arrival = Arrival { mount: self.clone(), object: object.clone(), start, came: None };
        let arrived = move |came| arrival.with(came);
        fetch::start(self.store(), object.clone(), cached, start..end, arrived)
    }
}

/// A range that is waited for. When this is dropped, it has arrived, so nobody waits for ever.
struct Arrival {
    mount: Arc<Mount>,
    object: Arc<Object>,
    start: u64,
    came: Option<Result<Bytes, Error>>,
}

impl Arrival {
    fn with(mut self, came: Result<Bytes, Error>) {
        self.came = Some(came);
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let lost = || Error::Failed {
            url: self.object.url.clone(),
            reason: format!("the request of the range at byte {} was given up", self.start),
        };
        let came = self.came.take().unwrap_or_else(|| Err(lost()));
        self.mount.arrive(self.object.id, self.start, came);
    }
}
