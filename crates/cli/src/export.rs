//! `export`: verified blocks as tables. How a chain is verified for them stands in the `export.rs`
//! of its folder.

use crate::answer::Answer;
use crate::args::{Export, ExportNames};
use crate::import::{Run, family};
use crate::{bitcoin, ethereum, neo, outputs, stop};
use anyhow::{Context, Result, ensure};
use archive::Family;
use archive::output::Shape;
use chain::{Status, counted, grouped};
use columns::schema::{Form, Names, Table};
use columns::{Error, Facts, FileEntry, MANIFEST, Verdict, remove_manifest, tables_named};
use pipeline::Cancel;
use serde_json::json;
use std::fs;
use std::path::Path;

/// `blockmill export`.
pub fn run(args: &Export, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
    outputs::claim(&args.to, &asked.paths, Shape::FilesIn, asked.force)?.done()?;
    let is_there = args.to.join(MANIFEST).exists();
    ensure!(
        asked.force.force || !is_there,
        "{}: expected a folder without {MANIFEST}, or --force, found an export",
        args.to.display()
    );
    fs::create_dir_all(&args.to).with_context(|| format!("cannot create {}", args.to.display()))?;
    stop::leaves(kept(&args.to));
    stop::writes(&args.to, 0);
    let run = Run::new(asked, "export", asked.record.clone(), json, cancel)?;
    match family(asked) {
        Family::Ethereum => ethereum::export::run(args, run),
        Family::Bitcoin => bitcoin::export::run(args, run),
        Family::Neo => neo::export::run(args, run),
    }
}

/// What a run leaves that did not come to its end.
fn kept(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "the files in {folder} are complete, each for its unit; no {MANIFEST} says that they are \
         a verified chain"
    )
}

/// An export that can begin: the tables, and the run that writes them.
pub struct Job {
    /// The tables.
    pub tables: Vec<&'static Table>,
    /// The run.
    pub export: columns::Export,
}

impl Job {
    /// Of these tables among `all`; `facts` are those of the chain.
    pub fn new(
        args: &Export,
        all: &[&'static Table],
        facts: Facts,
        threads: usize,
    ) -> Result<Self, Error> {
        let tables = tables_named(all, &args.tables)?;
        let names = match args.names {
            ExportNames::Etl => Names::Etl,
            ExportNames::Cryo => Names::Cryo,
        };
        let program = program::this();
        let facts = Facts {
            folder: args.to.clone(),
            replace: args.verification.force.force,
            form: Form { hex: args.hex, names },
            program: format!("{} {} {}", program.name, program.version, program.revision),
            ..facts
        };
        if facts.replace {
            // it speaks of files that are going to be replaced
            remove_manifest(&facts.folder)?;
        }
        let export = columns::Export::new(&tables, facts, threads)?;
        Ok(Self { tables, export })
    }

    /// The verdict is there: the last files, then the manifest.
    pub fn finish(&self, verdict: Verdict) -> Result<Vec<FileEntry>, Error> {
        let files = self.export.finish()?;
        let manifest = self.export.manifest(verdict, files);
        let facts = self.export.facts();
        manifest.write(&facts.folder, facts.replace)?;
        Ok(manifest.files)
    }
}

/// The answer of an export whose run has `answer`; `files` were written where it came to its end.
pub fn answer(args: &Export, answer: Answer, files: &[FileEntry], json: bool) -> Result<Answer> {
    let complete = answer.status.is_success();
    let kept = (!complete).then(|| kept(&args.to));
    let answer = Answer { kept: answer.kept.or(kept), ..answer };
    let to = args.to.display().to_string();
    if json {
        let verified = match (complete, answer.status) {
            (true, Status::Partial) => "partial",
            (true, _) => "chain",
            (false, _) => "unit",
        };
        return answer.with(json!({ "to": to, "verified": verified, "files": files }));
    }
    if complete {
        for table in &args.tables {
            let own = || files.iter().filter(|file| file.table == *table);
            let rows = grouped(own().map(|file| file.rows).sum());
            let bytes = grouped(own().map(|file| file.bytes).sum());
            let count = counted(own().count() as u64, "file");
            println!("{table}: {rows} rows in {count}, {bytes} bytes");
        }
        println!("wrote {to}; {MANIFEST} says what was verified");
    }
    Ok(answer)
}
