//! The last stage: writes verified blocks to the sink and updates the run.

use super::Batch;
use super::repeated::{self, Repeated};
use super::sink::{Commit, Sink};
use crate::error::Error;
use crate::fault::Cause;
use crate::header::rules::Parent;
use crate::options::Options;
use crate::run::Run;
use crate::types::UInt256;
use blockmill_pipeline::Flow;
use blockmill_verdict::Progress;
use std::time::Instant;

/// Bytes of dumps between two syncs of the store. A start after a power loss checks at most the
/// blocks of so many bytes again.
const SYNC_EVERY: u64 = 1 << 30;

/// Reports progress.
type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) + Send);

/// Writes batches in order.
pub(crate) struct Writer<'a> {
    options: &'a Options,
    sink: &'a mut Sink,
    commit: Commit,
    run: &'a mut Run,
    progress: OnProgress<'a>,
    start: Instant,
    /// The last written block, or the last stored one at the start.
    last: Option<Parent>,
    /// Blocks that a later dump repeats.
    repeated: Repeated,
    /// The height after the last processed block.
    next: u32,
    /// Bytes of dumps up to the last sync.
    synced_at: u64,
}

impl<'a> Writer<'a> {
    pub fn new(
        options: &'a Options,
        sink: &'a mut Sink,
        (last, commit, repeated): (Option<Parent>, Commit, Repeated),
        run: &'a mut Run,
        progress: OnProgress<'a>,
        start: Instant,
    ) -> Self {
        let synced_at = 0;
        let next = last.map_or(0, |last| last.index.saturating_add(1));
        Self { options, sink, commit, run, progress, start, last, repeated, next, synced_at }
    }

    /// Writes the verified blocks of a batch; its fault, if there is one, ends the run.
    pub fn write(&mut self, batch: &mut Batch) -> Result<Flow, Error> {
        let clock = Instant::now();
        self.run.bytes += batch.packed.disk_bytes();
        if let Some(verified) = batch.verified() {
            self.sink.write(&self.commit, &verified)?;
            self.last = verified.blocks().last().map(Parent::from).or(self.last);
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

    /// Compares repeated blocks with the earlier ones at their heights.
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

    /// Returns the last block of the chain, and the height of the next block in the dumps.
    pub fn end(self) -> (Option<Parent>, u32) {
        (self.last, self.next)
    }
}
