//! `report`: run records as tables, charts and one HTML page; writer and signature records as
//! tables and charts.

use crate::answer::Answer;
use crate::args::Report;
use crate::outputs;
use anyhow::{Context, Result, bail, ensure};
use pipeline::record::RunRecord;
use pipeline::signature_record::SignatureRecord;
use pipeline::writer_record::WriterRecord;
use report::Colour;
use std::fs;
use std::path::{Path, PathBuf};

/// `blockmill report`.
pub fn run(args: &Report, json: bool) -> Result<Answer> {
    let paths = record_files(&args.records)?;
    if paths.iter().any(|path| WriterRecord::is_in(path)) {
        let [path] = &paths[..] else {
            bail!("expected one writer record alone, found {} records", paths.len());
        };
        return writers(&WriterRecord::read(path)?, args, json);
    }
    if paths.iter().any(|path| SignatureRecord::is_in(path)) {
        let [path] = &paths[..] else {
            bail!("expected one signature record alone, found {} records", paths.len());
        };
        return signatures(&SignatureRecord::read(path)?, args, json);
    }
    let records = read(&paths)?;
    if records.iter().all(report::is_reindex) {
        return reindex(&records, args, json);
    }
    outputs::results(&args.out, args.force)?;
    let files = bench::output::write(&records, &args.out)?;
    let tables = match &records[..] {
        _ if args.markdown => report::ladder_markdown(&records),
        [record] => report::stages_table(record, Colour::of_stdout()),
        _ => report::ladder_table(&records, Colour::of_stdout()),
    };
    Answer::results(&records, &tables, &files, json)
}

/// Records of `bench reindex`.
fn reindex(records: &[RunRecord], args: &Report, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let files = bench::output::write_reindex(records, &args.out)?;
    let tables = match args.markdown {
        true => report::reindex_markdown(records),
        false => report::reindex_table(records, Colour::of_stdout()),
    };
    let tables = tables + &bench::ratios::reindex_against_peers(records);
    Answer::results(records, &tables, &files, json)
}

/// A record of `bench rlp`.
fn writers(record: &WriterRecord, args: &Report, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let files = bench::output::write_writers(record, &args.out)?;
    let tables = match args.markdown {
        true => report::writers_markdown(record),
        false => report::writers_table(record, Colour::of_stdout()),
    };
    Answer::results(record, &tables, &files, json)
}

/// A record of `bench signatures`.
fn signatures(record: &SignatureRecord, args: &Report, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let files = bench::output::write_signatures(record, &args.out)?;
    let tables = match args.markdown {
        true => report::signatures_markdown(record),
        false => report::signatures_table(record, Colour::of_stdout()),
    };
    Answer::results(record, &tables, &files, json)
}

/// The files given, and those in the folders given.
fn record_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for path in paths {
        if path.is_dir() {
            files.extend(records_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    ensure!(!files.is_empty(), "expected run records (.json), found none in the folders given");
    Ok(files)
}

fn read(files: &[PathBuf]) -> Result<Vec<RunRecord>> {
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
