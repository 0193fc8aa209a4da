//! Files made from run records: charts and the page.

use anyhow::{Context, Result};
use pipeline::record::RunRecord;
use report::Chart;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the charts that `records` give, as PNG, and one page with everything, into `folder`.
/// The files that were written.
pub fn write(records: &[RunRecord], folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let charts = [
        ("accumulated.png", Chart::accumulated(records)),
        ("per-chunk.png", Chart::per_chunk(records)),
        ("time.png", Chart::time(records)),
    ];
    let mut files = vec![];
    for (name, chart) in charts {
        let Some(chart) = chart else { continue };
        let path = folder.join(name);
        chart.write(&path)?;
        files.push(path);
    }
    let page = folder.join("index.html");
    fs::write(&page, report::html(records)?)
        .with_context(|| format!("cannot write {}", page.display()))?;
    files.push(page);
    Ok(files)
}
