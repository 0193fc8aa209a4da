//! `export`: verified blocks as tables. The `export.rs` of each chain's folder verifies them.

mod end;
pub mod plan;

use crate::answer::Answer;
use crate::args::{Export, ExportNames, Rows, Verification};
use crate::import::{Run, family};
use crate::shard::{self, Documents};
use crate::{bitcoin, checksums, ethereum, neo, outputs, paths, stop};
use anyhow::{Result, bail, ensure};
use blockmill_archive::output::{Shape, keep_apart};
use blockmill_archive::{Family, is_pipe};
use blockmill_export::schema::{Form, Names, Table};
use blockmill_export::{
    Append, Error, Facts, FileEntry, MANIFEST, PartitionBy, RecordBatch, Verdict, remove_manifest,
    tables_named,
};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{ConsumerError, FaultReport, Level, Status, grouped};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

/// `blockmill export`.
pub fn run(args: &Export, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    if args.dry_run {
        return describe(args, json, cancel);
    }
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    let mut checked = checksums::compare(asked.checksums.as_deref(), &asked.paths, json, &cancel)?;
    let lacks = checked.take_lacks();
    if !asked.partial && !lacks.is_empty() {
        // no manifest may say that these files are a whole chain
        let texts: Vec<_> = lacks.into_iter().map(|lack| lack.text).collect();
        let error = FaultReport::new(texts.join("; ") + "; --partial exports them nevertheless");
        return Ok(Answer { error: Some(error), ..Answer::with_status(Status::Incomplete) });
    }
    let partition = partition(args)?;
    let append = args.append.then(|| begin_to_append(args)).transpose()?;
    let (to, is_new) = match &append {
        Some(append) => (To::Append(append), false),
        None => (To::Folder(&args.to), begin(args)?),
    };
    // until the first partition is complete, there is none
    stop::leaves(to.kept("any files"));
    stop::writes(&args.to, 0);
    if !asked.force.force && append.is_none() {
        stop::then(
            "make room and give the same command again with --force, which replaces the files that \
             are complete",
        );
    }
    let asked = &verified_as(append.as_ref(), asked);
    let run = Run::new(asked, "export", asked.record.clone(), json, cancel)?;
    let answer = any(&Asked { verification: asked, rows: &args.rows, partition, to }, run);
    if is_new {
        // only an empty folder can be removed in this way
        let _ = fs::remove_dir(&args.to);
    }
    Ok(checked.with(answer?))
}

/// Describes what an export would write.
fn describe(args: &Export, json: bool, cancel: Cancel) -> Result<Answer> {
    let (asked, to) = (&args.verification, &args.to);
    let pipe = asked.paths.iter().find(|path| is_pipe(path));
    ensure!(pipe.is_none(), "--dry-run: expected files, found a pipe, which can be read once only");
    keep_apart(to, &inputs(asked), Shape::FilesIn)?;
    let append = args.append.then(|| Append::read(to)).transpose()?;
    let is_free = args.append || asked.force.force || !paths::is_there(&to.join(MANIFEST))?;
    ensure!(is_free, taken(to));
    let asked = &verified_as(append.as_ref(), asked);
    let to = append.as_ref().map_or(To::Folder(to), To::Append);
    let asked = Asked { verification: asked, rows: &args.rows, partition: partition(args)?, to };
    match family(asked.verification)? {
        Family::Ethereum => ethereum::export::describe(&asked, json, cancel),
        Family::Bitcoin => bitcoin::export::describe(&asked, json, cancel),
        Family::Neo => neo::export::describe(&asked, json, cancel),
    }
}

/// The error of a folder that has an export.
fn taken(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "{folder}: expected a folder without {MANIFEST}, or --force or --append, found an export"
    )
}

/// The requested partitions.
fn partition(args: &Export) -> Result<PartitionBy> {
    Ok(args.partition.as_deref().map(str::parse).transpose()?.unwrap_or_default())
}

