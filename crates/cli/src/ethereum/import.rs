//! `import` and `verify` of Ethereum archives.

use super::blocks;
use super::{network, upgrade};
use crate::answer::Answer;
use crate::args::{Import, Verification, bytes_of};
use crate::data_folder;
use crate::follow;
use crate::host;
use crate::import::{Ending, Run};
use crate::paths;
use crate::progress;
use anyhow::{Context, Result, ensure};
use blockmill_archive::{Archive, BeaconRoots, ChunkLimit, Family, Format};
use blockmill_ethereum::commit::executed_store::{ExecutedStore, KeptState, Limits};
use blockmill_ethereum::commit::{BlockSink, Sink};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::fault::Cause;
use blockmill_ethereum::import::{Options, Run as Done, import as engine};
use blockmill_ethereum::params::keep_in;
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::state::StateKind;
use blockmill_ethereum::{Hash, Level, record};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::{NamedOption, OptionSet};
use blockmill_store::{BLOCK_PARTS, ChainStore, Recovery, Tip};
use blockmill_verdict::grouped;
use std::path::PathBuf;
use std::sync::Arc;

/// Seals that are checked unless the user says otherwise: imports are in a hurry, verdicts are not.
pub(super) const IMPORT_SEAL: &str = "1/100";
pub(super) const VERIFY_SEAL: &str = "all";

/// Ethash caches in memory: those of two epochs, as a chunk may lie across their border.
pub(super) const CACHES: usize = 2;

/// `blockmill import` of an archive.
pub fn import(args: &Import, run: Run) -> Result<Answer> {
    let (asked, quiet) = (&args.verification, run.json);
    data_folder::expect(&args.data, Family::Ethereum)?;
    // what cannot be imported leaves no store
    let new = new_job(args, &run)?;
    let (store, recovery) = ChainStore::open(&args.data, &blockmill_store::Options::default())
        .with_context(|| format!("cannot open the store {}", args.data.display()))?;
    if !quiet {
        tell_recovery(&recovery);
    }
    upgrade::finish(&args.data, &store, quiet)?;
    if let Some(missing) = missing_beginning(args, &store, &run)? {
        return Ok(follow::waits_for(missing));
    }
    let is_of_headers = store.tip().is_some_and(|tip| tip.level == Level::Headers as u8);
    if is_of_headers && asked.level > Some(Level::Headers) {
        return upgrade::run(args, store, quiet, run.cancel);
    }
    let mut job = match new {
        Some(job) => job,
        None => {
            let settings = settings_for(&asked.with, &store)?;
            Job::prepare(asked, settings, Some(&store), IMPORT_SEAL, run.cancel.clone())?
        }
    };
    job.options.recheck = run.rechecks();
    job.keep_chain(&store)?;
    if job.options.level < Level::Execution {
        return job.run(Sink::Segments(Box::new(store)), run);
    }
    drop(store);
    let limits = limits(args, &job.options.settings, job.options.threads);
    let (store, _) = ExecutedStore::open(&args.data, &blockmill_store::Options::default(), limits)
        .with_context(|| format!("cannot open the store {}", args.data.display()))?;
    job.run(Sink::Executed(Box::new(store)), run)
}

/// The job of an import that creates the folder of its store. `None` if the folder is there, or if
/// the import follows an archive, which may not have its first block yet; then only the settings
/// and the files are checked.
fn new_job(args: &Import, run: &Run) -> Result<Option<Job>> {
    let asked = &args.verification;
    let settings = settings(&asked.with)?;
    if run.follows() || paths::is_there(&args.data)? {
        Archive::open(&asked.paths)?;
        return Ok(None);
    }
    settings.flat_store.check_available()?;
    Job::prepare(asked, settings, None, IMPORT_SEAL, run.cancel.clone()).map(Some)
}

/// What is missing of an archive that grows, if its first block cannot be the first one of a store:
/// without `--from` a store begins with the genesis block.
fn missing_beginning(args: &Import, store: &ChainStore, run: &Run) -> Result<Option<String>> {
    if !run.follows() || store.tip().is_some() {
        return Ok(None);
    }
    let Some((found, _)) = Archive::open(&args.verification.paths)?.range() else {
        return Ok(None);
    };
    let first = args.verification.from.unwrap_or(0);
    let text = || {
        let (first, found) = (grouped(first), grouped(found));
        format!("block {first} is not there, the first one is {found} (--from begins with it)")
    };
    Ok((found > first.max(1)).then(text))
}

/// How much of the state's log is kept, and how the state is.
pub(super) fn limits(args: &Import, settings: &Settings, threads: usize) -> Limits {
    let memory = usize::try_from(args.verification.cache << 20).unwrap_or(usize::MAX);
    let (state, disk) = (settings.state, settings.disk(memory, threads));
    Limits { depth: args.unwind_depth, state, disk, ..Limits::default() }
}

