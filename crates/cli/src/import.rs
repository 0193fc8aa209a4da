//! `import` and `verify`.

use crate::answer::Answer;
use crate::args::{Import, Verification, Verify};
use crate::data_folder;
use crate::ethereum_chain;
use crate::output::{self, Ending};
use crate::outputs;
use crate::progress::Display;
use crate::raise;
use crate::reindex;
use crate::stop;
use anyhow::{Context, Result, bail, ensure};
use archive::{Archive, ChunkLimit};
use ethereum::commit::Sink;
use ethereum::error::Rule;
use ethereum::ethash::Caches;
use ethereum::fault::{Cause, Error};
use ethereum::import::{Options, import};
use ethereum::seal::{SealMode, SealPolicy};
use ethereum::variants::{OF_BENCHMARKS, Variants};
use ethereum::{Hash, Level, record};
use pipeline::Cancel;
use std::collections::hash_map::RandomState;
use std::fs::metadata;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::ChainStore;

/// Seals that are checked unless the user says otherwise: imports are in a hurry, verdicts are not.
const IMPORT_SEAL: &str = "1/100";
const VERIFY_SEAL: &str = "all";

/// Ethash caches in memory: those of two epochs, as a chunk may lie across their border.
const CACHES: usize = 2;

/// `blockmill import`.
pub fn run_import(args: &Import, json: bool, cancel: Cancel) -> Result<Answer> {
    outputs::record(
        args.verification.record.as_deref(),
        &args.verification.paths,
        args.verification.force,
    )?;
    stop::leaves(stop::of_store(&args.data));
    stop::writes(&args.data, 0);
    // before a store is made for nothing
    for path in args.verification.paths.iter().filter(|path| !archive::is_pipe(path)) {
        metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    }
    if reindex::is_meant(&args.verification) {
        return reindex::run_import(args, json, cancel);
    }
    data_folder::refuse_for_ethereum(&args.data)?;
    let is_data = |path: &PathBuf| same_folder(path, &args.data);
    ensure!(
        !args.verification.paths.iter().any(is_data),
        "--data {}: a store cannot be imported into itself",
        args.data.display()
    );
    let variants = variants(&args.verification.variants)?;
    // nor for what is no archive
    Archive::open(&args.verification.paths)?;
    let (store, recovery) = ChainStore::open(&args.data, &store::Options::default())
        .with_context(|| format!("cannot open the store {}", args.data.display()))?;
    if !json {
        output::recovered(&recovery);
    }
    raise::finish(&args.data, &store, json)?;
    let is_of_headers = store.tip().is_some_and(|tip| tip.level == Level::Headers as u8);
    if is_of_headers && args.verification.level == Some(Level::Bodies) {
        return raise::run(args, store, json, cancel);
    }
    let stored = store.tip().map(|tip| tip.chain);
    let records = args.data.join("records");
    let mut job = Job::prepare(&args.verification, variants, stored, IMPORT_SEAL, cancel)?;
    job.record_to.get_or_insert_with(|| records.join(format!("{}.json", output::time_stamp())));
    job.run("import", Sink::Segments(Box::new(store)), json)
}

/// Do two paths lead to one folder that is there?
fn same_folder(a: &Path, b: &Path) -> bool {
    let (a, b) = (std::fs::canonicalize(a), std::fs::canonicalize(b));
    a.is_ok_and(|a| b.is_ok_and(|b| a == b))
}

/// `blockmill verify`.
pub fn run_verify(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    stop::leaves("verify keeps nothing");
    outputs::record(
        args.verification.record.as_deref(),
        &args.verification.paths,
        args.verification.force,
    )?;
    if reindex::is_meant(&args.verification) {
        return reindex::run_verify(args, json, cancel);
    }
    let variants = variants(&args.verification.variants)?;
    let job = Job::prepare(&args.verification, variants, None, VERIFY_SEAL, cancel)?;
    job.run("verify", Sink::Discard, json)
}

/// The variants that were asked for. Those of how headers are stored are not an import's.
fn variants(settings: &[String]) -> Result<Variants> {
    let name = |setting: &String| setting.split('=').next().map(str::to_owned);
    let is_of_benchmarks =
        |setting: &&String| name(setting).is_some_and(|name| OF_BENCHMARKS.contains(&&*name));
    if let Some(setting) = settings.iter().find(is_of_benchmarks) {
        bail!("--with {setting}: only `bench headers` stores headers in other ways");
    }
    Ok(Variants::default().with(settings)?)
}

