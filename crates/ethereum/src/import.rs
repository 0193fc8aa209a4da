//! The front door: read, decode, verify, link, write, in order and on one screen.

pub(crate) mod batch;

use crate::Level;
use crate::commit::{self, BlockSink, Commit, Derive, Verified};
use crate::error::Error;
use crate::execute::stages::{self, Execution};
use crate::link::{Link, Tip};
pub use crate::options::Options;
use crate::overlap;
use crate::resume::{self, Beginning};
pub use crate::run::{Run, Setup};
use crate::settings::SenderOrder;
use crate::verify::Checks;
pub use crate::verify::{ChainRules, HeaderChecks};
use batch::Batch;
use blockmill_archive::{Archive, Want};
use blockmill_pipeline::record::{READ, WRITE};
use blockmill_pipeline::{Derived, Flow, RunClock, Stages};
use blockmill_verdict::Progress;
use std::time::{Duration, Instant};

/// The stage that has the most to do; records show it in its parts.
pub(crate) const CHECK: &str = "check";

/// Bytes of archive between two syncs of the store, so that a start after a power loss has little
/// to check again.
const SYNC_EVERY: u64 = 1 << 30;

/// What a run is wired to.
pub struct Wiring<'a> {
    /// Checks the headers of each chunk, each against the one before it.
    pub headers: &'a dyn HeaderChecks,
    /// Receives the verified blocks.
    pub sink: &'a mut dyn BlockSink,
}

/// Imports `archive` into `sink`. Blocks before a fault are committed; the first value says what
/// was done in any case.
pub fn import(
    archive: &Archive,
    options: &Options,
    sink: &mut dyn BlockSink,
    progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    import_wired(archive, options, Wiring { headers: &ChainRules, sink }, progress)
}

/// [`import`] with other checks of headers than [`ChainRules`].
pub fn import_wired(
    archive: &Archive,
    options: &Options,
    wiring: Wiring<'_>,
    progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    import_part(Part::Whole, archive, options, wiring, progress)
}

/// Which part of a chain an archive is expected to be.
pub(crate) enum Part {
    /// All blocks of the requested range. Sink and archive say where to begin.
    Whole,
    /// Those of a shard, after blocks that are known already if there are any.
    Shard(Option<Box<Beginning>>),
}

/// [`import_wired`] of a part of a chain.
pub(crate) fn import_part(
    part: Part,
    archive: &Archive,
    options: &Options,
    wiring: Wiring<'_>,
    mut progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    let Wiring { headers, sink } = wiring;
    let clock = RunClock::start();
    let survey = archive.survey(wanted(archive, options.level), options.until.is_some());
    let mut run = match survey {
        Ok(survey) => Run::of(survey),
        Err(error) => return (Run::default(), Err(error.into())),
    };
    run.started_unix = blockmill_pipeline::record::unix_time();
    let (is_whole, beginning) = match part {
        Part::Whole => (true, None),
        Part::Shard(beginning) => (false, beginning.map(|beginning| *beginning)),
    };
    let mut outcome = match beginning.map_or_else(|| resume::begin(archive, options, sink), Ok) {
        Ok(known) => {
            let wiring = Wiring { headers, sink: &mut *sink };
            stages(known, archive, options, wiring, &mut progress, &mut run, &clock)
        }
        Err(error) => Err(error),
    };
    if outcome.is_ok() && options.recheck && run.found_nothing_new() {
        outcome = overlap::compare(archive, options, sink, &mut progress, &mut run);
    }
    if outcome.is_ok() && is_whole {
        run.expect_range(options);
    }
    let left = |number| archive.blocks_from(number);
    let outcome = run.judge(left, options, outcome);
    let sync = Instant::now();
    let synced = remove_doubtful_tip(&run, &outcome, options, sink).and_then(|()| sink.sync());
    run.sync_s = sync.elapsed().as_secs_f64();
    (run.wall_s, run.cpu) = (clock.wall_s(), clock.cpu());
    // read the tip back: report only what is durable
    let (committed, read_back) = match commit::read_back(sink) {
        Ok(number) => (number, Ok(())),
        Err(error) => (None, Err(error)),
    };
    run.committed = committed;
    (run, outcome.and(synced).and(read_back))
}

/// Removes the last block from the store if it may be the damaged one: if the first block of a
/// chunk does not follow it, or compressed data after it does not have its checksum. Then an import
/// of a sound archive can continue. Within a chunk the link does that. Blocks that an earlier run
/// committed stay, and so does the last block of an era with a correct accumulator.
fn remove_doubtful_tip(
    run: &Run,
    outcome: &Result<(), Error>,
    options: &Options,
    sink: &mut dyn BlockSink,
) -> Result<(), Error> {
    match (outcome, &run.tip) {
        (Err(Error::Fault(fault)), Some(tip))
            if fault.cause.doubts_previous()
                && fault.block == tip.id.number + 1
                && run.blocks > 0
                && !run.ends_era =>
        {
            commit::remove_tip(sink, tip, &options.cancel)
        }
        _ => Ok(()),
    }
}

