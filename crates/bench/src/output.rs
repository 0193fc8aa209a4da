//! Files made from records: charts, tables and the page.

use crate::ratios::reindex_against_peers;
use anyhow::{Context, Result};
use pipeline::disk::replace_file;
use pipeline::record::RunRecord;
use pipeline::signature_record::SignatureRecord;
use pipeline::writer_record::WriterRecord;
use report::Chart;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the charts that `records` give, and one page with everything, into `folder`.
/// The files that were written.
pub fn write(records: &[RunRecord], folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let charts = [
        ("accumulated.svg", Chart::accumulated(records)),
        ("per-chunk.svg", Chart::per_chunk(records)),
        ("time.svg", Chart::time(records)),
    ];
    let mut files = vec![];
    for (name, chart) in charts {
        let Some(chart) = chart else { continue };
        files.push(write_chart(&chart, folder, name)?);
    }
    let page = folder.join("index.html");
    replace_file(&page, report::html(records).as_bytes())
        .with_context(|| format!("cannot write {}", page.display()))?;
    files.push(page);
    Ok(files)
}

/// Writes a chart for each definition of `bench reindex` and the tables as
/// markdown into `folder`. The files that were written.
pub fn write_reindex(records: &[RunRecord], folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut files = vec![];
    for (name, chart) in Chart::reindex(records) {
        files.push(write_chart(&chart, folder, &format!("reindex-{name}.svg"))?);
    }
    let text = report::reindex_markdown(records) + &reindex_against_peers(records);
    files.push(write_table(folder, &text)?);
    Ok(files)
}

/// Writes the charts that `record` gives and its tables as markdown into
/// `folder`. The files that were written.
pub fn write_writers(record: &WriterRecord, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let charts = [
        ("encode.svg", Chart::writers_encode(record)),
        ("hash.svg", Chart::writers_hash(record)),
        ("hash-each.svg", Chart::writers_hash_each(record)),
        ("allocations.svg", Chart::writers_allocations(record)),
    ];
    let mut files = vec![];
    for (name, chart) in charts {
        let Some(chart) = chart else { continue };
        files.push(write_chart(&chart, folder, name)?);
    }
    files.push(write_table(folder, &report::writers_markdown(record))?);
    Ok(files)
}

/// Writes the chart that `record` gives and its tables as markdown into `folder`.
/// The files that were written.
pub fn write_signatures(record: &SignatureRecord, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut files = vec![];
    if let Some(chart) = Chart::signatures(record) {
        files.push(write_chart(&chart, folder, "signatures.svg")?);
    }
    files.push(write_table(folder, &report::signatures_markdown(record))?);
    Ok(files)
}

fn write_chart(chart: &Chart, folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    chart.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn write_table(folder: &Path, text: &str) -> Result<PathBuf> {
    let path = folder.join("table.md");
    replace_file(&path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