/// Says what opening the store had to repair.
fn tell_recovery(recovery: &Recovery) {
    for error in &recovery.passed_over {
        eprintln!("store: a newer commit could not be used: {error}");
    }
    if recovery.cut_bytes > 0 {
        let bytes = grouped(recovery.cut_bytes);
        eprintln!("store: {bytes} bytes that an earlier run had not committed were cut off");
    }
    if recovery.index_runs_built > 0 {
        eprintln!("store: {} parts of the hash index were rebuilt", recovery.index_runs_built);
    }
}

/// `blockmill verify` of an archive.
pub fn verify(args: &Verification, run: Run) -> Result<Answer> {
    let settings = settings(&args.with)?;
    let mut job = Job::prepare(args, settings, None, VERIFY_SEAL, run.cancel.clone())?;
    job.options.consumer = run.blocks.as_ref().map(blocks::consumer);
    job.run(Sink::Discard, run)
}

/// The options that were asked for.
pub(super) fn settings(asked: &[String]) -> Result<Settings> {
    Ok(Settings::default().with(asked)?)
}

/// The same for an import into a store, which keeps its state where it is. What contradicts that is
/// refused when blocks are executed.
pub(super) fn settings_for(asked: &[String], store: &ChainStore) -> Result<Settings> {
    let mut settings = Settings::default();
    if let Some(kept) = KeptState::of_store(store)? {
        kept.apply(&mut settings);
    }
    let settings = settings.with(asked)?;
    // the store may keep its state in what this program was built without
    settings.flat_store.check_available()?;
    Ok(settings)
}

/// An archive and what to do with it.
pub(super) struct Job {
    pub archive: Archive,
    pub options: Options,
    /// The genesis.json of the chain; none of a built-in network.
    genesis: Option<PathBuf>,
    /// Why blocks are not executed, where the user did not say how deep to verify.
    shallow: Option<String>,
}

impl Job {
    pub fn prepare(
        args: &Verification,
        settings: Settings,
        store: Option<&ChainStore>,
        seal: &str,
        cancel: Cancel,
    ) -> Result<Self> {
        let mut archive = Archive::open(&args.paths)?;
        if let Some(path) = &args.beacon_roots {
            let is_ere = archive.format() == Format::Ere;
            ensure!(is_ere, "--beacon-roots is for ere files, which have proofs");
            archive = archive.with_beacon_roots(BeaconRoots::open(path)?);
        }
        ensure!(args.assume_valid.is_none(), "--assume-valid is for Bitcoin; see --trust");
        let found = network::detect(args.chain.as_deref(), &archive, &args.paths, store)?;
        let tip = store.and_then(ChainStore::tip);
        let (level, shallow) = level_of(args, &archive, tip.as_ref());
        let asked: SealMode = args.seal.as_deref().unwrap_or(seal).parse().context("--seal")?;
        let mode = match found.spec.consensus.signed_by() {
            None => asked,
            Some(engine) => {
                let is_off = args.seal.is_none() || asked == SealMode::Off;
                ensure!(is_off, "--seal {asked}: blocks are signed ({engine}); expected off");
                SealMode::Off
            }
        };
        let trust: Result<Vec<Hash>> = args.trust.iter().map(|hash| parse_hash(hash)).collect();
        let is_on_disk = level == Level::Execution && settings.state != StateKind::Memory;
        // one more works while another waits for pages of the state, or for who changes it
        let most = || host::cores() + usize::from(is_on_disk);
        let options = Options {
            spec: Arc::new(found.spec),
            level,
            seal: SealPolicy { mode, seed: args.seal_seed.unwrap_or_else(host::random_seed) },
            settings,
            threads: args.threads.unwrap_or_else(most),
            chunk: ChunkLimit { blocks: args.chunk.max(1), ..ChunkLimit::default() },
            from: args.from,
            until: args.until,
            partial: args.partial,
            recheck: true,
            trust: trust?,
            caches: Caches::new(args.ethash_cache.clone(), CACHES),
            now: Some(args.now.unwrap_or_else(host::unix_seconds)),
            consumer: None,
            cancel,
        };
        Ok(Self { archive, options, genesis: found.file, shallow })
    }

    /// Has a store keep the chain's genesis.json, unless it is of another chain.
    pub fn keep_chain(&self, store: &ChainStore) -> Result<()> {
        let Some(genesis) = &self.genesis else { return Ok(()) };
        match store.tip() {
            Some(tip) if tip.chain != self.options.spec.genesis.hash => Ok(()),
            _ => Ok(keep_in(store.dir(), genesis)?),
        }
    }

    fn run(self, mut sink: Sink, run: Run) -> Result<Answer> {
        let (ended, outcome) = self.engine(&mut sink, &run)?;
        self.end(&ended, &outcome, None, run)
    }

