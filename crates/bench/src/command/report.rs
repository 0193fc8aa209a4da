//! `report`: records of benches and of runs as tables, charts and one HTML page.

use super::args::Report;
use crate::report::{charts, html, page_charts, page_markdown, session_markdown, session_table};
use crate::session::Session;
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::{Shape, keep_apart};
use blockmill_cli::answer::Answer;
use blockmill_cli::paths::list;
use blockmill_cli::report::{is_of_bench, record_files, write_all, write_charts};
use blockmill_cli::{documents, outputs};
use blockmill_pipeline::disk::replace_file;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::{Colour, runs_markdown, runs_table};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// What was read.
#[derive(Default, Serialize)]
struct Records {
    /// Of benches.
    benches: Vec<Session>,
    /// Of runs.
    runs: Vec<RunRecord>,
}

/// `blockmill-bench report`.
pub fn run(args: &Report, json: bool) -> Result<Answer> {
    keep_apart(&args.out, &args.records, Shape::FilesIn)?;
    let records = read(&record_files(&args.records)?)?;
    outputs::record(args.markdown.as_deref(), &args.records, args.force)?;
    outputs::results(&args.out)?;
    let mut files = write(&records, &args.out)?;
    if let Some(page) = &args.markdown {
        files.extend(write_page(&records.benches, page)?);
    }
    Answer::results(&records, &tables(&records), &files, json)
}

/// Writes the benches as a page, and its charts into a folder of its name that holds no others.
fn write_page(benches: &[Session], page: &Path) -> Result<Vec<PathBuf>> {
    let folder = page.with_extension("");
    ensure!(folder != page, "--markdown {}: expected a name such as page.md", page.display());
    outputs::results(&folder)?;
    for path in list(&folder)? {
        if path.extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    replace_file(page, page_markdown(benches, &name).as_bytes())
        .with_context(|| format!("cannot write {}", page.display()))?;
    let mut files = vec![page.to_owned()];
    files.extend(write_charts(page_charts(benches), &folder)?);
    Ok(files)
}

/// Writes the page, the tables and the charts of `records` into `folder`. Returns the files.
fn write(Records { benches, runs }: &Records, folder: &Path) -> Result<Vec<PathBuf>> {
    let tables: String = benches.iter().map(session_markdown).collect();
    let tables = tables + &runs_markdown(runs);
    write_all(&html(benches, runs), &tables, charts(benches, runs), folder)
}

/// Writes the page, the tables and the charts of a bench that has just ended into `folder`. Returns
/// the files.
pub fn write_bench(session: &Session, folder: &Path) -> Result<Vec<PathBuf>> {
    write(&Records { benches: vec![session.clone()], runs: vec![] }, folder)
}

fn tables(Records { benches, runs }: &Records) -> String {
    let colour = Colour::of_stdout();
    let text: String = benches.iter().map(|bench| session_table(bench, colour)).collect();
    text + &runs_table(runs, colour)
}

fn read(files: &[PathBuf]) -> Result<Records> {
    let mut records = Records::default();
    for file in files {
        let what = || format!("cannot read {}", file.display());
        if is_of_bench(&documents::read(file)?) {
            records.benches.push(Session::read(file).with_context(what)?);
        } else {
            records.runs.push(RunRecord::read(file).with_context(what)?);
        }
    }
    Ok(records)
}
