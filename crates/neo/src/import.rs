//! The front door: wires the stages of an import (read, check, link or execute, tasks, write).

mod assumed;
mod batch;
mod columns;
pub(crate) mod execution;
mod link;
mod repeated;
mod sink;
pub(crate) mod tasks;
mod writer;

pub(crate) use batch::Batch;
#[cfg(test)]
pub(crate) use columns::Bytes;
pub use link::Verified;
pub use repeated::DumpComparison;
pub use sink::Sink;
pub(crate) use tasks::TaskResults;

pub use crate::options::{Consumer, Derive, MEMORY, Options};
pub use crate::run::Run;

use crate::Level;
use crate::error::Error;
use crate::header::rules::Parent;
use crate::ledger::Facts;
use crate::run::connect_stage;
use crate::types::{Block, UInt256};
use batch::Checks;
use blockmill_archive::acc::{self, Dumps};
use blockmill_hashes::ManySha256;
use blockmill_pipeline::record::{READ, WRITE};
use blockmill_pipeline::{Flow, RunClock, Stages};
use blockmill_store::ChainStore;
use blockmill_verdict::Progress;
use link::Link;
use repeated::Repeated;
use sink::Commit;
use std::time::Instant;
use writer::Writer;

/// Name of the check stage; records show its parts.
pub(crate) const CHECK: &str = "check";

/// Imports `dumps` into `sink`. Blocks before a fault are committed. The first value describes the
/// run in any case.
pub fn import(
    dumps: &Dumps,
    options: &Options,
    sink: &mut Sink,
    mut progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    let clock = RunClock::start();
    let mut run = Run { started_unix: blockmill_pipeline::record::unix_time(), ..Run::default() };
    let (unread, notes) = dumps.left_out().judge(options.until.is_some());
    run.shortfalls.extend(unread);
    run.left_out = notes;
    let outcome = stages(dumps, options, sink, &mut progress, &mut run, clock.began());
    if outcome.is_ok() {
        run.expect_until(options.until);
    }
    let outcome = run.judge(options.partial, outcome);
    let sync = Instant::now();
    let synced = sink.sync();
    run.sync_s = sync.elapsed().as_secs_f64();
    (run.wall_s, run.cpu) = (clock.wall_s(), clock.cpu());
    // read the tip back: report only what is durable
    let read_back = sink.read_back(options.protocol.state_root_in_header);
    run.committed = read_back.as_ref().ok().and_then(|tip| tip.as_ref()).and(sink.committed());
    (run, outcome.and(synced).and(read_back.map(drop)))
}

fn stages(
    dumps: &Dumps,
    options: &Options,
    sink: &mut Sink,
    progress: &mut (dyn FnMut(&Progress) + Send),
    run: &mut Run,
    start: Instant,
) -> Result<(), Error> {
    let (settings, protocol) = (options.settings, &*options.protocol);
    let genesis = genesis(options)?;
    let (tip, mut first) = begin(dumps, options, sink, &genesis)?;
    run.resumed = (!matches!(sink, Sink::Discard)).then_some(tip).flatten().map(|tip| tip.index);
    let from = tip.map_or(0, |tip| tip.index.saturating_add(1));
    let begin = if options.recheck { 0 } else { from };
    let reader = acc::Reader::new(dumps, begin, options.batch);
    let mut reader = reader.continuing(from).until(options.until);
    let mut link = Link::new(protocol, genesis.hash, tip);
    let tables = settings.keys.tables();
    let assumed = assumed::height(dumps, options, from)?;
    let checks = Checks::new(options, &tables, assumed);
    let configuration = protocol.configuration();
    sink.configure(&configuration, settings.blocks);
    let commit = Commit { chain: genesis.hash, level: options.level, configuration };
    let threads = settings.stages.threads(options.threads);
    let batches = (0..blockmill_pipeline::buffers(threads)).map(|_| Batch::default()).collect();
    let (mut execution, tasks) = execution::begin(options, sink, assumed)?;
    let repeated = Repeated::new(dumps, from);
    let (executes, mut root) = (options.level >= Level::Execution, sink.root());
    let mut writer = Writer::new(options, sink, (tip, commit, repeated), run, progress, start);

    let read = |batch: &mut Batch| -> Result<bool, Error> {
        let clock = Instant::now();
        if let Some(block) = first.take() {
            batch.packed.put(0, &block);
            return Ok(true);
        }
        let more = reader.read(&mut batch.packed)?;
        batch.times.read = clock.elapsed();
        Ok(more)
    };
    let connect = |batch: &mut Batch| -> Result<Flow, Error> {
        let clock = Instant::now();
        let mut flow = Flow::Continue;
        // the write stage compares repeated blocks
        if !batch.packed.is_repeated() {
            link.extend(batch);
            flow = execution.as_mut().map_or(Ok(flow), |all| all.run(batch))?;
        }
        batch.times.link = clock.elapsed();
        // stop after a fault
        Ok(if batch.fault.is_some() { Flow::Stop } else { flow })
    };
    let ended = Stages::read(READ, read)
        .watched(options.cancel.live())
        .parallel(CHECK, |batch| checks.check(batch))
        .serial(connect_stage(executes), connect)
        .fork(tasks)
        .serial("roots", |batch| check_roots(batch, executes, &mut root))
        .consume(options.consumer.as_ref(), |batch: &Batch, derive| {
            batch.verified().map(|blocks| derive(&blocks))
        })
        .write(WRITE, |batch| writer.write(batch))
        .run(batches, threads);
    let (last, next) = writer.end();
    run.times = ended.times;
    run.root = executes.then_some(root);
    run.close(last.as_ref(), next, ended.outcome)
}