    /// Calls the engine, and shows how far it is.
    pub fn engine(&self, sink: &mut dyn BlockSink, run: &Run) -> Result<(Done, Result<(), Error>)> {
        let Self { archive, options, .. } = self;
        let (chain, level) = (&options.spec.name, options.level.name());
        let _server = run.serve(chain, level, archive.files(), archive.disk_bytes())?;
        let last = archive.range().and_then(|(_, last)| last);
        last.into_iter().for_each(|last| options.cancel.live().knows(last));
        let live = options.cancel.live();
        live.verify(options.level, bytes(archive, options.until));
        Ok(progress::blocks(live, |progress| engine(archive, options, sink, progress)))
    }

    /// The answer of a run of the engine.
    pub fn end(
        self,
        ended: &Done,
        outcome: &Result<(), Error>,
        note: Option<String>,
        run: Run,
    ) -> Result<Answer> {
        let Self { archive, options, shallow, .. } = self;
        let mut record =
            record::of(ended, outcome, &archive, &options, crate::program::this(), &run.label);
        record.notes.extend(shallow);
        record.notes.extend(archive.copied());
        record.notes.extend(note);
        let ending = Ending {
            source: "this archive holds",
            unit: "block",
            resumed: ended.compared.is_some(),
            hint: outcome.as_ref().err().and_then(hint),
        };
        run.end(record, &ending)
    }
}

/// About how many bytes the blocks up to `until` have.
pub(super) fn bytes(archive: &Archive, until: Option<u64>) -> u64 {
    let all = archive.disk_bytes();
    let (Some(until), Some((first, Some(last)))) = (until, archive.range()) else { return all };
    let (asked, blocks) = (until.min(last).saturating_sub(first) + 1, last - first + 1);
    u64::try_from(u128::from(all) * u128::from(asked) / u128::from(blocks)).unwrap_or(all)
}

/// What the reader of an error may not know.
pub(super) fn hint(error: &Error) -> Option<&'static str> {
    if let Error::OtherChain { expected, .. } = error {
        // a store of headers is upgraded when that is said
        let upgrade =
            "use another --data folder, or --level bodies or execution to upgrade this store";
        let other = "use another --data folder for it";
        return Some(if expected.ends_with("headers") { upgrade } else { other });
    }
    if matches!(error, Error::StoredState { .. } | Error::StateAhead { .. }) {
        return Some(
            "`blockmill check DATA --repair` gives up the state, and the next import executes the \
             blocks of the store again",
        );
    }
    let of_store = match error {
        Error::Store(error) => Some(error),
        Error::State(error) => Some(error.store()),
        _ => None,
    };
    match of_store {
        Some(blockmill_store::Error::Corrupt { .. }) => {
            return Some(blockmill_store::CORRUPTION_HINT);
        }
        Some(blockmill_store::Error::Mismatch { what: BLOCK_PARTS, .. }) => {
            return Some(
                "use another --data folder for it: a store keeps the same parts of every block",
            );
        }
        _ => {}
    }
    let Error::Fault(fault) = error else { return None };
    let Cause::Rule(violation) = &fault.cause else { return None };
    match violation.rule {
        Rule::SignatureChainId => Some(
            "this may be an archive of another chain, or its genesis.json lacks the chain's id",
        ),
        Rule::SealMixHash | Rule::SealBoundary => {
            Some("generated and test chains carry no proof of work: use --seal off for them")
        }
        Rule::Genesis | Rule::ParentHash if fault.block <= 1 => {
            Some("this may be an archive of another chain: see --chain")
        }
        Rule::ParentHash => {
            Some("this header or the one before it is damaged, or they are of different chains")
        }
        Rule::StateRoot | Rule::ExecutionRules => {
            Some("--level bodies verifies all that needs no execution, generated chains too")
        }
        Rule::KnownBlock => {
            Some("the store holds another block of this number: use another --data folder")
        }
        _ => None,
    }
}

/// The level asked for, or the deepest one that there is everything for; then, too, why blocks are
/// not executed.
fn level_of(
    args: &Verification,
    archive: &Archive,
    stored: Option<&Tip>,
) -> (Level, Option<String>) {
    if let Some(level) = args.level {
        return (level, None);
    }
    if !archive.has_bodies() {
        return (Level::Headers, None);
    }
    let first = archive.range().map_or(0, |(first, _)| first).max(args.from.unwrap_or(0));
    let why = match stored.map(|tip| Level::stored(tip.level)) {
        Some(Some(Level::Execution)) => return (Level::Execution, None),
        Some(_) => "the store has no state (where it begins with block 0, --level execution \
                    makes it)"
            .to_owned(),
        None if first <= 1 => return (Level::Execution, None),
        None => format!("the state before block {} is not known", grouped(first)),
    };
    (Level::Bodies, Some(format!("transactions are not executed: {why}")))
}

/// A block's hash, as Ethereum writes it.
fn parse_hash(text: &str) -> Result<Hash> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hash = bytes_of(digits).and_then(|bytes| bytes.try_into().ok());
    hash.with_context(|| format!("--trust {text}: expected 0x and 64 hexadecimal digits"))
}
