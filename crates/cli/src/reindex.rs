//! `import` and `verify` for Bitcoin block files.

use crate::answer::Answer;
use crate::args::{Import, Level as LevelArg, Verification, Verify};
use crate::import::cores;
use crate::output::{self, Ending};
use crate::outputs;
use crate::progress::{Display, Progress};
use crate::sources;
use crate::stop;
use anyhow::{Context, Result, bail, ensure};
use archive::blkdat::{self, BlockFiles, Network};
use bitcoin::import::{Options, Run, import};
use bitcoin::params::Params;
use bitcoin::variants::Variants;
use bitcoin::{Error, Hash, Level, record};
use chain::FaultReport;
use pipeline::Cancel;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Are the paths Bitcoin block files?
pub fn is_meant(args: &Verification) -> bool {
    // the main network of Ethereum has the same name
    let is_named = |chain: &str| chain != "mainnet" && named(chain).is_ok();
    args.chain.as_deref().is_some_and(is_named)
        || args.paths.iter().any(|path| blkdat::looks_like(path))
}

/// `blockmill import` of block files.
pub fn run_import(args: &Import, json: bool, cancel: Cancel) -> Result<Answer> {
    ensure!(
        !archive::is_block_store(&args.data),
        "--data {}: expected a folder for a Bitcoin chain, found a store of Ethereum",
        args.data.display()
    );
    let mut job = Job::prepare(&args.verification, cancel)?;
    let records = args.data.join("records");
    job.record_to.get_or_insert_with(|| records.join(format!("{}.json", output::time_stamp())));
    stop::leaves_after_commit(stop::of_store(&args.data));
    job.run("import", &args.data, true, json)
}

/// `blockmill verify` of block files. The coins need room on disk when memory is short: a folder
/// that is gone afterwards.
pub fn run_verify(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let job = Job::prepare(&args.verification, cancel)?;
    let folder = std::env::temp_dir().join(format!("blockmill-verify-{}", std::process::id()));
    std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    archive::output::will_go(&folder);
    let exit = job.run("verify", &folder, false, json);
    std::fs::remove_dir_all(&folder)
        .with_context(|| format!("cannot remove {}", folder.display()))?;
    exit
}

/// Block files and what to do with them.
struct Job {
    files: BlockFiles,
    options: Options,
    /// Did the user leave the level to us?
    default_level: bool,
    label: Option<String>,
    record_to: Option<PathBuf>,
    notes: Vec<String>,
}

impl Job {
    fn prepare(args: &Verification, cancel: Cancel) -> Result<Self> {
        outputs::record(args.record.as_deref(), &args.paths, args.force)?;
        let variants = Variants::default().with(&args.variants)?;
        let (files, params) = open(&args.paths, args.chain.as_deref())?;
        let mut options = Options {
            level: match args.level {
                Some(LevelArg::Headers) => Level::Headers,
                Some(LevelArg::Bodies) => Level::Bodies,
                Some(LevelArg::Execution) | None => Level::Execution,
            },
            variants,
            threads: args.threads.unwrap_or_else(cores),
            memory: cache(args.cache)?,
            assume_valid: args.assume_valid.as_deref().map(parse_id).transpose()?,
            until: args.until.map(|height| height.try_into().unwrap_or(u32::MAX)),
            by_itself: args.level.is_some() || args.from.is_some(),
            from: args.from.map(|height| height.try_into().unwrap_or(u32::MAX)),
            partial: args.partial,
            commit_every: Duration::from_secs(args.commit_every),
            now: Some(output::unix_seconds()),
            cancel,
            ..Options::new(params)
        };
        ensure!(args.trust.is_empty(), "--trust is for Ethereum; see --assume-valid");
        sources::expect_tips(&args.stores, &mut options)?;
        let (label, record_to) = (args.label.clone(), args.record.clone());
        let default_level = args.level.is_none();
        let notes = sources::notes(&args.stores).collect();
        Ok(Self { files, options, default_level, label, record_to, notes })
    }

    fn run(mut self, label: &str, data: &Path, stores: bool, json: bool) -> Result<Answer> {
        let (mut run, mut outcome) = self.import(data, json);
        if self.default_level && matches!(outcome, Err(Error::NoBeginning(_))) {
            // the deepest that such files can be verified to
            self.options.level = Level::Bodies;
            (run, outcome) = self.import(data, json);
        }
        if let Err(error @ (Error::NoBeginning(_) | Error::OtherHeight { .. })) = outcome {
            // what was asked for cannot be: nothing was done that a record could tell
            return Err(error.into());
        }
        let label = self.label.as_deref().unwrap_or(label);
        let mut record =
            record::of(&run, &outcome, &self.files, &self.options, program::this(), label);
        record.notes.append(&mut self.notes);
        record.notes.extend(self.files.copied());
        if stores {
            record.result.committed = committed(data, &self.options, &mut record.notes);
        }
        let ending = Ending {
            source: "these files hold",
            unit: "height",
            resumed: run.resumed.is_some(),
            hint: outcome.as_ref().err().and_then(hint),
        };
        output::end(&mut record, self.record_to.as_deref(), &ending, json)
    }
}

