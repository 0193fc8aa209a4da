//! Merging of runs in the background, so that there are never many.
//!
//! When there are more than [`MANY`], the newest ones are merged, back to the oldest that is not
//! larger than all newer ones together: then each byte ends up in a run at least twice as long as
//! the one it was in. Runs that all differ by more than a factor of two are merged by half. So a
//! byte is rewritten less than log2 times, for up to ten thousand flushes. A merge changes no
//! answers, so nobody has to wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use super::{
    bloom::Bloom,
    cursor::{ALL, CursorSource, Merged, PIECE, RunCursor},
    page::COMPRESSED_PAGE,
    run::Run,
    run_index::INDEX_ENTRY,
    run_writer::{BUFFER, RunWriter, Shape},
};
use crate::{
    error::{Error, Result, io_error},
    folder::Folder,
};

/// More runs than this are merged.
pub(crate) const MANY: usize = 8;
/// So many runs make a flush wait for the merge.
pub(crate) const TOO_MANY: usize = 16;

/// Writes the run of a merge.
type Work = Box<dyn FnOnce() -> Result<Run> + Send + Sync>;

/// A merge that is going on, or about to start.
pub(crate) struct Merge {
    folder: Arc<Folder>,
    /// Numbers of the runs that it replaces, newest first; neighbours.
    pub inputs: Vec<u64>,
    stop: Arc<AtomicBool>,
    /// The work of its thread; `None` once that has started.
    work: Option<Work>,
    thread: Option<JoinHandle<Result<Run>>>,
    /// Bytes that it uses while it runs.
    pub memory: usize,
}

/// How many of the newest runs to merge; `None` when there are few. Sizes are newest first.
pub(crate) fn choose(sizes: &[u64]) -> Option<usize> {
    if sizes.len() <= MANY {
        return None;
    }
    let mut newer = sizes[0];
    let mut count = sizes.len().div_ceil(2);
    for (at, size) in sizes.iter().enumerate().skip(1) {
        if *size <= newer {
            count = count.max(at + 1);
        }
        newer += size;
    }
    Some(count)
}

impl Merge {
    /// A merge of `inputs`, newest first, into run `number`. `oldest` says that there are no older
    /// runs.
    pub fn new(
        folder: &Arc<Folder>,
        shape: &Shape,
        number: u64,
        inputs: Vec<Arc<Run>>,
        oldest: bool,
    ) -> Merge {
        let total = |of: fn(&Run) -> u64| inputs.iter().map(|run| of(run)).sum::<u64>();
        let live = total(|run| run.facts.live).saturating_sub(total(|run| run.facts.below));
        let entries = match (oldest, shape.counted) {
            // each tombstone takes an older entry with it
            (true, true) => live,
            (true, false) => total(|run| run.facts.live),
            (false, _) => total(|run| run.facts.entries),
        };
        let hashes = shape.hashes(entries);
        let pages = total(|run| run.facts.pages) as usize;
        // vectors that grow by doubling may have room for twice the pages
        let separators = inputs.iter().map(|run| run.index.memory()).sum::<usize>();
        let memory = Bloom::blocks_for(hashes) as usize * 32
            + 2 * (pages * INDEX_ENTRY + separators)
            + inputs.len() * (PIECE + 2 * COMPRESSED_PAGE)
            + 2 * BUFFER;
        let numbers = inputs.iter().map(|run| run.facts.number).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work: Work = {
            let (folder, shape) = (Arc::clone(folder), shape.clone());
            Box::new(move || merge(&folder, &shape, number, inputs, oldest, entries, stopped))
        };
        let folder = Arc::clone(folder);
        Merge { folder, inputs: numbers, stop, work: Some(work), thread: None, memory }
    }

    /// Starts its thread, which takes [`Merge::memory`] from now on. Has no effect a second time.
    ///
    /// # Errors
    /// `Io` if the system has no thread.
    pub fn start(&mut self) -> Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let thread = thread::Builder::new().name("merge".into()).spawn(work);
        self.thread = Some(thread.map_err(io_error("start a thread for", &self.folder.dir))?);
        Ok(())
    }

    /// Returns whether the result is ready.
    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the result.
    pub fn result(mut self) -> Result<Run> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            // the thread is taken here and in drop only
            None => Err(Error::Failed { path: self.folder.dir.clone() }),
        }
    }
}

impl Drop for Merge {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // the file it leaves is not in the manifest
            let _ = thread.join();
        }
    }
}

fn merge(
    folder: &Arc<Folder>,
    shape: &Shape,
    number: u64,
    inputs: Vec<Arc<Run>>,
    oldest: bool,
    entries: u64,
    stop: Arc<AtomicBool>,
) -> Result<Run> {
    let sources = inputs.into_iter().map(|run| CursorSource::Run(Box::new(RunCursor::new(run))));
    let mut merged = Merged::new(sources.collect(), oldest, ALL)?;
    merged.stop_at(stop);
    let mut writer = RunWriter::create(folder, shape, number, entries)?;
    while let Some(record) = merged.next()? {
        writer.push(&record)?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flushes of one unit each: how much is written in all, and the most runs there ever are.
    fn written(flushes: u64) -> (u64, usize) {
        let (mut sizes, mut written, mut most) = (Vec::new(), 0, 0);
        for _ in 0..flushes {
            sizes.insert(0, 1);
            written += 1;
            if let Some(count) = choose(&sizes) {
                let merged = sizes.drain(..count).sum();
                sizes.insert(0, merged);
                written += merged;
            }
            most = most.max(sizes.len());
        }
        (written, most)
    }

    #[test]
    fn what_is_rewritten_grows_like_the_logarithm() {
        for flushes in [10, 100, 1_000, 10_000] {
            let (written, most) = written(flushes);
            assert!(most <= MANY);
            let bound = flushes * u64::from(flushes.ilog2() + 1);
            assert!(written <= bound, "{flushes} flushes: {written} written");
        }
        assert_eq!(choose(&[1; 8]), None);
        assert_eq!(choose(&[1, 2, 4, 8, 16, 32, 64, 128, 256]), Some(5));
        assert_eq!(choose(&[1, 2, 3, 8, 16, 32, 64, 128, 256]), Some(5));
        assert_eq!(choose(&[1, 1, 3, 8, 16, 32, 64, 128, 190]), Some(9));
    }
}
