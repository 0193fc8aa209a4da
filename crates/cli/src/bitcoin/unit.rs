//! `verify --unit` and `verify --join` of Bitcoin block files: headers of each unit, tables by the
//! join, bodies of each unit by its table, and the join again until it has the verdict.

use super::import::{Job, hint};
use crate::answer::Answer;
use crate::args::Verification;
use crate::unit::{Documents, with_boundary};
use anyhow::{Context, Result, bail, ensure};
use archive::blkdat::{BlockFile, BlockFiles};
use bitcoin::import::Run;
use bitcoin::unit::documents::{Bodies, Document, Headers, Source, Table, Verdict};
use bitcoin::unit::{Join, bodies, headers};
use bitcoin::{Error, Level};
use chain::{FaultReport, Status, counted, grouped};
use pipeline::Cancel;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The headers of a unit; with `--after`, its bodies by the table that a join made.
pub fn verify(
    asked: &Verification,
    after: Option<&Documents>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let of_bodies =
        "--unit: expected level headers or bodies, found execution: coins are no unit's";
    ensure!(asked.level != Some(Level::Execution), of_bodies);
    let Job { files, options, .. } = Job::prepare(asked, cancel)?;
    let Some(after) = after else {
        let document = Document::Headers(headers(&files, &options)?);
        return with_boundary(Answer::of(Status::Verified), &document, json);
    };
    let paths: Vec<&Path> = files.files().iter().map(|file| file.path()).collect();
    let (sources, table) = table_of(&paths, after)?;
    let bodies = bodies(&files, &table, &options)?;
    let bad = bodies.rows.iter().find_map(|row| row.bad.as_ref());
    let answer = Answer {
        error: bad.map(|told| FaultReport::new(&told.text)),
        ..Answer::of(bad.map_or(Status::Verified, |told| told.status))
    };
    with_boundary(answer, &Document::Bodies { sources, bodies }, json)
}

/// The table of the unit that has these files.
fn table_of(paths: &[&Path], tables: &Documents) -> Result<(Vec<Source>, Table)> {
    let is_own =
        |sources: &[Source]| sources.iter().map(|source| &*source.path).eq(paths.iter().copied());
    let table = tables.parsed()?.into_iter().find_map(|document| match document {
        Document::Table { sources, table } if is_own(&sources) => Some((sources, table)),
        _ => None,
    });
    let name = &tables.from;
    table.with_context(|| format!("--after {name}: expected a table of these files, found none"))
}

/// Joins what units say, which are all units of the archive `of`, where that is given; prints
/// tables of bodies that are yet to be verified, or the verdict.
pub fn join(
    asked: &Verification,
    of: &[PathBuf],
    documents: &[Documents],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let mut units: Vec<Headers> = vec![];
    let mut looked: Vec<(Vec<Source>, Bodies)> = vec![];
    for documents in documents {
        for document in documents.parsed()? {
            match document {
                Document::Headers(unit) => units.push(unit),
                Document::Bodies { sources, bodies } => looked.push((sources, bodies)),
                // made of the same headers, and made again where they are needed
                Document::Table { .. } | Document::Verdict(_) => {}
            }
        }
    }
    let own: Vec<PathBuf> =
        units.iter().flat_map(|unit| &unit.sources).map(|source| source.path.clone()).collect();
    let asked = Verification {
        paths: if of.is_empty() { own.clone() } else { of.to_vec() },
        level: Some(asked.level.unwrap_or(Level::Bodies)),
        chain: asked.chain.clone().or_else(|| units.first().map(|unit| unit.chain.clone())),
        ..asked.clone()
    };
    ensure!(!units.is_empty(), "--join: expected headers of units, as verify --unit prints them");
    let Job { files, options, .. } = Job::prepare(&asked, cancel)?;
    expect_all_units(&files, &own)?;
    let places: HashMap<&Path, usize> =
        files.files().iter().map(BlockFile::path).zip(0..).collect();
    units.sort_by_key(|unit| unit.sources.first().and_then(|first| places.get(&*first.path)));
    let mut join = Join::new(&files, &options, &units)?;
    for (sources, bodies) in looked {
        let unit = units.iter().position(|unit| unit.sources == sources);
        let of = sources.first().map(|source| source.path.display().to_string());
        let of = of.unwrap_or_default();
        let unit = unit.with_context(|| format!("{of}: expected headers of its unit, too"))?;
        join.take(unit, bodies);
    }
    let tables = join.tables()?;
    if tables.iter().any(|table| !table.rows.is_empty()) {
        return to_verify(&units, tables, json);
    }
    let (run, outcome) = join.end();
    let verdict = verdict(&run, options.params.name);
    let answer = answer(&run, &outcome, options.partial);
    if !json {
        let (files, blocks) = (files.files().len() as u64, grouped(run.blocks));
        eprintln!("{}: {}, {blocks} blocks", answer.status, counted(files, "block file"));
        answer.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    with_boundary(answer, &Document::Verdict(verdict), json)
}

/// Refuses to join some units of an archive as if they were all.
fn expect_all_units(files: &BlockFiles, units: &[PathBuf]) -> Result<()> {
    let units: HashSet<&Path> = units.iter().map(PathBuf::as_path).collect();
    match files.files().iter().find(|file| !units.contains(file.path())) {
        Some(file) => {
            let path = file.path().display();
            bail!("--of: expected headers of each of its files, found none of {path}")
        }
        None => Ok(()),
    }
}

/// Prints the tables of units that have bodies to verify.
fn to_verify(units: &[Headers], tables: Vec<Table>, json: bool) -> Result<Answer> {
    let rows: usize = tables.iter().map(|table| table.rows.len()).sum();
    let pairs = units.iter().zip(tables).filter(|(_, table)| !table.rows.is_empty());
    let tables: Vec<_> = pairs
        .map(|(unit, table)| Document::Table { sources: unit.sources.clone(), table })
        .collect();
    let (bodies, of) = (grouped(rows as u64), counted(tables.len() as u64, "unit"));
    let note = format!(
        "no verdict yet: the bodies of {bodies} blocks in {of} are to be verified (--unit FILE \
         --after these tables), and joined with all that was joined so far"
    );
    let answer = Answer { notes: vec![note.clone()], ..Answer::of(Status::Unknown) };
    if json {
        return answer.with(tables);
    }
    eprintln!("note: {note}");
    for table in &tables {
        println!("{}", serde_json::to_string(table)?);
    }
    Ok(answer)
}

fn verdict(run: &Run, chain: &str) -> Verdict {
    Verdict {
        chain: chain.into(),
        blocks: run.blocks,
        first: run.range.map(|(first, _)| first),
        last: run.range.map(|(_, last)| last),
        tip: run.tip.map(|tip| tip.hash.to_string()),
        anchor: run.anchor.map(|anchor| anchor.hash.to_string()),
        transactions: run.transactions,
        inputs: run.inputs,
        stale: run.stale,
    }
}

/// The answer of a single run over all files.
fn answer(run: &Run, outcome: &Result<(), Error>, partial: bool) -> Answer {
    let status = match outcome {
        Err(error) => error.status(),
        Ok(()) if run.shortfalls.is_empty() => Status::Verified,
        Ok(()) if partial => Status::Partial,
        Ok(()) => Status::Incomplete,
    };
    let report =
        |error: &Error| FaultReport { hint: hint(error).map(str::to_owned), ..error.report() };
    Answer {
        error: outcome.as_ref().err().map(report),
        shortfalls: run.shortfalls.clone(),
        notes: run.damage.clone(),
        ..Answer::of(status)
    }
}