/// An archive and what to do with it.
struct Job {
    archive: Archive,
    options: Options,
    label: Option<String>,
    record_to: Option<PathBuf>,
}

impl Job {
    fn prepare(
        args: &Verification,
        variants: Variants,
        stored: Option<Hash>,
        seal: &str,
        cancel: Cancel,
    ) -> Result<Self> {
        let archive = Archive::open(&args.paths)?;
        if let Some(Level::Execution) = args.level {
            return Err(Error::Level(Level::Execution).into());
        }
        ensure!(args.assume_valid.is_none(), "--assume-valid is for Bitcoin; see --trust");
        let spec = ethereum_chain::detect(args.chain.as_deref(), &archive, &args.paths, stored)?;
        let seal = args.seal.as_deref().unwrap_or(seal);
        let mode: SealMode = seal.parse().context("--seal")?;
        let trust: Result<Vec<Hash>> = args.trust.iter().map(|hash| parse_hash(hash)).collect();
        let options = Options {
            spec: Arc::new(spec),
            level: level_of(args.level, &archive),
            seal: SealPolicy { mode, seed: args.seal_seed.unwrap_or_else(random_seed) },
            variants,
            threads: args.threads.unwrap_or_else(cores),
            chunk: ChunkLimit { blocks: args.chunk.max(1), ..ChunkLimit::default() },
            from: args.from,
            until: args.until,
            partial: args.partial,
            trust: trust?,
            caches: Caches::new(args.ethash_cache.clone(), CACHES),
            now: Some(output::unix_seconds()),
            cancel,
        };
        let (label, record_to) = (args.label.clone(), args.record.clone());
        Ok(Self { archive, options, label, record_to })
    }

    fn run(self, label: &str, mut sink: Sink, json: bool) -> Result<Answer> {
        let level = self.options.level.name();
        let mut display = Display::new(self.archive.disk_bytes(), level, json);
        let (total, mut done) = (self.archive.disk_bytes(), 0);
        let (run, outcome) = import(&self.archive, &self.options, &mut sink, |progress| {
            done = progress.bytes;
            display.update(progress);
        });
        display.finish();
        stop::still_to_come(total.saturating_sub(done));
        let label = self.label.as_deref().unwrap_or(label);
        let mut record =
            record::of(&run, &outcome, &self.archive, &self.options, program::this(), label);
        record.notes.extend(self.archive.copied());
        let ending = Ending {
            source: "this archive holds",
            unit: "block",
            resumed: run.compared.is_some(),
            hint: outcome.as_ref().err().and_then(hint),
        };
        output::end(&mut record, self.record_to.as_deref(), &ending, json)
    }
}

/// What the reader of an error may not know.
fn hint(error: &Error) -> Option<&'static str> {
    if let Error::OtherChain { expected, .. } = error {
        // a store of headers is raised when that is said
        let raise = "use another --data folder, or --level bodies to add bodies to this store";
        let other = "use another --data folder for it";
        return Some(if expected.ends_with("headers") { raise } else { other });
    }
    if matches!(error, Error::Store(store::Error::Damaged { .. })) {
        return Some(store::DAMAGE_HINT);
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
            Some("this header or the one before it is damaged, or they are foreign")
        }
        Rule::KnownBlock => {
            Some("the store holds another block of this number: use another --data folder")
        }
        _ => None,
    }
}

/// The level asked for, or the deepest that the archive's format can give.
fn level_of(asked: Option<Level>, archive: &Archive) -> Level {
    match (asked, archive.has_bodies()) {
        (Some(Level::Headers), _) | (None, false) => Level::Headers,
        _ => Level::Bodies,
    }
}

/// Threads that this machine runs at the same time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A number that nobody could know before: the standard library's random keys, hashed.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn parse_hash(text: &str) -> Result<Hash> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut hash = [0; 32];
    let valid = digits.len() == 64 && digits.is_ascii();
    for (i, byte) in hash.iter_mut().enumerate().take_while(|_| valid) {
        *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16)
            .with_context(|| format!("--trust {text}: expected hexadecimal digits"))?;
    }
    anyhow::ensure!(valid, "--trust {text}: expected 0x and 64 hexadecimal digits");
    Ok(hash)
}
