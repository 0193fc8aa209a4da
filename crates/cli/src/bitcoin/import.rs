//! `import` and `verify` of Bitcoin block files.

use super::{blocks, network, sources};
use crate::answer::Answer;
use crate::args::{Import, Verification, bytes_of};
use crate::data_folder;
use crate::follow;
use crate::host;
use crate::import::{Ending, Run, kept};
use crate::progress;
use crate::stop;
use anyhow::{Context, Result, ensure};
use blockmill_archive::Family;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_bitcoin::data_folder::{expect_own, keep_challenge};
use blockmill_bitcoin::import::{Options, Run as Ended, import as engine};
use blockmill_bitcoin::settings::{Settings, SpentCoins};
use blockmill_bitcoin::{BlockHash, Error, Level, inspect, record};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_store::disk::ScratchDisk;
use blockmill_verdict::FaultReport;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `blockmill import` of block files.
pub fn import(args: &Import, run: Run) -> Result<Answer> {
    data_folder::expect(&args.data, Family::Bitcoin)?;
    let mut job = Job::prepare(&args.verification, Some(&args.data), run.cancel.clone())?;
    job.options.recheck = run.rechecks();
    // blocks that a growing folder lacks at its beginning may come
    job.default_level &= !run.follows();
    let follows = run.follows();
    job.expect_set_of_coins()?;
    expect_own(&args.data, &job.options.params)?;
    keep_challenge(&args.data, &job.options.params)
        .with_context(|| format!("cannot write into {}", args.data.display()))?;
    stop::leaves_after_commit(stop::of_store(&args.data));
    match job.run(&args.data, true, run) {
        Err(error) if follows => match error.downcast_ref() {
            Some(Error::NoBeginning(first)) => {
                let missing = format!("the blocks before {first} are not there");
                Ok(follow::waits_for(missing))
            }
            _ => Err(error),
        },
        answer => answer,
    }
}

/// `blockmill verify` of block files. The coins need room on disk when memory is short: a folder
/// that is gone afterwards.
pub fn verify(args: &Verification, run: Run) -> Result<Answer> {
    let mut job = Job::prepare(args, None, run.cancel.clone())?;
    if run.blocks.is_some() {
        job.expect_set_of_coins()?;
    }
    job.options.consumer = run.blocks.as_ref().map(blocks::consumer);
    if job.options.settings.coins == SpentCoins::Multiset {
        job.options.unspent = Some(unspent(&job.files, &args.stores)?);
    }
    // of a name that is free: what a killed process left may have the number of this one
    let folder = tempfile::Builder::new().prefix("blockmill-verify-").tempdir();
    let folder = folder.context("cannot create a folder for coins")?;
    job.options.disk = Arc::new(ScratchDisk);
    blockmill_archive::output::will_go(folder.path());
    let answer = job.run(folder.path(), false, run);
    folder.close().context("cannot remove the folder of the coins")?;
    answer
}

/// Block files and what to do with them.
pub(super) struct Job {
    pub files: BlockFiles,
    pub options: Options,
    /// Did the user leave the level to us, so that it may turn out to be a lower one?
    pub default_level: bool,
    notes: Vec<String>,
}

impl Job {
    /// `data` is the store that blocks go into, where they are kept.
    pub fn prepare(args: &Verification, data: Option<&PathBuf>, cancel: Cancel) -> Result<Self> {
        let settings = Settings::default().with(&args.with)?;
        let stores = args.stores.iter().chain(data);
        let (files, params) = network::open(&args.paths, args.chain.as_deref(), stores)?;
        let deepest = match files.headers_only() {
            Some(_) => Level::Headers,
            None => Level::Execution,
        };
        let level = args.level.unwrap_or(deepest);
        if level > Level::Headers || data.is_some() {
            network::refuse_headers(&files)?;
        }
        let mut options = Options {
            level,
            settings,
            threads: args.threads.unwrap_or_else(host::cores),
            memory: cache(args.cache)?,
            assume_valid: args.assume_valid.as_deref().map(parse_id).transpose()?,
            until: args.until.map(|height| height.try_into().unwrap_or(u32::MAX)),
            by_itself: args.level.is_some() || args.from.is_some(),
            from: args.from.map(|height| height.try_into().unwrap_or(u32::MAX)),
            partial: args.partial,
            commit_every: Duration::from_secs(args.commit_every),
            now: Some(args.now.unwrap_or_else(host::unix_seconds)),
            cancel,
            ..Options::new(params)
        };
        ensure!(args.trust.is_empty(), "--trust is for Ethereum; see --assume-valid");
        ensure!(args.beacon_roots.is_none(), "--beacon-roots is for Ethereum");
        sources::expect_tips(&args.stores, &mut options)?;
        let default_level = args.level.is_none();
        let notes = sources::notes(&args.stores).collect();
        Ok(Self { files, options, default_level, notes })
    }

    /// Refuses what can take the place of a set of coins only where nothing is kept of the run.
    pub fn expect_set_of_coins(&self) -> Result<()> {
        let reported = "--with coins=multiset is for verify: this command makes a set of coins";
        ensure!(self.options.settings.coins != SpentCoins::Multiset, reported);
        Ok(())
    }

    fn run(mut self, data: &Path, stores: bool, run: Run) -> Result<Answer> {
        let (ended, outcome) = self.engine(data, &run)?;
        self.end(&ended, &outcome, (data, stores), run)
    }

