//! Merging of runs in the background, so that there are never many.
//!
//! When there are more than [`MANY`], the newest ones are merged, back to the oldest that is not
//! larger than all newer ones together: then each byte ends up in a run at least twice as long as
//! the one it was in. Runs that all differ by more than a factor of two are merged by half. So a
//! byte is rewritten less than log2 times, for up to ten thousand flushes. A merge changes no
//! answers, so nobody has to wait for it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use super::{
    bloom::Bloom,
    cursor::{Merged, PIECE, RunCursor, Source},
    page::BLOCK,
    run::{INDEX_ENTRY, Run},
    run_writer::{BUFFER, RunWriter},
    salt::Salt,
};
use crate::error::{Error, Result, io_error};

/// More runs than this are merged.
pub(crate) const MANY: usize = 8;
/// So many runs make a flush wait for the merge.
pub(crate) const TOO_MANY: usize = 16;

/// A merge that is going on.
pub(crate) struct Merge {
    dir: PathBuf,
    /// Numbers of the runs that it replaces, newest first; neighbours.
    pub inputs: Vec<u64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Run>>>,
    /// Bytes that it takes while it goes on.
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
    /// Starts to merge `inputs`, newest first, into run `number`. `oldest` says that there are no
    /// older runs.
    pub fn start(
        dir: &Path,
        number: u64,
        inputs: Vec<Arc<Run>>,
        oldest: bool,
        salt: Salt,
    ) -> Result<Merge> {
        let total = |of: fn(&Run) -> u64| inputs.iter().map(|run| of(run)).sum::<u64>();
        let entries = match oldest {
            // each tombstone takes an older entry with it
            true => total(|run| run.facts.live).saturating_sub(total(|run| run.facts.below)),
            false => total(|run| run.facts.entries),
        };
        let pages = total(|run| run.facts.pages) as usize;
        // vectors that grow by doubling may have room for twice the pages
        let memory = Bloom::blocks_for(entries) as usize * 32
            + 2 * pages * INDEX_ENTRY
            + inputs.len() * (PIECE + BLOCK)
            + BUFFER;
        let numbers = inputs.iter().map(|run| run.facts.number).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (dir, stopped) = (dir.to_path_buf(), Arc::clone(&stop));
        let work = {
            let dir = dir.clone();
            move || merge(&dir, number, inputs, oldest, entries, salt, stopped)
        };
        let thread = thread::Builder::new().name("merge".into()).spawn(work);
        let thread = Some(thread.map_err(io_error("start a thread for", &dir))?);
        Ok(Merge { dir, inputs: numbers, stop, thread, memory })
    }

    /// Is the result there?
    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the result.
    pub fn result(mut self) -> Result<Run> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            // the thread is taken here and in drop only
            None => Err(Error::Failed { path: std::mem::take(&mut self.dir) }),
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
    dir: &Path,
    number: u64,
    inputs: Vec<Arc<Run>>,
    oldest: bool,
    entries: u64,
    salt: Salt,
    stop: Arc<AtomicBool>,
) -> Result<Run> {
    let sources = inputs.into_iter().map(|run| Source::Run(Box::new(RunCursor::new(run))));
    let mut merged = Merged::new(sources.collect(), oldest)?;
    merged.stop_at(stop);
    let mut writer = RunWriter::create(dir, number, entries, salt)?;
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