/// Begins an export into a folder without one. Returns whether the folder is new.
fn begin(args: &Export) -> Result<bool> {
    let asked = &args.verification;
    outputs::claim(&args.to, &inputs(asked), Shape::FilesIn, asked.force)?.done()?;
    let is_there = paths::is_there(&args.to.join(MANIFEST))?;
    ensure!(asked.force.force || !is_there, taken(&args.to));
    let is_new = create(&args.to)?;
    if asked.force.force {
        // it speaks of files that are going to be replaced
        remove_manifest(&args.to)?;
    }
    Ok(is_new)
}

/// Begins to continue the export in a folder.
fn begin_to_append(args: &Export) -> Result<Append> {
    let force = args.verification.force;
    ensure!(!force.force, "--append adds files to an export; --force replaces one");
    outputs::claim(&args.to, &inputs(&args.verification), Shape::FilesIn, force)?.done()?;
    let (append, removed) = Append::begin(&args.to)?;
    for path in removed {
        eprintln!("removed {}, which an interrupted run had left", path.display());
    }
    Ok(append)
}

/// What is verified: the blocks of an export that is continued as deep as those before them.
fn verified_as(append: Option<&Append>, asked: &Verification) -> Verification {
    let level = asked.level.or_else(|| append.and_then(Append::level));
    Verification { level, ..asked.clone() }
}

/// What an output must be apart from.
fn inputs(asked: &Verification) -> Vec<PathBuf> {
    [&asked.paths[..], &asked.stores].concat()
}

/// Sends the rows of one table to a reader; the answer reports the end.
pub fn read(
    asked: &Verification,
    rows: &Rows,
    reader: SyncSender<RecordBatch>,
    cancel: Cancel,
) -> Result<Answer> {
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    let run = Run::new(asked, "read", asked.record.clone(), true, cancel)?;
    let (to, partition) = (To::Reader(reader), PartitionBy::default());
    any(&Asked { verification: asked, rows, partition, to }, run)
}

fn any(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    match family(asked.verification)? {
        Family::Ethereum => ethereum::export::run(asked, run),
        Family::Bitcoin => bitcoin::export::run(asked, run),
        Family::Neo => neo::export::run(asked, run),
    }
}

/// What is verified, which rows that gives, and where they go.
pub struct Asked<'a> {
    /// What, and how deep.
    pub verification: &'a Verification,
    /// Which tables, and how they look.
    pub rows: &'a Rows,
    /// How blocks are divided into files.
    pub partition: PartitionBy,
    /// Where they go.
    pub to: To<'a>,
}

/// Where rows go.
pub enum To<'a> {
    /// Into files in this folder.
    Folder(&'a Path),
    /// Into new files of this export.
    Append(&'a Append),
    /// To a reader of one table.
    Reader(SyncSender<RecordBatch>),
}

/// Creates the folder of the files. Returns whether it is new.
fn create(folder: &Path) -> Result<bool> {
    let is_new = !paths::is_there(folder)?;
    paths::create_folder(folder)?;
    Ok(is_new)
}

impl To<'_> {
    /// Describes what a run leaves that did not complete, with "the files" as `files`, or "any
    /// files" if it is not known whether there are some.
    fn kept(&self, files: &str) -> String {
        match self {
            Self::Folder(folder) => format!(
                "{files} in {} have complete partitions; no {MANIFEST} says that they are a \
                 verified chain",
                folder.display()
            ),
            Self::Append(append) => {
                let last = grouped(append.last_block().number);
                format!("the export in {} still ends with block {last}", append.folder().display())
            }
            Self::Reader(_) => String::new(),
        }
    }

    /// The folder of the files, if there is one.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Append(append) => Some(append.folder()),
            Self::Reader(_) => None,
        }
    }
}

