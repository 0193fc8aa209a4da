//! Verified blocks for a program, while the run continues.

use super::answers::verify_for;
use super::{Outcome, Verified, VerifyOptions};
use crate::answer::Answer;
use anyhow::{Context, Error};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{ConsumerError, DerivedRows, Status, VerifiedConsumer};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::vec;

/// Batches of blocks that wait to be read. A batch is a chunk of the run, some 10 MB at most.
const WAITING: usize = 2;

/// Bytes of stack of the thread that verifies: the size that a main thread has.
const STACK: usize = 8 << 20;

/// A verified block.
///
/// `header` and `body` are the bytes of the archive, without the archive's own framing and
/// compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number or height.
    pub number: u64,
    /// Its hash. Bitcoin and Neo print these bytes in reverse order.
    pub hash: [u8; 32],
    /// Ethereum: the header as RLP. Bitcoin: the 80 bytes of the header. Neo: the header with its
    /// witness.
    pub header: Vec<u8>,
    /// Ethereum: the body as RLP, which is the list of transactions, ommers and, since Shanghai,
    /// withdrawals; `None` at level headers. Bitcoin and Neo: the number of transactions and the
    /// transactions, so that `header` and `body` together are the block.
    pub body: Option<Vec<u8>>,
}

/// The blocks of a chain in order, while they are verified. [`blocks`] returns it.
///
/// The blocks before a fault are delivered, so the blocks are those of a complete and valid chain
/// only if [`finish`](Self::finish) returns `Ok`. A few batches wait to be read; then the run waits
/// for the reader. Dropping the iterator before its end sets the `cancel` of the options, and waits
/// until the run has stopped.
#[derive(Debug)]
pub struct Blocks {
    batch: vec::IntoIter<Block>,
    batches: Option<Receiver<Vec<Block>>>,
    worker: Option<Worker>,
    cancel: Cancel,
}

/// The thread that verifies, or why there is none.
type Worker = Result<JoinHandle<Result<Verified, Outcome>>, Outcome>;

/// Begins to verify an archive on other threads, and returns its blocks. Errors are returned by
/// [`Blocks::finish`].
///
/// Blocks need a level that reads bodies; at level headers only Ethereum archives have blocks.
pub fn blocks(paths: &[impl AsRef<Path>], options: &VerifyOptions) -> Blocks {
    let (sender, batches) = sync_channel(WAITING);
    let (own, cancel) = (options.clone(), options.cancel.clone());
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
    let work = move || Verified::from_answer(verify_for(&paths, &own, Some(BlockSender(sender))));
    let worker = thread::Builder::new().name("blockmill".into()).stack_size(STACK).spawn(work);
    let failed = |error: Error| Answer::failed(&error).into();
    let worker = worker.context("cannot start a thread").map_err(failed);
    Blocks { batch: vec![].into_iter(), batches: Some(batches), worker: Some(worker), cancel }
}

impl Blocks {
    /// Ends the run and returns its verdict. Verifies the blocks that were not read, too.
    ///
    /// # Errors
    /// Returns the [`Outcome`] of [`verify`](super::verify()).
    ///
    /// # Panics
    /// Panics if the thread that verifies panicked.
    pub fn finish(mut self) -> Result<Verified, Outcome> {
        if let Some(batches) = self.batches.take() {
            batches.iter().for_each(drop);
        }
        match self.worker.take() {
            Some(Ok(worker)) => worker.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Some(Err(outcome)) => Err(outcome),
            None => Err(Answer::with_status(Status::Interrupted).into()),
        }
    }
}

impl Iterator for Blocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.batch.next() {
                return Some(block);
            }
            self.batch = self.batches.as_ref()?.recv().ok()?.into_iter();
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let Some(Ok(worker)) = self.worker.take() else { return };
        if !worker.is_finished() {
            self.cancel.cancel();
        }
        self.batches = None;
        // nobody reads the verdict any more
        let _ = worker.join();
    }
}

/// Sends verified blocks to a reader, which may be slower than the run: then the run waits.
#[derive(Clone, Debug)]
pub struct BlockSender(SyncSender<Vec<Block>>);

/// The blocks of a batch; `write` takes them out.
type Rows = Mutex<Vec<Block>>;

impl BlockSender {
    /// What `derive` returns for these blocks.
    pub(crate) fn rows(blocks: impl Iterator<Item = Block>) -> DerivedRows {
        Box::new(Rows::new(blocks.collect()))
    }

    /// A consumer that sends what `derive` returns.
    pub(crate) fn consumer<D: ?Sized>(&self, derive: Arc<D>) -> VerifiedConsumer<D> {
        let (sender, next) = (self.0.clone(), Mutex::new(None));
        let write = move |rows: &DerivedRows| {
            let blocks = rows.downcast_ref::<Rows>().map(take).unwrap_or_default();
            let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
            let after = last.number + 1;
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            if next.is_some_and(|next| next != first.number) {
                return Err(other_chain(first.number));
            }
            *next = Some(after);
            sender.send(blocks).map_err(|_| no_reader())
        };
        VerifiedConsumer { derive, tasks: vec![], write: Arc::new(write) }
    }
}

fn take(rows: &Rows) -> Vec<Block> {
    std::mem::take(&mut rows.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The best chain of Bitcoin files turned out to be another one.
fn other_chain(block: u64) -> ConsumerError {
    let message = format!(
        "the best chain changed while it was read: expected blocks after those before, found \
         another block {block}; verify says what is wrong with these files"
    );
    ConsumerError { message, status: Status::Invalid }
}

fn no_reader() -> ConsumerError {
    ConsumerError { message: "the reader of the blocks ended".into(), status: Status::Interrupted }
}
