//! `report`: run records as tables, charts and one HTML page.

use crate::args::Report;
use crate::output::Exit;
use anyhow::{Context, Result, ensure};
use pipeline::record::RunRecord;
use report::Colour;
use std::fs;
use std::path::{Path, PathBuf};

/// `blockmill report`.
pub fn run(args: &Report, json: bool) -> Result<Exit> {
    let records = read(&args.records)?;
    let files = bench::output::write(&records, &args.out)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&records)?);
        return Ok(Exit::Success);
    }
    if args.markdown {
        print!("{}", report::ladder_markdown(&records));
    } else if let [record] = &records[..] {
        print!("{}", report::stages_table(record, Colour::of_stdout()));
    } else {
        print!("{}", report::ladder_table(&records, Colour::of_stdout()));
    }
    files.iter().for_each(|file| println!("wrote {}", file.display()));
    Ok(Exit::Success)
}

/// Reads records, and those in folders.
fn read(paths: &[PathBuf]) -> Result<Vec<RunRecord>> {
    let mut files = vec![];
    for path in paths {
        if path.is_dir() {
            files.extend(records_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    ensure!(!files.is_empty(), "expected run records (.json), found none in the folders given");
    let read = |file: &PathBuf| {
        RunRecord::read(file).with_context(|| format!("cannot read {}", file.display()))
    };
    files.iter().map(read).collect()
}

fn records_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    Ok(files)
}
