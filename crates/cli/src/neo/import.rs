//! `import` and `verify` of Neo dumps.

use super::{blocks, network};
use crate::answer::Answer;
use crate::args::{Import, Verification};
use crate::data_folder;
use crate::follow;
use crate::host;
use crate::import::{Ending, Run};
use crate::progress;
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::acc::{self, Dumps};
use blockmill_archive::{ChunkLimit, Family};
use blockmill_neo::fault::Cause;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{MEMORY, Options, Run as Ended, import as engine};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::rule::Rule;
use blockmill_neo::settings::{ChangeLog, KeptBlocks, Settings};
use blockmill_neo::{Error, Level, record};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_store::ChainStore;
use blockmill_store::disk::ScratchDisk;
use blockmill_verdict::grouped;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// `blockmill import` of dumps.
pub fn import(args: &Import, run: Run) -> Result<Answer> {
    data_folder::expect(&args.data, Family::Neo)?;
    // no store is created if the input is no dump
    let mut job = Job::prepare(&args.verification, Some(&args.data), run.cancel.clone())?;
    job.options.recheck = run.rechecks();
    let first = job.dumps.range().map_or(0, |(first, _)| first);
    if run.follows() && first > 1 && stored(&args.data)?.is_none() {
        let first = grouped(first.into());
        let missing = format!("block 0 is not there, the first one is {first}");
        return Ok(follow::waits_for(missing));
    }
    let sink = match args.history {
        true if job.options.level < Level::Execution => bail!("--history: blocks are not executed"),
        true => Ledger::open_with_history(&args.data, &blockmill_store::Options::default())
            .map(|ledger| kept(ledger, args)),
        false => sink(&args.data, job.options.level, args),
    };
    let sink = sink.with_context(|| format!("cannot open the store {}", args.data.display()))?;
    job.run(sink, run)
}

/// The store in a folder, read-only; `None` if there is none yet.
fn stored(data: &Path) -> Result<Option<StoreReader>> {
    match StoreReader::open(data) {
        Ok(store) => Ok(Some(store)),
        Err(Error::Store(blockmill_store::Error::NoStore { .. })) => Ok(None),
        Err(error) => {
            Err(error).with_context(|| format!("cannot open the store {}", data.display()))
        }
    }
}

/// The settings. A store that has removed blocks continues to do so by default.
fn settings(asked: &[String], store: Option<&StoreReader>) -> Result<Settings> {
    let mut settings = Settings::default();
    if store.is_some_and(StoreReader::has_removed) {
        settings.blocks = KeptBlocks::Traceable;
    }
    Ok(settings.with(asked)?)
}

/// Sets the unwind depth of a ledger.
fn kept(ledger: Ledger, args: &Import) -> Sink {
    let depth = u32::try_from(args.unwind_depth).unwrap_or(u32::MAX);
    Sink::Ledger(Box::new(ledger.with_depth(depth)))
}

/// Opens the store in a folder for this level.
fn sink(folder: &Path, level: Level, args: &Import) -> Result<Sink, Error> {
    let options = blockmill_store::Options::default();
    Ok(match level {
        Level::Execution => kept(Ledger::open(folder, &options)?, args),
        _ => Sink::Store(Box::new(ChainStore::open(folder, &options)?.0)),
    })
}

/// `blockmill verify` of dumps. The state goes into a temporary folder, because it may exceed
/// memory.
pub fn verify(args: &Verification, run: Run) -> Result<Answer> {
    let mut job = Job::prepare(args, None, run.cancel.clone())?;
    job.options.consumer = run.blocks.as_ref().map(blocks::consumer);
    let (sink, folder) = job.keeping_nothing()?;
    let answer = job.run(sink, run);
    remove(folder)?;
    answer
}

/// Removes the folder of a temporary state.
pub(super) fn remove(folder: Option<TempDir>) -> Result<()> {
    folder.map_or(Ok(()), TempDir::close).context("cannot remove the folder of the state")
}

/// Dumps and the options of their import.
pub(super) struct Job {
    pub dumps: Dumps,
    pub options: Options,
    /// Whether the store is a temporary one.
    is_temporary: bool,
}

