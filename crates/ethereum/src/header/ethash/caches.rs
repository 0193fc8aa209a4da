//! The caches of several epochs, shared by all threads: each is generated once.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Cache;
use super::disk::{CacheFileError, Loaded};
use super::epoch::EpochTooHigh;

/// Gives out the cache of any epoch. Keeps the ones used last.
#[derive(Debug)]
pub struct Caches {
    dir: Option<PathBuf>,
    keep: usize,
    shelf: Mutex<Shelf>,
    /// Notified when a cache is ready, or was given up.
    changed: Condvar,
}

/// What the provider did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Caches that were generated.
    pub generated: u64,
    /// Caches that were read from disk.
    pub loaded: u64,
    /// Files that were there and could not be used.
    pub damaged: u64,
    /// Caches that could not be written to disk.
    pub not_saved: u64,
    /// Time spent generating and loading, summed over threads.
    pub busy: Duration,
}

#[derive(Debug, Default)]
struct Shelf {
    /// The most recently used one is last.
    ready: Vec<Arc<Cache>>,
    in_work: Vec<u64>,
    stats: CacheStats,
    last_corruption: Option<CacheFileError>,
}

impl Caches {
    /// A provider that keeps at most `keep` caches in memory (at least one; 2 or 3 suit an import)
    /// and, with a folder, keeps them on disk too.
    #[must_use]
    pub fn new(dir: Option<PathBuf>, keep: usize) -> Arc<Self> {
        Arc::new(Caches {
            dir,
            keep: keep.max(1),
            shelf: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The cache of `epoch`. The first thread that asks generates it; others that ask for the same
    /// one wait for it, and caches of different epochs are generated in parallel.
    ///
    /// # Errors
    /// When the epoch is beyond what ethash can express.
    pub fn get(&self, epoch: u64) -> Result<Arc<Cache>, EpochTooHigh> {
        let mut shelf = self.shelf();
        loop {
            if let Some(index) = shelf.ready.iter().position(|cache| cache.epoch() == epoch) {
                shelf.ready[index..].rotate_left(1);
                return Ok(Arc::clone(&shelf.ready[shelf.ready.len() - 1]));
            }
            if !shelf.in_work.contains(&epoch) {
                break;
            }
            shelf = self.changed.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
        shelf.in_work.push(epoch);
        drop(shelf);
        // ends also when generating it fails or panics, so that no other thread waits for ever
        let work = Work { caches: self, epoch };
        let start = Instant::now();
        let loaded = Cache::load_or_generate(self.dir.as_deref(), epoch)?;
        let cache = self.shelf().put(loaded, start.elapsed(), self.keep);
        drop(work);
        Ok(cache)
    }

    /// Begins to generate or load the cache of `epoch` in a thread of its own, unless it is there
    /// or under way. A hint: when no thread can be had, `get` does the work later.
    pub fn prefetch(self: &Arc<Self>, epoch: u64) {
        let shelf = self.shelf();
        if shelf.in_work.contains(&epoch) || shelf.ready.iter().any(|c| c.epoch() == epoch) {
            return;
        }
        drop(shelf);
        let caches = Arc::clone(self);
        let name = format!("ethash-{epoch}");
        let _ = thread::Builder::new().name(name).spawn(move || caches.get(epoch));
    }

    /// What was generated and loaded so far, and how long it took.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        self.shelf().stats
    }

    /// Why the last damaged file was not used; each is reported once.
    #[must_use]
    pub fn take_damage(&self) -> Option<CacheFileError> {
        self.shelf().last_corruption.take()
    }

    /// A thread that panicked while it held the lock left the shelf whole: every change of it is
    /// done in one step.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn put(&mut self, loaded: Loaded, took: Duration, keep: usize) -> Arc<Cache> {
        self.stats.busy += took;
        self.stats.loaded += u64::from(loaded.from_disk);
        self.stats.generated += u64::from(!loaded.from_disk);
        self.stats.damaged += u64::from(loaded.corruption.is_some());
        self.stats.not_saved += u64::from(loaded.not_saved.is_some());
        self.last_corruption = loaded.corruption.or(self.last_corruption.take());
        let cache = Arc::new(loaded.cache);
        self.ready.push(Arc::clone(&cache));
        let surplus = self.ready.len().saturating_sub(keep);
        self.ready.drain(..surplus);
        cache
    }
}

/// An epoch that a thread works on. Dropping it wakes the threads that wait.
struct Work<'a> {
    caches: &'a Caches,
    epoch: u64,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.caches.shelf().in_work.retain(|epoch| *epoch != self.epoch);
        self.caches.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::tests::Folder;
    use super::super::disk::{file_path, save};
    use super::*;

    /// Files of the right sizes, so that the tests need not generate caches.
    fn folder_with_caches(name: &str, epochs: &[u64]) -> Folder {
        let folder = Folder::new(name);
        for epoch in epochs {
            let cache = Cache::empty(*epoch).unwrap();
            save(&folder.0, &file_path(&folder.0, *epoch), &cache).unwrap();
        }
        folder
    }

    #[test]
    fn many_threads_get_each_cache_once() {
        let folder = folder_with_caches("once", &[0, 1]);
        let caches = Caches::new(Some(folder.0.clone()), 2);
        caches.prefetch(1);
        thread::scope(|scope| {
            for i in 0..8 {
                let caches = &caches;
                scope.spawn(move || assert_eq!(caches.get(i % 2).unwrap().epoch(), i % 2));
            }
        });
        assert_eq!((caches.stats().loaded, caches.stats().generated), (2, 0));
        assert!(caches.stats().busy > Duration::ZERO);
    }

    #[test]
    fn an_impossible_epoch_is_an_error_each_time() {
        let caches = Caches::new(None, 2);
        for _ in 0..2 {
            assert_eq!(caches.get(u64::MAX).err(), Some(EpochTooHigh { epoch: u64::MAX }));
        }
        assert_eq!(caches.stats(), CacheStats::default());
    }

    #[test]
    fn the_caches_used_last_are_kept() {
        let caches = Caches::new(None, 2);
        let put = |epoch| {
            let cache = Cache::small(epoch, 3, 61);
            let loaded = Loaded { cache, from_disk: true, corruption: None, not_saved: None };
            caches.shelf().put(loaded, Duration::from_millis(1), 2);
        };
        put(1);
        put(2);
        assert!(caches.get(1).is_ok());
        put(3);
        let kept: Vec<u64> = caches.shelf().ready.iter().map(|cache| cache.epoch()).collect();
        assert_eq!(kept, [1, 3]);
        assert_eq!(caches.stats().loaded, 3);
        assert_eq!(caches.stats().busy, Duration::from_millis(3));
    }
}
