//! `report`: records of runs and of benches as tables, charts and one HTML page.

use crate::answer::Answer;
use crate::args::Report;
use crate::paths::{is_folder, list};
use crate::{documents, outputs};
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::{Shape, keep_apart};
use blockmill_bench::sitting::Sitting;
use blockmill_pipeline::disk::replace_file;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::{Chart, Colour};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// What was read.
#[derive(Default, Serialize)]
pub struct Records {
    /// Of benches.
    benches: Vec<Sitting>,
    /// Of runs.
    runs: Vec<RunRecord>,
}

/// `blockmill report`.
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

/// Writes the benches as a page, and its charts into a folder beside it that holds no others.
fn write_page(benches: &[Sitting], page: &Path) -> Result<Vec<PathBuf>> {
    let folder = page.with_extension("");
    ensure!(folder != page, "--markdown {}: expected a name such as page.md", page.display());
    outputs::results(&folder)?;
    for path in list(&folder)? {
        if path.extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    replace_file(page, blockmill_report::page_markdown(benches, &name).as_bytes())
        .with_context(|| format!("cannot write {}", page.display()))?;
    let mut files = vec![page.to_owned()];
    files.extend(write_charts(blockmill_report::page_charts(benches), &folder)?);
    Ok(files)
}

fn write_charts(charts: Vec<(String, Chart)>, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for (name, chart) in charts {
        let path = folder.join(format!("{name}.svg"));
        chart.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    Ok(files)
}

/// Writes the page, the tables and the charts of `records` into `folder`. The files.
fn write(records: &Records, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut files = vec![];
    let page = blockmill_report::html(&records.benches, &records.runs);
    for (name, text) in [("index.html", page), ("table.md", markdown(records))] {
        let path = folder.join(name);
        replace_file(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    files.extend(write_charts(blockmill_report::charts(&records.benches, &records.runs), folder)?);
    Ok(files)
}

/// The same of a bench that has just ended.
pub fn write_bench(sitting: &Sitting, folder: &Path) -> Result<Vec<PathBuf>> {
    write(&Records { benches: vec![sitting.clone()], runs: vec![] }, folder)
}

fn tables(records: &Records) -> String {
    let colour = Colour::of_stdout();
    let mut text: String = records
        .benches
        .iter()
        .map(|bench| blockmill_report::sitting_table(bench, colour))
        .collect();
    match &records.runs[..] {
        [] => {}
        [one] => text += &blockmill_report::stages_table(one, colour),
        many => text += &blockmill_report::compare_table(many, colour),
    }
    text
}

fn markdown(records: &Records) -> String {
    let mut text: String = records.benches.iter().map(blockmill_report::sitting_markdown).collect();
    match &records.runs[..] {
        [] => {}
        [one] => text += &blockmill_report::stages_markdown(one),
        many => text += &blockmill_report::compare_markdown(many),
    }
    text
}

/// The files given, and those in the folders given.
fn record_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
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

/// A bench's record holds contests; all others are of runs.
fn read(files: &[PathBuf]) -> Result<Records> {
    let mut records = Records::default();
    for file in files {
        let what = || format!("cannot read {}", file.display());
        let text = documents::read(file)?;
        let fields: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        if fields.get("contests").is_some() {
            records.benches.push(Sitting::read(file).with_context(what)?);
        } else {
            records.runs.push(RunRecord::read(file).with_context(what)?);
        }
    }
    Ok(records)
}

fn records_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = list(folder)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
