//! `report`: records of benches and of runs as tables, charts and one HTML page.

use super::args::Report;
use crate::definition::Definition;
use crate::report::{
    Results, charts, condensed, html, page_charts, page_markdown, results, session_markdown,
    session_table,
};
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
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of definitions that add to the built-in ones.
const BENCHMARKS: &str = "benchmarks/definitions";

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
    if let Some(folder) = &args.results {
        files.extend(write_results(&records.benches, folder)?);
    }
    if let Some(folder) = &args.condensed {
        files.extend(write_condensed(&records.benches, folder)?);
    }
    Answer::results(&records, &tables(&records), &files, json)
}

/// Writes the pages of results and their charts into `folder`. Other charts in it are removed.
fn write_results(benches: &[Session], folder: &Path) -> Result<Vec<PathBuf>> {
    outputs::results(folder)?;
    remove_charts(folder)?;
    let definitions = Definition::all(Path::new(BENCHMARKS))?;
    let Results { pages, charts } = results(benches.to_vec(), &definitions);
    let mut files = vec![];
    for (name, text) in pages {
        let path = folder.join(name);
        replace_file(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    files.extend(write_charts(charts, folder)?);
    Ok(files)
}

/// Writes the benches that pages of results show into `folder`, reduced to what the pages need.
fn write_condensed(benches: &[Session], folder: &Path) -> Result<Vec<PathBuf>> {
    outputs::results(folder)?;
    let mut files = vec![];
    for (name, session) in condensed(benches) {
        let path = folder.join(name);
        let text = serde_json::to_vec(&session)?;
        replace_file(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    Ok(files)
}

fn remove_charts(folder: &Path) -> Result<()> {
    for path in list(folder)? {
        if path.extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes the benches as a page, and its charts into a folder of the same name. Other charts in the
/// folder are removed.
fn write_page(benches: &[Session], page: &Path) -> Result<Vec<PathBuf>> {
    let folder = page.with_extension("");
    ensure!(folder != page, "--markdown {}: expected a name such as page.md", page.display());
    outputs::results(&folder)?;
    remove_charts(&folder)?;
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
    let mut charts = charts(benches, runs);
    tell_apart(charts.iter_mut().map(|(name, _)| name));
    write_all(&html(benches, runs), &tables, charts, folder)
}

/// Gives names that come again a number: several benches may have measured the same.
fn tell_apart<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut seen = HashMap::new();
    for name in names {
        let count = seen.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            *name = format!("bench-{count}-{name}");
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_two_benches_are_two_files() {
        let mut names = ["rlp", "rlp-2", "rlp", "rlp-2", "rlp"].map(str::to_owned);
        tell_apart(names.iter_mut());
        assert_eq!(names, ["rlp", "rlp-2", "bench-2-rlp", "bench-2-rlp-2", "bench-3-rlp"]);
    }
}
