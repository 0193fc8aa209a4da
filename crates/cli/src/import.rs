//! `import` and `verify`: what they have in common for every chain. How a chain is verified stands
//! in the `import.rs` of its folder.

use crate::answer::{Answer, Payload};
use crate::args::{Import, Verification, Verify};
use crate::data_folder::name_of;
use crate::follow::{self, Round};
use crate::library::BlockSender;
use crate::next::Asked;
use crate::print::{self, Detail};
use crate::profile::Profiler;
use crate::serve::Server;
use crate::{bitcoin, checksums, ethereum, host, neo, next, outputs, paths, serve, shard, stop};
use anyhow::{Context, Result, ensure};
use blockmill_archive::Family;
use blockmill_archive::output::keep_store_apart;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::record::RunRecord;
use blockmill_platform::files::expect_no_link;
use blockmill_platform::remote::is_remote;
use blockmill_report::{Colour, View};
use blockmill_verdict::{FaultReport, Shortfall, Status, grouped};
use std::fs::metadata;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A run of any chain: its name, and what becomes of its record.
pub struct Run {
    /// Name in tables and charts.
    pub label: String,
    /// Where the record is written, if it is.
    record_to: Option<PathBuf>,
    /// `import`, `verify` or another command, and what was given to it.
    asked: Asked,
    /// Is nothing to be printed but the answer's document?
    pub json: bool,
    serve: Option<SocketAddr>,
    profiler: Option<Profiler>,
    /// What a round of an import that follows a growing archive shares with the others.
    round: Option<Round>,
    /// Receives the verified blocks, if a program reads them.
    pub blocks: Option<BlockSender>,
    /// Files that a list of checksums has and that are not there, and the other way around.
    lacks: Vec<Shortfall>,
    /// Set when the run should stop.
    pub cancel: Cancel,
}

/// `blockmill import`.
pub fn run_import(args: &Import, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    keep_store_apart(&args.data, &asked.paths)?;
    let writes = || {
        stop::leaves(stop::of_store(&args.data));
        stop::writes(&args.data, 0);
    };
    if let Some(dump) = &args.state {
        writes();
        return ethereum::state_dump::import(args, dump, json, cancel);
    }
    // before a store is created for nothing
    let is_here = |path: &&PathBuf| !is_remote(path) && !blockmill_archive::is_pipe(path);
    for path in asked.paths.iter().filter(is_here) {
        metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    }
    if args.follow {
        writes();
        return follow::run(args, json, cancel);
    }
    if let [path] = &asked.paths[..]
        && ethereum::snapshot::is_snapshot(path)
            .with_context(|| format!("cannot read {}", path.display()))?
    {
        writes();
        return ethereum::snapshot::import(args, path, json, &cancel);
    }
    let mut checked = checksums::compare(asked.checksums.as_deref(), &asked.paths, json, &cancel)?;
    let record_to = asked.record.clone().unwrap_or_else(|| default_record(&args.data));
    let mut run = Run::new(asked, "import", Some(record_to), json, cancel)?;
    run.lacks = checked.take_lacks();
    let family = family(asked)?;
    expect_options_of(family, asked)?;
    ensure_of(family, &[Family::Neo], args.history, "--history")?;
    paths::expect_folder(&args.data)?;
    writes();
    Ok(checked.with(import(args, family, run)?))
}

/// Imports an archive of these chains into a store.
pub fn import(args: &Import, family: Family, run: Run) -> Result<Answer> {
    match family {
        Family::Ethereum => ethereum::import::import(args, run),
        Family::Bitcoin => bitcoin::import::import(args, run),
        Family::Neo => neo::import::import(args, run),
    }
}

/// `blockmill verify`.
pub fn run_verify(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    if args.shard || args.merge {
        return shard::run(args, json, cancel);
    }
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    ensure!(asked.record.is_some() || !asked.profile, "--profile: say --record FILE, too");
    let mut checked = checksums::compare(asked.checksums.as_deref(), &asked.paths, json, &cancel)?;
    let mut run = Run::new(asked, "verify", asked.record.clone(), json, cancel)?;
    run.lacks = checked.take_lacks();
    Ok(checked.with(verify(asked, run)?))
}

/// Verifies an archive and keeps nothing.
pub fn verify(asked: &Verification, run: Run) -> Result<Answer> {
    let family = family(asked)?;
    expect_options_of(family, asked)?;
    match family {
        Family::Ethereum => ethereum::import::verify(asked, run),
        Family::Bitcoin => bitcoin::import::verify(asked, run),
        Family::Neo => neo::import::verify(asked, run),
    }
}

/// Whose chain is meant: the name of the network says it, or what the files hold.
///
/// # Errors
/// When a path or a file in it cannot be opened.
pub fn family(args: &Verification) -> Result<Family> {
    if let (Some(from), Some(until)) = (args.from, args.until) {
        ensure!(from <= until, "--until {until} is before --from {from}");
    }
    for path in &args.paths {
        refuse_store_of_neo(path)?;
    }
    let is_named = args.chain.as_deref().is_some_and(bitcoin::network::is_named);
    if is_named { Ok(Family::Bitcoin) } else { Ok(Family::detect(&args.paths)?) }
}