/// Writes the tables of one shard, verified after the blocks of `after`. The answer has its
/// summary, and the files if the run completed.
pub fn of_shard(args: &Export, after: Option<&Documents<'_>>, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    shard::expect_no_record(asked, "--shard")?;
    // other shards may be written into the same folder at the same time
    keep_apart(&args.to, &inputs(asked), Shape::FilesIn)?;
    create(&args.to)?;
    let (to, partition) = (To::Folder(&args.to), partition(args)?);
    let asked = Asked { verification: asked, rows: &args.rows, partition, to };
    match family(asked.verification)? {
        Family::Ethereum => {
            let after = after.map(Documents::one).transpose()?;
            ethereum::export::of_shard(&asked, after.as_ref(), cancel)
        }
        Family::Bitcoin => bitcoin::export::of_shard(&asked, after, cancel),
        Family::Neo => bail!("expected an archive that can be verified in parts, found a Neo dump"),
    }
}

/// Refuses a level that reads no blocks, where every table consists of blocks.
pub fn expect_bodies(level: Level) -> Result<()> {
    let expected = "tables of this chain need level bodies or execution, found level headers";
    ensure!(level > Level::Headers, "--level: {expected}");
    Ok(())
}

/// How requested rows look.
pub fn form(rows: &Rows) -> Form {
    let names = match rows.names {
        ExportNames::Etl => Names::Etl,
        ExportNames::Cryo => Names::Cryo,
    };
    Form { hex: rows.hex, names }
}

/// The tables of a chain, and those of them that a run can write.
pub type Tables<'a> = (&'a [&'static Table], &'a [&'static Table]);

/// An export that can begin: the tables, and the run that writes them.
pub struct Job {
    /// The tables.
    pub tables: Vec<&'static Table>,
    /// The run.
    pub export: blockmill_export::Export,
    /// Whether a run can begin after the last block of an export that it continues.
    pub begins_anywhere: bool,
}

impl Job {
    /// Of the requested tables among `all`; `given` are those that the run can write, and `facts`
    /// those of the chain.
    pub fn new(
        asked: &Asked<'_>,
        (all, given): Tables<'_>,
        facts: Facts,
        threads: usize,
    ) -> Result<Self, Error> {
        let rows = asked.rows;
        let tables = tables_named(all, given, &rows.tables)?;
        let program = crate::program::this();
        let (folder, after) = match &asked.to {
            To::Folder(folder) => (folder.to_path_buf(), None),
            To::Append(append) => (append.aside().to_path_buf(), Some(append.last_block())),
            To::Reader(_) => (PathBuf::new(), None),
        };
        let facts = Facts {
            folder,
            replace: asked.verification.force.force,
            form: form(rows),
            partition: asked.partition,
            after,
            program: format!("{} {} {}", program.name, program.version, program.revision),
            ..facts
        };
        if let To::Append(append) = &asked.to {
            append.expect_same(&facts, &tables)?;
        }
        let export = match &asked.to {
            To::Folder(_) | To::Append(_) => {
                blockmill_export::Export::new(&tables, facts, threads)?
            }
            To::Reader(reader) => {
                blockmill_export::Export::to_reader(&tables, facts, reader.clone())?
            }
        };
        Ok(Self { tables, export, begins_anywhere: false })
    }

    /// Ends an export. If there is a verdict, writes the last files and the manifest; an error of
    /// that becomes the outcome of the run. Returns the files.
    pub fn end<E: From<ConsumerError>>(
        &self,
        asked: &Asked<'_>,
        verdict: Option<Verdict>,
        outcome: &mut Result<(), E>,
    ) -> Vec<FileEntry> {
        let files = verdict.map_or(Ok(vec![]), |verdict| self.finish(asked, verdict));
        files.unwrap_or_else(|error| {
            *outcome = Err(ConsumerError::from(error).into());
            vec![]
        })
    }

    /// Writes the last files, then the manifest.
    fn finish(&self, asked: &Asked<'_>, verdict: Verdict) -> Result<Vec<FileEntry>, Error> {
        let files = self.export.finish()?;
        let manifest = self.export.manifest(verdict, files);
        match &asked.to {
            To::Reader(_) => {}
            To::Append(append) => return append.finish(manifest),
            To::Folder(folder) => manifest.write(folder, self.export.facts().replace)?,
        }
        Ok(manifest.files)
    }
}
