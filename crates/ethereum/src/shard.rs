//! Verification of a chain in shards.
//!
//! [`verify_shard`] verifies one archive, or a range of one, from an assumed start, and returns a
//! [`ShardSummary`]: the findings, and both ends. [`merge`] links summaries by the rules of a
//! single run, and returns its verdict (`docs/distributed.md` has the argument). The memory of both
//! does not depend on the length of shards.

mod consistent;
mod merge;
mod merger;
mod source;
pub mod summary;
pub mod text;

use crate::Level;
use crate::commit::Sink;
use crate::error::Error;
use crate::fault::{Fault, archive_fault};
use crate::import::{ChainRules, Options, Part, Run, Wiring, import_part};
use crate::resume::Beginning;
use blockmill_archive::Archive;
use blockmill_pipeline::options::OptionSet;
use blockmill_verdict::{Progress, Status};
pub use consistent::Inconsistent;
pub use merge::{MergeError, Merged, merge};
pub use merger::Merger;
use summary::{Asked, BlockName, Counts, LastBlock, SCHEMA, ShardFault, ShardSummary};
use text::{HashText, Number};

/// Verifies `archive` as a shard, at level `headers` or `bodies`. `after` is the summary of all
/// earlier blocks: with it, the shard is verified as if they had been read, too. Faults of blocks
/// are in the summary.
///
/// # Errors
/// Returns [`Error::Execution`] at level `execution`, [`Error::Stopped`] on request,
/// [`Error::Consumer`] if the consumer of `options` fails, and errors that say nothing about the
/// blocks: of this machine, or of the request.
pub fn verify_shard(
    archive: &Archive,
    options: &Options,
    after: Option<&ShardSummary>,
    progress: impl FnMut(&Progress) + Send,
) -> Result<ShardSummary, Error> {
    if options.level > Level::Bodies {
        return Err(Error::Execution { lacks: "the state before each shard".into() });
    }
    let sources = source::sources(archive).map_err(|source| {
        let path = archive.files().first().cloned().unwrap_or_default();
        blockmill_archive::Error::Io { path, action: "cannot read", source }
    })?;
    let beginning = after.map(|after| Beginning::after(after, options)).transpose()?;
    let wiring = Wiring { headers: &ChainRules, sink: &mut Sink::Discard };
    let part = Part::Shard(beginning.map(Box::new));
    let (run, outcome) = import_part(part, archive, options, wiring, progress);
    if run.stopped {
        return Err(Error::Stopped);
    }
    let fault = match outcome {
        Ok(()) | Err(Error::Incomplete(_) | Error::TrustedMissing(_) | Error::Empty) => None,
        Err(error) if tells_nothing(&error) => return Err(error),
        Err(Error::Fault(fault)) => Some(*fault),
        Err(Error::Archive(error)) => Some(archive_fault(0, error)),
        Err(error) => return Err(error),
    };
    Ok(summary(archive, options, &run, fault.as_ref(), sources))
}

/// Returns whether the error says nothing about the blocks.
fn tells_nothing(error: &Error) -> bool {
    matches!(error.status(), Status::Environment | Status::Usage | Status::Interrupted)
}

fn summary(
    archive: &Archive,
    options: &Options,
    run: &Run,
    fault: Option<&Fault>,
    sources: Vec<summary::Source>,
) -> ShardSummary {
    let passed = &run.passed;
    let fault = fault.map(|fault| ShardFault::new(passed.fault_at.unwrap_or(passed.seen), fault));
    ShardSummary {
        sources,
        format: archive.format().name().into(),
        stated: archive.range(),
        fault,
        ..ShardSummary::of_run(options, run)
    }
    .with_status()
}

impl ShardSummary {
    /// The summary of a run, without its archive and its fault.
    pub(crate) fn of_run(options: &Options, run: &Run) -> Self {
        let passed = &run.passed;
        let unchecked = run.unchecked.iter().map(|what| format!("not checked: {what}"));
        Self {
            schema: SCHEMA,
            status: Status::Verified,
            asked: Asked::of(options),
            sources: vec![],
            format: String::new(),
            stated: None,
            blocks: passed.blocks,
            first: passed.first.as_ref().map(BlockName::from),
            last: run.tip.as_ref().filter(|_| passed.blocks > 0).map(LastBlock::from),
            anchor: run.anchor.as_ref().map(BlockName::from),
            total_before: passed.before.map(Number),
            difficulty_sum: Number(passed.sum),
            head: passed.head.clone(),
            tail: passed.tail.clone(),
            sides: passed.sides.clone(),
            trusted: run.trusted.iter().map(BlockName::from).collect(),
            fault: None,
            shortfalls: run.shortfalls[..run.surveyed.min(run.shortfalls.len())].to_vec(),
            notes: run.notes.iter().cloned().chain(unchecked).collect(),
            counts: Counts {
                bytes: run.bytes,
                seals_checked: run.seals_checked,
                seals_left: run.seals_left,
                transactions: run.transactions,
                senders: run.senders,
                accumulators: run.accumulators,
                unchecked_ommers: run.unchecked_ommers,
            },
        }
    }

    /// Sets the status from fault, shortfalls and blocks.
    pub(crate) fn with_status(mut self) -> Self {
        self.status = match &self.fault {
            Some(fault) => fault.remote.status,
            None if !self.shortfalls.is_empty() => Status::Incomplete,
            None if self.blocks == 0 => Status::Unrecognised,
            None => Status::Verified,
        };
        self
    }
}

impl Asked {
    /// The request of `options`.
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            chain: options.spec.name.clone(),
            genesis: HashText(options.spec.genesis.hash),
            level: options.level,
            seal: options.seal.mode.to_string(),
            seal_seed: options.seal.seed,
            now: options.now,
            trust: options.trust.iter().copied().map(HashText).collect(),
            from: options.from,
            until: options.until,
            options: options.settings.to_map(),
        }
    }
}
