//! `export`: verified blocks as tables. The `export.rs` of each chain's folder verifies them.

use crate::answer::Answer;
use crate::args::{Export, ExportNames, Rows, Verification};
use crate::import::{Run, family};
use crate::shard::{self, Documents};
use crate::{bitcoin, checksums, ethereum, neo, outputs, paths, stop};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::Family;
use blockmill_archive::output::{Shape, keep_apart};
use blockmill_export::schema::{Form, Names, Table};
use blockmill_export::{
    Error, Facts, FileEntry, MANIFEST, RecordBatch, Verdict, remove_manifest, tables_named,
};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{ConsumerError, Status, counted, grouped};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

/// `blockmill export`.
pub fn run(args: &Export, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    let checked = checksums::compare(asked.checksums.as_deref(), &asked.paths, json, &cancel)?;
    let inputs = [&asked.paths[..], &asked.stores].concat();
    outputs::claim(&args.to, &inputs, Shape::FilesIn, asked.force)?.done()?;
    let is_there = paths::is_there(&args.to.join(MANIFEST))?;
    ensure!(
        asked.force.force || !is_there,
        "{}: expected a folder without {MANIFEST}, or --force, found an export",
        args.to.display()
    );
    create(&args.to)?;
    if asked.force.force {
        // it speaks of files that are going to be replaced
        remove_manifest(&args.to)?;
    }
    stop::leaves(kept(&args.to));
    stop::writes(&args.to, 0);
    if !asked.force.force {
        stop::then(
            "make room and give the same command again with --force, which replaces the files that \
             are complete",
        );
    }
    let run = Run::new(asked, "export", asked.record.clone(), json, cancel)?;
    let answer =
        any(&Asked { verification: asked, rows: &args.rows, to: To::Folder(&args.to) }, run);
    Ok(checked.with(answer?))
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
    any(&Asked { verification: asked, rows, to: To::Reader(reader) }, run)
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
    /// Where they go.
    pub to: To<'a>,
}

/// Where rows go.
pub enum To<'a> {
    /// Into files in this folder.
    Folder(&'a Path),
    /// To a reader of one table.
    Reader(SyncSender<RecordBatch>),
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Describes the files of a run that did not complete.
fn kept(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "the files in {folder} have complete partitions; no {MANIFEST} says that they are a \
         verified chain"
    )
}

/// Writes the tables of one shard, verified after the blocks of `after`. The answer has its
/// summary, and the files if the run completed.
pub fn of_shard(args: &Export, after: Option<&Documents<'_>>, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    shard::expect_no_record(asked, "--shard")?;
    // other shards may be written into the same folder at the same time
    keep_apart(&args.to, &[&asked.paths[..], &asked.stores].concat(), Shape::FilesIn)?;
    create(&args.to)?;
    let asked = Asked { verification: asked, rows: &args.rows, to: To::Folder(&args.to) };
    match family(asked.verification)? {
        Family::Ethereum => {
            let after = after.map(Documents::one).transpose()?;
            ethereum::export::of_shard(&asked, after.as_ref(), cancel)
        }
        Family::Bitcoin => bitcoin::export::of_shard(&asked, after, cancel),
        Family::Neo => bail!("expected an archive that can be verified in parts, found a Neo dump"),
    }
}

/// The tables of a chain, and those of them that a run can write.
pub type Tables<'a> = (&'a [&'static Table], &'a [&'static Table]);

/// An export that can begin: the tables, and the run that writes them.
pub struct Job {
    /// The tables.
    pub tables: Vec<&'static Table>,
    /// The run.
    pub export: blockmill_export::Export,
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
        let names = match rows.names {
            ExportNames::Etl => Names::Etl,
            ExportNames::Cryo => Names::Cryo,
        };
        let program = crate::program::this();
        let folder = match &asked.to {
            To::Folder(folder) => folder.to_path_buf(),
            To::Reader(_) => PathBuf::new(),
        };
        let facts = Facts {
            folder,
            replace: asked.verification.force.force,
            form: Form { hex: rows.hex, names },
            program: format!("{} {} {}", program.name, program.version, program.revision),
            ..facts
        };
        let export = match &asked.to {
            To::Folder(_) => blockmill_export::Export::new(&tables, facts, threads)?,
            To::Reader(reader) => {
                blockmill_export::Export::to_reader(&tables, facts, reader.clone())?
            }
        };
        Ok(Self { tables, export })
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
        if let To::Reader(_) = asked.to {
            return Ok(files);
        }
        let manifest = self.export.manifest(verdict, files);
        let facts = self.export.facts();
        manifest.write(&facts.folder, facts.replace)?;
        Ok(manifest.files)
    }
}

/// The answer of an export whose run has `answer`; `files` were written if it was complete.
pub fn answer(
    asked: &Asked<'_>,
    answer: Answer,
    files: &[FileEntry],
    json: bool,
) -> Result<Answer> {
    let To::Folder(to) = asked.to else { return Ok(answer) };
    let complete = answer.status.is_success();
    let kept = (!complete).then(|| kept(to));
    let answer = Answer { kept: answer.kept.or(kept), ..answer };
    let to = to.display().to_string();
    if json {
        let verified = match (complete, answer.status) {
            (true, Status::Partial) => "partial",
            (true, _) => "chain",
            (false, _) => "partition",
        };
        return answer.with(json!({ "to": to, "verified": verified, "files": files }));
    }
    if complete {
        let mut tables: Vec<&str> = vec![];
        for file in files {
            if !tables.contains(&&*file.table) {
                tables.push(&file.table);
            }
        }
        for table in tables {
            let own = || files.iter().filter(|file| file.table == table);
            let rows = grouped(own().map(|file| file.rows).sum());
            let bytes = grouped(own().map(|file| file.bytes).sum());
            let count = counted(own().count() as u64, "file");
            println!("{table}: {rows} rows in {count}, {bytes} bytes");
        }
        println!("wrote {to}; {MANIFEST} says what was verified");
    }
    Ok(answer)
}
