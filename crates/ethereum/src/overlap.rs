//! Blocks that an archive and the store both have: a run reads all of them before it reports that
//! it found nothing new.
//!
//! A block is the stored one if its header has the stored hash, which every rule was checked for,
//! and if its body and receipts have the roots of that header. So seals, signatures and rules of
//! headers are not checked again, and nothing is written.

use crate::commit::BlockSink;
use crate::error::Error;
use crate::fault::{Cause, Fault, archive_fault};
use crate::import::batch::Batch;
use crate::import::{CHECK, checks, wanted};
use crate::link::Link;
use crate::options::Options;
use crate::resume::Beginning;
use crate::rule::{Rule, Violation};
use crate::run::Run;
use crate::verify::{Blocks, Checked, Checks};
use blockmill_archive::{Archive, Part};
use blockmill_pipeline::{Flow, Stages};
use blockmill_store::ChainStore;
use blockmill_verdict::{Hex, Progress};
use std::collections::HashSet;

/// Reads the blocks of `archive` that the store has, and compares them.
///
/// # Errors
/// [`Error::Fault`] names the first block that is not the stored one or not whole;
/// [`Error::Before`] if the archive and the store have no block in common.
pub(crate) fn compare(
    archive: &Archive,
    options: &Options,
    sink: &dyn BlockSink,
    progress: &mut (dyn FnMut(&Progress) + Send),
    run: &mut Run,
) -> Result<(), Error> {
    let Some(store) = sink.store() else { return Ok(()) };
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return Ok(()) };
    let from = options.from.unwrap_or(0).max(first);
    let until = options.until.unwrap_or(u64::MAX).min(tip.number);
    let want = wanted(archive, options.level);
    let checks = checks(options, want);
    let checks = Checks { known: true, content_later: false, ..checks };
    let mut link = Link::new(Beginning::default(), HashSet::new());
    let mut blocks = 0;
    if from <= until {
        let mut reader = archive.reader(want, options.chunk, from..=until)?;
        let threads = options.settings.stages.threads(options.threads);
        let batches = (0..blockmill_pipeline::buffers(threads)).map(|_| Batch::default()).collect();
        let read = |batch: &mut Batch| batch.read(&mut reader);
        let compare = |batch: &mut Batch| -> Result<Flow, Error> {
            run.bytes += batch.blocks.packed.disk_bytes();
            batch.link(&checks, &mut link);
            let end = batch.new_blocks().end;
            let fault_at = end + usize::from(batch.verdict.doubts_last_good());
            let fault = batch.verdict.fault.take();
            if let Some(i) = first_difference(store, &batch.blocks)?
                && (fault.is_none() || i < fault_at)
            {
                return Err(difference(store, batch.checked(), i)?.into());
            }
            blocks += end as u64;
            let number = link.tip.as_ref().map_or(0, |tip| tip.id.number);
            let committed = store.tip().map(|tip| tip.number);
            let bytes = run.bytes;
            progress(&Progress {
                number,
                blocks,
                bytes,
                total_bytes: None,
                committed,
                execution: None,
            });
            match fault {
                Some(fault) => Err(fault.into()),
                None if options.cancel.is_cancelled() => {
                    run.stopped = true;
                    Ok(Flow::Stop)
                }
                None => Ok(Flow::Continue),
            }
        };
        let ended = Stages::read("read", read)
            .parallel(CHECK, |batch| batch.check(&checks))
            .serial("compare", compare)
            .run(batches, threads);
        run.times = ended.times;
        run.accumulators = link.accumulators;
        run.notes.extend(reader.note());
        ended.outcome.map_err(named)?;
    }
    if blocks == 0 && !run.stopped {
        return Err(Error::Before { first, last: tip.number });
    }
    run.compared = Some(blocks);
    Ok(())
}

/// Turns an error that names a block into the fault of that block.
fn named(error: Error) -> Error {
    match error {
        Error::Archive(error @ blockmill_archive::Error::Repeated { .. }) => {
            archive_fault(0, error).into()
        }
        error => error,
    }
}

/// The first header that does not have the stored hash.
fn first_difference(store: &ChainStore, blocks: &Blocks) -> Result<Option<usize>, Error> {
    let mut stored = vec![];
    store.hashes(blocks.first_number, blocks.hashes.len() as u64, &mut stored)?;
    Ok(stored.iter().zip(&blocks.hashes).position(|(stored, found)| stored != found))
}

/// The fault of header `i`, which is not the stored one.
fn difference(store: &ChainStore, checked: Checked<'_>, i: usize) -> Result<Fault, Error> {
    let blocks = checked.blocks;
    let (block, hash) = (blocks.number(i), blocks.hashes[i]);
    let expected = store.hash_of(block)?.unwrap_or_default();
    let is_single = checked.decoded(i + 1).is_some_and(|next| *next.parent_hash == expected);
    let what = match is_single {
        true => "not the header that the next block of the archive follows",
        false => "another chain from here on",
    };
    let found = format!("{}, {what}", Hex(&hash));
    let violation = Violation::new(Rule::KnownBlock, Hex(&expected), found);
    let (hash, location) = (Some(hash), blocks.chunk.location(Part::Header, i));
    Ok(Fault { block, hash, location, cause: Cause::Rule(violation) })
}