/// Refuses a store of Neo, which is no archive, with the commands that read it.
fn refuse_store_of_neo(path: &Path) -> Result<()> {
    let command = |words: &[&str]| next::command(words, &[path.to_path_buf()]);
    ensure!(
        !neo::is_store(path)?,
        "{}: expected an archive, found a store of Neo: `{}` checks it, and `{}` writes its \
         blocks as a dump",
        path.display(),
        command(&["check"]),
        command(&["convert", "--to", "acc", "--out", "DUMP"])
    );
    Ok(())
}

/// Refuses options that only other chains have.
pub fn expect_options_of(family: Family, asked: &Verification) -> Result<()> {
    const ETHEREUM: &[Family] = &[Family::Ethereum];
    for (given, name, families) in [
        (asked.seal.is_some(), "--seal", ETHEREUM),
        (asked.seal_seed.is_some(), "--seal-seed", ETHEREUM),
        (asked.ethash_cache.is_some(), "--ethash-cache", ETHEREUM),
        (asked.beacon_roots.is_some(), "--beacon-roots", ETHEREUM),
        (asked.now.is_some(), "--now", &[Family::Ethereum, Family::Bitcoin]),
        (asked.assume_valid.is_some(), "--assume-valid", &[Family::Bitcoin, Family::Neo]),
    ] {
        ensure_of(family, families, given, name)?;
    }
    Ok(())
}

/// Refuses an option that is `given` for blocks of another chain than it is for.
fn ensure_of(family: Family, families: &[Family], given: bool, name: &str) -> Result<()> {
    let names: Vec<_> = families.iter().map(|family| name_of(*family)).collect();
    let (of, found) = (names.join(" and "), name_of(family));
    ensure!(!given || families.contains(&family), "{name} is for {of}, and this is {found}");
    Ok(())
}

/// Where an import's record is written unless the user says it.
pub fn default_record(data: &Path) -> PathBuf {
    data.join(RECORDS).join(format!("{}.json", host::time_stamp()))
}

/// Run records of imports, in the folder of the store.
pub const RECORDS: &str = "records";

/// What the record of a run does not say about its end.
pub struct Ending {
    /// Whose blocks they are, as in "this archive holds".
    pub source: &'static str,
    /// What tells them apart: a block's number or its height.
    pub unit: &'static str,
    /// Did the run resume after blocks of an earlier one?
    pub resumed: bool,
    /// What the reader of its error may not know.
    pub hint: Option<&'static str>,
}

impl Run {
    /// Of this verb.
    pub fn new(
        args: &Verification,
        verb: &'static str,
        record_to: Option<PathBuf>,
        json: bool,
        cancel: Cancel,
    ) -> Result<Self> {
        let label = args.label.clone().unwrap_or_else(|| verb.to_owned());
        let profiler = args.profile.then(Profiler::start).transpose().context("--profile")?;
        let (serve, asked) = (args.serve, Asked::new(verb, args));
        let (round, blocks, lacks) = (None, None, vec![]);
        Ok(Self { label, record_to, asked, json, serve, profiler, round, blocks, lacks, cancel })
    }

    /// A round of an import that follows a growing archive: it prints nothing at its end, and
    /// leaves the record to its caller.
    pub fn of_round(args: &Verification, json: bool, cancel: Cancel, round: Round) -> Result<Self> {
        Ok(Self { round: Some(round), ..Self::new(args, "import", None, json, cancel)? })
    }

    /// Whether more blocks may come to the archive, so that a round waits for what is missing.
    pub fn follows(&self) -> bool {
        self.round.is_some()
    }

    /// Whether blocks that the store has are compared with those of the archive.
    pub fn rechecks(&self) -> bool {
        self.round.as_ref().is_none_or(|round| round.recheck)
    }

    /// Shows the run to whoever looks, where that was asked for, until the server is dropped.
    pub fn serve(
        &self,
        chain: &str,
        level: &str,
        paths: &[PathBuf],
        bytes: u64,
    ) -> Result<Option<Server>> {
        let about = serve::about(&self.label, (chain, level), (paths, bytes));
        if let Some(round) = &self.round {
            round.server.iter().for_each(|server| server.describe(about.clone()));
            return Ok(None);
        }
        let Some(address) = self.serve else { return Ok(None) };
        serve::start(address, self.cancel.live().clone(), about).map(Some)
    }