impl Job {
    fn import(&self, data: &Path, json: bool) -> (Run, Result<(), Error>) {
        let (number, bytes) = (self.files.files().len(), self.files.bytes());
        let mut display = Display::indexing(number, bytes, self.options.level.name(), json);
        let mut done = 0;
        stop::writes(data, bytes);
        let ended = import(&self.files, &self.options, data, |progress| {
            done = progress.bytes;
            display.update(&of_chain(progress));
        });
        display.finish();
        stop::still_to_come(bytes.saturating_sub(done));
        ended
    }
}

/// The bytes of so many MiB for coins, if the machine has as many.
pub fn cache(mebibytes: u64) -> Result<u64> {
    let (wanted, found) = (mebibytes << 20, pipeline::machine::Machine::detect().memory_bytes);
    let shown = report::bytes(found);
    ensure!(
        found == 0 || wanted <= found,
        "--cache {mebibytes}: expected MiB that this machine has, found {shown} of memory in all"
    );
    Ok(wanted)
}

/// How far a run has come, as the display takes it.
pub fn of_chain(progress: &bitcoin::import::Progress) -> Progress {
    Progress {
        number: progress.height.into(),
        blocks: progress.blocks,
        bytes: progress.bytes,
        total_bytes: Some(progress.total_bytes),
        committed: progress.committed.map(u64::from),
    }
}

/// The last block of the store, read again from the disk: nothing else is said to be committed.
pub fn committed(data: &Path, options: &Options, notes: &mut Vec<String>) -> Option<u64> {
    match bitcoin::chainstate::committed(data, options) {
        Ok(tip) => tip.map(|tip| tip.height.into()),
        Err(error) => {
            notes.push(format!("the store cannot be read again: {error}"));
            None
        }
    }
}

/// Opens block files and finds out their network, unless the user says it.
pub fn open(paths: &[PathBuf], chain: Option<&str>) -> Result<(BlockFiles, Params)> {
    let named = chain.map(named).transpose()?;
    let network = named.as_ref().map(network_of);
    if let Some(network) = network {
        refuse_others(paths, network)?;
    }
    let files = blkdat::open(paths, network)?;
    let found = || files.network().and_then(|network| Params::by_magic(network.magic()));
    match named.or_else(found) {
        Some(params) => Ok((files, params)),
        None => bail!("cannot tell the network of these blocks; say --chain: {}", names()),
    }
}

/// Says so when the files are clearly those of another network than the user thinks. The name is
/// needed where nothing in the files tells it, or where a datadir has several.
fn refuse_others(paths: &[PathBuf], expected: Network) -> Result<()> {
    let Ok(files) = blkdat::open(paths, None) else { return Ok(()) };
    match (files.network(), files.files().first()) {
        (Some(found), Some(file)) if found != expected => {
            let file = file.path().display();
            bail!("--chain: expected blocks of {expected}, found blocks of {found} in {file}")
        }
        _ => Ok(()),
    }
}

/// How files name the network; what has no name of its own is a signet of somebody's.
pub fn network_of(params: &Params) -> Network {
    let magic = params.magic;
    Network::from_magic(magic).unwrap_or(Network::Signet { magic })
}

/// The network of this name: one of the built-in ones, or `signet:` and a challenge in hex.
fn named(chain: &str) -> Result<Params> {
    if let Some(params) = Params::by_name(chain) {
        return Ok(params);
    }
    if let Some(digits) = chain.strip_prefix("signet:") {
        let challenge = bytes_of(digits).with_context(|| format!("--chain {chain}"))?;
        return Ok(Params::signet_with(challenge));
    }
    bail!("--chain {chain}: expected {} or signet:CHALLENGE", names())
}

fn names() -> String {
    Params::all().map(|params| params.name).join(", ")
}

fn bytes_of(digits: &str) -> Result<Vec<u8>> {
    ensure!(digits.len().is_multiple_of(2) && digits.is_ascii(), "expected pairs of hex digits");
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16);
    Ok((0..digits.len()).step_by(2).map(pair).collect::<Result<_, _>>()?)
}

/// The answer of a command whose store could not be brought up to date.
pub fn failure(error: &Error, data: &Path, options: &Options) -> Answer {
    let report = FaultReport { hint: hint(error).map(str::to_owned), ..error.report() };
    let mut notes = vec![];
    let kept = committed(data, options, &mut notes).map(|height| output::kept("height", height));
    Answer { error: Some(report), kept, notes, ..Answer::of(error.status()) }
}

/// What the reader of an error may not know.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::OtherChain { .. } => Some("use another --data folder for it"),
        Error::Damaged(_) | Error::Store(store::Error::Damaged { .. }) => Some(store::DAMAGE_HINT),
        _ => None,
    }
}

/// A block's hash as users write it: 64 hexadecimal digits, last byte first.
pub fn parse_id(text: &str) -> Result<Hash> {
    let mut hash = [0; 32];
    ensure!(
        text.len() == 64 && text.is_ascii(),
        "--assume-valid {text}: expected 64 hexadecimal digits"
    );
    for (i, byte) in hash.iter_mut().rev().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16)
            .with_context(|| format!("--assume-valid {text}: expected hexadecimal digits"))?;
    }
    Ok(hash)
}