impl Job {
    /// Opens the dumps. `data` is the folder of the store, if blocks are stored.
    pub fn prepare(args: &Verification, data: Option<&Path>, cancel: Cancel) -> Result<Self> {
        let store = data.map(stored).transpose()?.flatten();
        let settings = settings(&args.with, store.as_ref())?;
        let dumps = acc::open(&args.paths)?;
        // execution starts at the genesis block, which follows from the configuration
        let first = dumps.range().map_or(0, |(first, _)| first);
        let deepest = if first <= 1 { Level::Execution } else { Level::Bodies };
        let level = args.level.unwrap_or(deepest);
        ensure!(args.trust.is_empty(), "--trust is for Ethereum");
        ensure!(args.from.is_none(), "--from: Neo chains are verified from their first block on");
        let defaults =
            Options::new(network::detect(args.chain.as_deref(), &dumps, store.as_ref())?);
        let batch = ChunkLimit { blocks: args.chunk.min(defaults.batch.blocks), ..defaults.batch };
        let options = Options {
            level,
            batch,
            settings,
            threads: args.threads.unwrap_or_else(host::cores),
            memory: usize::try_from(args.cache << 20).unwrap_or(MEMORY).min(MEMORY),
            commit_every: Duration::from_secs(args.commit_every),
            until: args.until.map(|height| height.try_into().unwrap_or(u32::MAX)),
            partial: args.partial,
            assume_valid: args.assume_valid.as_deref().map(str::parse).transpose()?,
            cancel,
            ..defaults
        };
        Ok(Self { dumps, options, is_temporary: false })
    }

    /// A sink that stores no blocks, and the temporary folder of its state.
    pub fn keeping_nothing(&mut self) -> Result<(Sink, Option<TempDir>)> {
        if self.options.level < Level::Execution {
            return Ok((Sink::Discard, None));
        }
        self.is_temporary = true;
        // a temporary state is never unwound
        self.options.settings.log = ChangeLog::Off;
        // a unique name: a killed process may have left a folder
        let folder = tempfile::Builder::new().prefix("blockmill-verify-").tempdir();
        let folder = folder.context("cannot create a folder for the state")?;
        blockmill_archive::output::will_go(folder.path());
        let options = blockmill_store::Options {
            disk: Arc::new(ScratchDisk),
            ..blockmill_store::Options::default()
        };
        let ledger = Ledger::open(folder.path(), &options)?;
        Ok((Sink::Ledger(Box::new(ledger)), Some(folder)))
    }

    fn run(self, mut sink: Sink, run: Run) -> Result<Answer> {
        let (ended, outcome) = self.engine(&mut sink, &run)?;
        self.end(&ended, &outcome, run)
    }

    /// Runs the engine and shows its progress.
    pub fn engine(&self, sink: &mut Sink, run: &Run) -> Result<(Ended, Result<(), Error>)> {
        let Self { dumps, options, .. } = self;
        let (name, level, bytes) =
            (options.protocol.name, options.level.name(), dumps.disk_bytes());
        let paths: Vec<PathBuf> = dumps.files().iter().map(|dump| dump.path.clone()).collect();
        let _server = run.serve(name, level, &paths, bytes)?;
        let last = dumps.range().map(|(_, last)| last);
        last.into_iter().for_each(|last| options.cancel.live().knows(last.into()));
        let live = options.cancel.live();
        live.verify(options.level, bytes);
        Ok(progress::blocks(live, |progress| engine(dumps, options, sink, progress)))
    }

    /// Builds the answer of a run.
    pub fn end(self, ended: &Ended, outcome: &Result<(), Error>, run: Run) -> Result<Answer> {
        let Self { dumps, options, is_temporary } = self;
        let mut record =
            record::of(ended, outcome, &dumps, &options, crate::program::this(), &run.label);
        if is_temporary {
            // what was committed goes with its folder
            record.result.committed = None;
        }
        let ending = Ending {
            source: "these dumps hold",
            unit: "height",
            resumed: ended.resumed.is_some(),
            hint: outcome.as_ref().err().and_then(hint),
        };
        run.end(record, &ending)
    }
}

/// A hint for the user about an error.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::OtherChain { .. } => Some("use another --data folder for it"),
        Error::OtherConfiguration(_) => {
            Some("use another --data folder for it, or the configuration of the store")
        }
        Error::Blocks { .. } => Some("ask for that with --with, or use another --data folder"),
        Error::Store(blockmill_store::Error::Corrupt { .. }) => {
            Some(blockmill_store::CORRUPTION_HINT)
        }
        Error::Fault(fault) => match &fault.cause {
            Cause::Rule(violation) if violation.rule == Rule::Genesis => {
                Some("these are dumps of another network: see --chain")
            }
            Cause::Rule(violation) if violation.rule == Rule::BlockWitness && fault.block <= 1 => {
                Some(
                    "every signature covers the number of the network: compare Magic in the \
                     configuration with the network's",
                )
            }
            Cause::Decode(_) if fault.block <= 1 => {
                Some("where the network has state roots in headers its configuration must say so")
            }
            _ => None,
        },
        _ => None,
    }
}
