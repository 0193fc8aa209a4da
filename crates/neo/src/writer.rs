//! The last stage: verified blocks go to where they are kept, and the run is told of them.

use crate::Level;
use crate::batch::Batch;
use crate::commit::{Commit, Sink};
use crate::fault::{Cause, Error};
use crate::header::rules::Parent;
use crate::options::Options;
use crate::repeated::{self, Repeated};
use crate::run::Run;
use crate::tasks;
use crate::types::UInt256;
use blockmill_pipeline::Flow;
use blockmill_verdict::Progress;
use std::time::Instant;

/// Bytes of dumps after which the store is made durable, so that a start after a power loss has
/// little to check again.
const SYNC_EVERY: u64 = 1 << 30;

/// Who is told how far the run came.
type Told<'a> = &'a mut (dyn FnMut(&Progress) + Send);

/// Writes batches one after the other.
pub(crate) struct Writer<'a> {
    options: &'a Options,
    sink: &'a mut Sink,
    commit: Commit,
    run: &'a mut Run,
    progress: Told<'a>,
    start: Instant,
    /// The last block that was written, or stored before.
    last: Option<Parent>,
    /// The state root after it, where blocks are executed.
    root: UInt256,
    /// Blocks that come again in a later dump.
    repeated: Repeated,
    /// The height of the block after the last one that was looked at.
    next: u32,
    /// Bytes of dumps up to the last time that the store was made durable.
    synced_at: u64,
}

impl<'a> Writer<'a> {
    pub fn new(
        options: &'a Options,
        sink: &'a mut Sink,
        (last, commit, repeated): (Option<Parent>, Commit, Repeated),
        run: &'a mut Run,
        progress: Told<'a>,
        start: Instant,
    ) -> Self {
        let root = sink.root();
        let synced_at = 0;
        let next = last.map_or(0, |last| last.index.saturating_add(1));
        Self { options, sink, commit, run, progress, start, last, root, repeated, next, synced_at }
    }

    /// Writes the good blocks of a batch; then its fault ends the run.
    pub fn write(&mut self, batch: &mut Batch) -> Result<Flow, Error> {
        let clock = Instant::now();
        self.run.bytes += batch.packed.disk_bytes();
        if self.executes() {
            tasks::check_roots(batch, &mut self.root);
        }
        if let Some(verified) = batch.verified() {
            let taken = self.options.take.iter().try_for_each(|take| take(&verified));
            taken.map_err(Error::NotMade)?;
            self.sink.write(&self.commit, &verified)?;
            self.last = verified.blocks().last().map(Parent::of).or(self.last);
        }
        for block in batch.blocks() {
            self.repeated.add(block.header.index, block.hash);
        }
        self.compare(batch)?;
        if let Some(last) = batch.blocks().last().or(batch.repeated().last()) {
            self.next = last.header.index.saturating_add(1);
        }
        self.run.add(batch, clock.elapsed(), self.start);
        if self.run.bytes - self.synced_at >= SYNC_EVERY {
            self.synced_at = self.run.bytes;
            self.sink.sync()?;
        }
        (self.progress)(&Progress {
            number: self.last.map_or(0, |last| last.index.into()),
            blocks: self.run.blocks,
            bytes: self.run.bytes,
            total_bytes: None,
            committed: self.sink.committed(),
            execution: None,
        });
        match batch.fault.take() {
            Some(fault) => Err(fault.into()),
            None if self.options.cancel.is_cancelled() => {
                self.run.stopped = true;
                Ok(Flow::Stop)
            }
            None => Ok(Flow::Continue),
        }
    }

    /// Blocks of heights that came before must be those that came before.
    fn compare(&mut self, batch: &Batch) -> Result<(), Error> {
        for (at, block) in batch.repeated().iter().enumerate() {
            let height = block.header.index;
            let expected = match self.repeated.hash_of(height) {
                Some(hash) => hash,
                None => {
                    let stored = self.sink.with(|store| store.hash_of(height.into()));
                    stored.transpose()?.flatten().map(UInt256).unwrap_or_default()
                }
            };
            if let Some(violation) = repeated::difference(block, expected) {
                return Err(batch.fault_of(at, Some(block.hash), Cause::Rule(violation)).into());
            }
            self.run.repeated += 1;
        }
        Ok(())
    }

    fn executes(&self) -> bool {
        self.options.level >= Level::Execution
    }

    /// The last block of the chain now, and the height of the block that the dumps give next.
    pub fn end(self) -> (Option<Parent>, u32) {
        self.run.root = self.executes().then_some(self.root);
        (self.last, self.next)
    }
}