    /// Writes and prints the record of the run, which is over.
    pub fn end(mut self, mut record: RunRecord, ending: &Ending) -> Result<Answer> {
        record.command = crate::program::command_line();
        self.add_lacks(&mut record);
        if !self.stores() {
            // the state that it needed goes with it
            record.result.committed = None;
        }
        let is_interrupted = record.result.status == Status::Interrupted;
        if is_interrupted && record.result.committed.is_some() {
            record.notes.push("stopped on request; the next run resumes here".into());
        }
        if let Some(profiler) = self.profiler.take() {
            match profiler.stop() {
                Ok(profile) => record.profile = Some(profile),
                Err(error) => warn(&mut record, format!("the profile is lost: {error:#}")),
            }
        }
        if let (Some(fault), Some(hint)) = (&mut record.result.fault, ending.hint) {
            fault.hint = Some(hint.to_owned());
        }
        if self.follows() {
            let answer = answer(&record, ending.unit);
            // what is missing may come
            let goes_on = answer.status.is_success() || answer.status == Status::Incomplete;
            let committed = record.result.committed.filter(|_| goes_on);
            let resumes = committed.map(|number| kept(ending.unit, number) + RESUMES);
            let answer = Answer { kept: resumes.or(answer.kept), ..answer };
            return Ok(Answer { result: Some(Payload::Record(Box::new(record))), ..answer });
        }
        // the run's own result is reported whatever becomes of its record
        let saved = self.save(&record);
        let is_old = record.data.blocks == 0 && ending.resumed && record.result.error.is_none();
        if !self.json {
            let nothing_new = self.nothing_new(&record, ending);
            let next = next::after(&record, &self.asked, self.record_to.as_deref());
            show(&record, self.stores(), is_old.then_some(nothing_new.as_str()), next.as_deref());
        }
        if let Err(error) = saved {
            warn(&mut record, format!("the run record is not saved: {error:#}"));
        }
        let answer = answer(&record, ending.unit);
        Ok(Answer { result: Some(Payload::Record(Box::new(record))), ..answer })
    }

    /// Adds what the list of checksums and the files do not have in common to the result.
    fn add_lacks(&mut self, record: &mut RunRecord) {
        let (lacks, result) = (std::mem::take(&mut self.lacks), &mut record.result);
        if lacks.is_empty() || !result.status.is_success() {
            return;
        }
        if self.asked.partial {
            result.status = Status::Partial;
        } else {
            let texts: Vec<_> = lacks.iter().map(|lack| lack.text.as_str()).collect();
            let report = FaultReport::new(texts.join("; "));
            result.status = Status::Incomplete;
            (result.error, result.fault) = (Some(report.message.clone()), Some(report));
        }
        result.shortfalls.extend(lacks);
    }

    /// The sentence about a run that found nothing new: up to where, if it was to end before the
    /// last block of the store.
    fn nothing_new(&self, record: &RunRecord, ending: &Ending) -> String {
        match self
            .asked
            .until
            .filter(|until| record.result.committed.is_some_and(|it| *until <= it))
        {
            Some(until) => {
                let (unit, until) = (ending.unit, grouped(until));
                format!("Nothing new: the store has all blocks up to {unit} {until} already.")
            }
            None => format!("Nothing new: the store already has what {}.", ending.source),
        }
    }

    /// Whether what it verifies is kept.
    fn stores(&self) -> bool {
        self.asked.verb == "import"
    }

    /// Writes the run record, where one is wanted.
    fn save(&self, record: &RunRecord) -> Result<()> {
        self.record_to.as_deref().map_or(Ok(()), |path| save(record, path))
    }
}

/// Prints what a person reads of a run.
pub fn show(record: &RunRecord, stores: bool, nothing_new: Option<&str>, next: Option<&str>) {
    let (colour, width) = (Colour::of_stdout(), blockmill_report::width());
    let verbose = print::detail() == Detail::Verbose;
    let view = View { colour, width, verbose, stores, nothing_new, next };
    print!("{}", blockmill_report::summary(record, &view));
}

/// Writes a run record.
pub fn save(record: &RunRecord, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        // a folder in a store is the store's own
        if folder.ends_with(RECORDS) {
            expect_no_link(folder)?;
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    record.write(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Tells of trouble that does not change what the run found.
fn warn(record: &mut RunRecord, warning: String) {
    eprintln!("warning: {warning}");
    record.notes.push(warning);
}

/// How a run ended whose blocks are distinguished by `unit`.
fn answer(record: &RunRecord, unit: &str) -> Answer {
    let result = &record.result;
    let stopped = result.error.is_some() || result.status == Status::Interrupted;
    Answer {
        status: result.status,
        error: result.fault.clone(),
        kept: result.committed.filter(|_| stopped).map(|number| {
            let goes_on = matches!(result.status, Status::Environment | Status::Interrupted);
            let then = if goes_on { RESUMES } else { "" };
            kept(unit, number) + then
        }),
        shortfalls: result.shortfalls.clone(),
        notes: record.notes.iter().chain(&record.details).cloned().collect(),
        ..Answer::default()
    }
}

/// What follows [`kept`] where the same command continues.
const RESUMES: &str = ", and the same command resumes after it";

/// What a run that stopped leaves.
pub fn kept(unit: &str, number: u64) -> String {
    let number = grouped(number);
    format!("everything up to {unit} {number} is verified and committed; it stays readable")
}
