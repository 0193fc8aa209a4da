//! `report`: records of runs as tables, charts and one HTML page.

use crate::answer::Answer;
use crate::args::{General, Report};
use crate::paths::{is_folder, list};
use crate::{bench, documents, outputs};
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::{Shape, keep_apart};
use blockmill_pipeline::disk::replace_file;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::{Chart, Colour};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// `blockmill report`.
pub(crate) fn run(args: &Report, general: &General) -> Result<Answer> {
    keep_apart(&args.out, &args.records, Shape::FilesIn)?;
    let mut runs = vec![];
    for file in record_files(&args.records)? {
        if is_of_bench(&documents::read(&file)?) {
            return bench::report(args, general);
        }
        runs.push(RunRecord::read(&file)?);
    }
    outputs::results(&args.out)?;
    let page = blockmill_report::html(&runs);
    let charts = blockmill_report::charts(&runs);
    let files = write_all(&page, &blockmill_report::runs_markdown(&runs), charts, &args.out)?;
    let tables = blockmill_report::runs_table(&runs, Colour::of_stdout());
    Answer::results(json!({ "runs": runs }), &tables, &files, general.json)
}

/// Whether a record is of comparisons, not of a run.
#[must_use]
pub fn is_of_bench(text: &[u8]) -> bool {
    let fields: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    fields.get("comparisons").is_some()
}

/// Writes a page, its tables in Markdown and its charts into `folder`. Returns the files.
///
/// # Errors
/// Returns an error if the folder or a file cannot be written.
pub fn write_all(
    page: &str,
    tables: &str,
    charts: Vec<(String, Chart)>,
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut files = vec![];
    for (name, text) in [("index.html", page), ("table.md", tables)] {
        let path = folder.join(name);
        replace_file(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    files.extend(write_charts(charts, folder)?);
    Ok(files)
}

/// Writes charts into `folder`, each under its name. Returns the files.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_charts(charts: Vec<(String, Chart)>, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for (name, chart) in charts {
        let path = folder.join(format!("{name}.svg"));
        chart.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    Ok(files)
}

/// The files given, and the records in the folders given.
///
/// # Errors
/// Returns an error if a folder cannot be listed, or if there is no record.
pub fn record_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for path in paths {
        if is_folder(path)? {
            files.extend(records_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    ensure!(!files.is_empty(), "expected records (.json), found none in the folders given");
    Ok(files)
}

fn records_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = list(folder)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