    /// Calls the engine, and shows how far it is.
    pub fn engine(&mut self, data: &Path, run: &Run) -> Result<(Ended, Result<(), Error>)> {
        let (chain, level) = (self.options.params.name, self.options.level.name());
        let paths: Vec<PathBuf> =
            self.files.files().iter().map(|file| file.path().to_path_buf()).collect();
        let _server = run.serve(chain, level, &paths, self.files.bytes())?;
        self.options.cancel.live().plan(match self.options.level {
            Level::Headers => &["index"],
            Level::Bodies => &["index", "verify bodies"],
            Level::Execution => &["index", "verify execution"],
        });
        let (mut ended, mut outcome) = bring_up_to_date(&self.files, &self.options, data);
        if self.default_level && matches!(outcome, Err(Error::NoBeginning(_))) {
            // the deepest that such files can be verified to
            self.options.level = Level::Bodies;
            (ended, outcome) = bring_up_to_date(&self.files, &self.options, data);
        }
        if let Err(error @ (Error::NoBeginning(_) | Error::OtherHeight { .. })) = outcome {
            // what was asked for cannot be: nothing was done that a record could tell
            return Err(error.into());
        }
        Ok((ended, outcome))
    }

    /// The answer of a run of the engine; does `data` stay?
    pub fn end(
        self,
        ended: &Ended,
        outcome: &Result<(), Error>,
        (data, stores): (&Path, bool),
        run: Run,
    ) -> Result<Answer> {
        let Self { files, options, mut notes, .. } = self;
        let mut record =
            record::of(ended, outcome, &files, &options, crate::program::this(), &run.label);
        record.notes.append(&mut notes);
        record.notes.extend(files.copied());
        if !stores {
            match inspect::unchecked(&files, ended.proof.is_some()) {
                Ok(unchecked) => record.result.unchecked.extend(unchecked),
                Err(error) => record.notes.push(error.to_string()),
            }
        }
        if stores {
            record.result.committed = committed(data, &options, &mut record.notes);
        }
        let ending = Ending {
            source: "these files hold",
            unit: "height",
            resumed: ended.resumed.is_some(),
            hint: outcome.as_ref().err().and_then(hint),
        };
        run.end(record, &ending)
    }
}

/// Where undo data and unspent coins of these files are: in a store that was given, or in the
/// datadir that the files stand in.
fn unspent(files: &BlockFiles, stores: &[PathBuf]) -> Result<PathBuf> {
    let found = match stores.first() {
        Some(store) => Some(store.clone()),
        None => inspect::datadir_of(files)?,
    };
    let what = "--with coins=multiset: expected a datadir of Bitcoin Core or a store, with undo \
                data and unspent coins, found block files alone";
    found.context(what)
}

/// Imports into the store in `data`, and reports how far it comes.
pub fn bring_up_to_date(
    files: &BlockFiles,
    options: &Options,
    data: &Path,
) -> (Ended, Result<(), Error>) {
    stop::writes(data, files.bytes());
    progress::blocks(options.cancel.live(), |progress| engine(files, options, data, progress))
}

/// The bytes of so many MiB for coins, if the machine has as many.
pub fn cache(mebibytes: u64) -> Result<u64> {
    let (wanted, found) =
        (mebibytes << 20, blockmill_pipeline::machine::Machine::detect().memory_bytes);
    let shown = blockmill_report::bytes(found);
    ensure!(
        found == 0 || wanted <= found,
        "--cache {mebibytes}: expected fewer MiB than this machine has, found {shown} in all"
    );
    Ok(wanted)
}

/// The last block of the store, read again from the disk: nothing else is said to be committed.
pub fn committed(data: &Path, options: &Options, notes: &mut Vec<String>) -> Option<u64> {
    match blockmill_bitcoin::chainstate::committed(data, options) {
        Ok(tip) => tip.map(|tip| tip.height.into()),
        Err(error) => {
            notes.push(format!("the store cannot be read again: {error}"));
            None
        }
    }
}

/// The answer of a command whose store could not be brought up to date.
pub fn failure(error: &Error, data: &Path, options: &Options) -> Answer {
    let report = FaultReport { hint: hint(error).map(str::to_owned), ..error.report() };
    let mut notes = vec![];
    let kept = committed(data, options, &mut notes).map(|height| kept("height", height));
    Answer { error: Some(report), kept, notes, ..Answer::with_status(error.status()) }
}

/// What the reader of an error may not know.
pub fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::NothingProven(_) => Some(
            "`blockmill verify DATADIR --with coins=multiset` on one machine names what is wrong",
        ),
        Error::OtherChain { .. } => Some("use another --data folder for it"),
        Error::Corrupt(_) | Error::Store(blockmill_store::Error::Corrupt { .. }) => {
            Some(blockmill_store::CORRUPTION_HINT)
        }
        _ => None,
    }
}

/// A block's hash as users write it: 64 hexadecimal digits, last byte first.
pub fn parse_id(text: &str) -> Result<BlockHash> {
    let hash: Option<[u8; 32]> = bytes_of(text).and_then(|bytes| bytes.try_into().ok());
    let mut hash =
        hash.with_context(|| format!("--assume-valid {text}: expected 64 hexadecimal digits"))?;
    hash.reverse();
    Ok(BlockHash(hash))
}