fn stages(
    beginning: Beginning,
    archive: &Archive,
    options: &Options,
    Wiring { headers, sink }: Wiring<'_>,
    progress: &mut (dyn FnMut(&Progress) + Send),
    run: &mut Run,
    clock: &RunClock,
) -> Result<(), Error> {
    run.resumed = beginning.resumed;
    let want = wanted(archive, options.level);
    let range = beginning.from..=options.until.unwrap_or(u64::MAX);
    let mut reader = archive.reader(want, stages::chunk(options), range)?;
    let mut chain = Link::new(beginning, options.trust.iter().copied().collect());
    let consumer = options.consumer.as_ref();
    let checks = Checks { headers, keep_signers: consumer.is_some(), ..checks(options, want) };
    let commit = Commit { chain: options.spec.genesis.hash, level: options.level };
    let (threads, batches) = workers(options);
    let mut execution = Execution::begin(options, sink)?;
    let ready = Setup { wall_s: clock.wall_s(), cpu: clock.cpu() };
    run.setup = execution.is_some().then_some(ready);
    if execution.is_none() && options.level >= Level::Execution {
        // asked to stop before there was a state
        run.stopped = true;
        return run.close(chain, Ok(()), options);
    }
    let mut synced_at = 0;

    let pace = execution.as_ref().map(Execution::pace);
    let read = |batch: &mut Batch| {
        pace.iter().for_each(|pace| reader.limit_blocks(pace.blocks()));
        batch.read(&mut reader)
    };
    let mut tip = chain.tip.clone();
    let write = |batch: &mut Batch| -> Result<Flow, Error> {
        run.bytes += batch.blocks.packed.disk_bytes();
        let written = write_new(sink, &commit, &batch.verified())?;
        run.add(batch, written, clock.began());
        tip = batch.tip().or(tip.take());
        if run.bytes - synced_at >= SYNC_EVERY {
            synced_at = run.bytes;
            sink.sync()?;
        }
        progress(&so_far(run, tip.as_ref(), sink));
        match batch.verdict.fault.take() {
            Some(fault) => Err(fault.into()),
            None if options.cancel.is_cancelled() => {
                run.stopped = true;
                Ok(Flow::Stop)
            }
            None => Ok(Flow::Continue),
        }
    };
    let checked = Stages::read(READ, read)
        .watched(options.cancel.live())
        .parallel(CHECK, |batch| batch.check(&checks));
    let link = |batch: &mut Batch| batch.link(&checks, &mut chain);
    let ended = Execution::stages(&mut execution, checked, link)
        .consume(consumer, derive)
        .write(WRITE, write)
        .run(batches, threads);
    (run.times, chain.tip) = (ended.times, tip);
    run.notes.extend(reader.note());
    run.close(chain, ended.outcome, options)
}

/// Derives the rows of the new blocks, if there are any.
fn derive(batch: &Batch, derive: &Derive) -> Derived {
    let blocks = batch.verified();
    (!blocks.range().is_empty()).then(|| derive(&blocks))
}

/// Writes the new blocks, if there are any. The time it took.
fn write_new(
    sink: &mut dyn BlockSink,
    commit: &Commit,
    blocks: &Verified<'_>,
) -> Result<Duration, Error> {
    let clock = Instant::now();
    if !blocks.range().is_empty() {
        sink.write(commit, blocks)?;
    }
    Ok(clock.elapsed())
}

/// The progress so far.
fn so_far(run: &Run, tip: Option<&Tip>, sink: &dyn BlockSink) -> Progress {
    Progress {
        number: tip.map_or(0, |tip| tip.id.number),
        blocks: run.blocks,
        bytes: run.bytes,
        total_bytes: None,
        committed: commit::committed(sink),
        execution: run.blocks_executed.sum(),
    }
}

/// Threads besides the one that reads, and the batches that circulate.
fn workers(options: &Options) -> (usize, Vec<Batch>) {
    let threads = options.settings.stages.threads(options.threads);
    (threads, (0..blockmill_pipeline::buffers(threads)).map(|_| Batch::default()).collect())
}

/// The checks that `options` ask for.
pub(crate) fn checks(options: &Options, want: Want) -> Checks<'_> {
    let settings = &options.settings;
    Checks {
        spec: &options.spec,
        level: options.level,
        want,
        headers: &ChainRules,
        seal: options.seal,
        signatures: settings.signatures.verifier(),
        sender_batches: settings.sender_batches,
        caches: &options.caches,
        hasher: settings.hash.hasher(),
        now: options.now,
        known: false,
        content_later: options.level >= Level::Execution && settings.senders == SenderOrder::Inline,
        keep_signers: false,
    }
}

/// What to read besides headers: receipts only where the archive has them, so that none are missed
/// when the first ones of a chunk are damaged.
pub(crate) fn wanted(archive: &Archive, level: Level) -> Want {
    let bodies = level >= Level::Bodies;
    Want { bodies, receipts: bodies && archive.has_receipts() }
}