/// The roots stage: checks the state roots in headers, if blocks are executed.
fn check_roots(batch: &mut Batch, executes: bool, root: &mut UInt256) -> Result<Flow, Error> {
    if executes {
        tasks::check_roots(batch, root);
    }
    Ok(if batch.fault.is_some() { Flow::Stop } else { Flow::Continue })
}

/// The genesis block of the network.
fn genesis(options: &Options) -> Result<Block, Error> {
    let mut block = Block { raw: options.protocol.genesis_block(), ..Block::default() };
    let hasher = ManySha256::scalar();
    block.decode(options.protocol.state_root_in_header, &hasher).map_err(Error::Genesis)?;
    Ok(block)
}

/// Determines the block to continue after: the last stored one, or none. Dumps that begin with
/// block 1 lack the genesis block, which follows from the configuration: the second value is the
/// genesis block, if it must be executed or stored.
fn begin(
    dumps: &Dumps,
    options: &Options,
    sink: &Sink,
    genesis: &Block,
) -> Result<(Option<Parent>, Option<Vec<u8>>), Error> {
    // executed blocks need a ledger, and a ledger needs executed blocks
    if matches!(sink, Sink::Ledger(_)) != (options.level >= Level::Execution) {
        return Err(Error::Level(options.level));
    }
    sink.check_removal(options.settings.blocks)?;
    let found = dumps.range().map_or(0, |(first, _)| first);
    let tip = sink.with(ChainStore::tip).flatten();
    let Some(tip) = tip else {
        return match (found, sink) {
            (0, _) => Ok((None, None)),
            (1, Sink::Discard) => Ok((Some(Parent::from(genesis)), None)),
            // a store has its chain from the genesis block on
            (1, Sink::Store(_) | Sink::Ledger(_)) => Ok((None, Some(genesis.raw.clone()))),
            (_, Sink::Discard) => Err(Error::NoBeginning { expected: found - 1, found }),
            (_, Sink::Store(_) | Sink::Ledger(_)) => Err(Error::NoBeginning { expected: 0, found }),
        };
    };
    if UInt256(tip.chain) != genesis.hash {
        let expected = format!("the chain that begins with {}", UInt256(tip.chain));
        return Err(Error::OtherChain { expected, found: options.protocol.name.into() });
    }
    if tip.level != options.level as u8 {
        let stored = Level::stored(tip.level).map_or("unknown", Level::name);
        let expected = format!("blocks of level {stored}");
        let found = format!("an import at level {}", options.level.name());
        return Err(Error::OtherChain { expected, found });
    }
    let next = u32::try_from(tip.number + 1).unwrap_or(u32::MAX);
    // all blocks of a store have one configuration, except for values that begin later
    if let Some(facts) = sink.with(Facts::read).transpose()?.flatten() {
        let allowed = facts.configuration.allows(&options.protocol.configuration(), next - 1);
        allowed.map_err(Error::OtherConfiguration)?;
    }
    if found > next {
        return Err(Error::NoBeginning { expected: next, found });
    }
    let last = sink.read_back(options.protocol.state_root_in_header)?;
    let last = last.map(|(header, hash)| Parent {
        hash,
        index: header.index,
        timestamp: header.timestamp,
        next_consensus: header.next_consensus,
    });
    Ok((last, None))
}
