//! `verify --shard` and `verify --merge` of Bitcoin block files: headers of each shard, tables by the
//! merge, bodies of each shard by its table, and the merge again until it has the verdict. With
//! `coins=multiset` the unspent coins are a shard, too.

use super::import::{Job, hint};
use super::sources;
use crate::answer::Answer;
use crate::args::Verification;
use crate::shard::{Documents, sealed, with_summary};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::blkdat::{BlockFile, BlockFiles};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::inspect::whose_coins;
use blockmill_bitcoin::settings::SpentCoins;
use blockmill_bitcoin::shard::documents::{
    Bodies, Coins, Document, Execution, Finding, Headers, Salt, Source, Table, Verdict,
};
use blockmill_bitcoin::shard::{Merger, add_coins, bodies, coins, execute, headers};
use blockmill_bitcoin::{Error, Level, record};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{FaultReport, Status, counted, grouped};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Are these the unspent coins of a datadir or a store?
pub fn is_of_coins(paths: &[PathBuf]) -> Result<bool> {
    let [path] = paths else { return Ok(false) };
    Ok(whose_coins(path)?.is_some())
}

/// The headers of a shard; with `--after`, its bodies by the table that a merge made. Of unspent
/// coins, their files, and then what they come to.
pub fn verify(
    asked: &Verification,
    after: Option<&Documents<'_>>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    if let [folder] = &asked.paths[..]
        && let Some(whose) = whose_coins(folder)?
    {
        let mut paths = vec![whose.to_path_buf()];
        let stores = sources::replaced(&mut paths)?;
        let Job { options, .. } =
            Job::prepare(&Verification { paths, stores, ..asked.clone() }, None, cancel)?;
        return verify_coins(folder, after, &options, json);
    }
    let Job { files, mut options, .. } = Job::prepare(asked, None, cancel)?;
    let Some(after) = after else {
        options.level = level(asked, &options)?;
        let document = Document::Headers(headers(&files, &options)?);
        return with_summary(Answer::with_status(Status::Verified), &document, json);
    };
    let (answer, document) = behind(&files, after, &options)?;
    with_summary(answer, &document, json)
}

/// The bodies of a shard by its table, which is one of the documents `after`.
pub(super) fn behind(
    files: &BlockFiles,
    after: &Documents<'_>,
    options: &Options,
) -> Result<(Answer, Document)> {
    let paths: Vec<&Path> = files.files().iter().map(|file| file.path()).collect();
    let (sources, table, execution) = table_of(&paths, after)?;
    let bodies = match execution.filter(|_| options.level == Level::Execution) {
        Some(execution) => execute(files, &sources, &table, &execution, options)?,
        None => bodies(files, &table, options)?,
    };
    let bad = bodies.rows.iter().find_map(|row| row.bad.as_ref());
    let part = bodies.part.as_ref();
    // with coins that nobody has proven yet
    let unproven = part.and_then(|part| part.against.as_ref().or(part.fault.as_ref()));
    let of = |Finding { height, remote }: &Finding| format!("block {height}: {}", remote.text);
    let (status, text) = match (bad, unproven) {
        (Some(remote), _) => (remote.status, Some(remote.text.clone())),
        (None, Some(finding)) => (Status::Unrecognised, Some(of(finding))),
        (None, None) => (Status::Verified, None),
    };
    let answer = Answer { error: text.map(FaultReport::new), ..Answer::with_status(status) };
    Ok((answer, Document::Bodies { sources, bodies }))
}

/// The same of unspent coins.
fn verify_coins(
    folder: &Path,
    after: Option<&Documents<'_>>,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    let document = match after {
        None => coins(folder, options)?,
        Some(after) => {
            let (mut told, mut execution) = (None, None);
            for document in after.parsed()? {
                match document {
                    Document::Coins(coins) => told = Some(coins),
                    Document::Execution(found) => execution = Some(found),
                    _ => {}
                }
            }
            let is_own = |coins: &Coins| coins.sources.iter().all(|it| it.path.starts_with(folder));
            let (told, execution) = told.filter(is_own).zip(execution).with_context(|| {
                format!("--after {}: expected what a merge asks of these coins", after.from)
            })?;
            add_coins(told, folder, &execution, options)?
        }
    };
    with_summary(Answer::with_status(Status::Verified), &Document::Coins(document), json)
}

/// The level of shards: no deeper than bodies, but where a sum takes the place of a set of coins.
pub(super) fn level(asked: &Verification, options: &Options) -> Result<Level> {
    let by_sum =
        options.settings.coins == SpentCoins::Multiset && options.level == Level::Execution;
    let told = "level execution of shards: expected --with coins=multiset, too; no shard has a set of \
                coins";
    ensure!(by_sum || asked.level != Some(Level::Execution), told);
    Ok(if by_sum { Level::Execution } else { options.level.min(Level::Bodies) })
}

/// The table of the shard that has these files, and what level `execution` asks of it.
fn table_of(
    paths: &[&Path],
    after: &Documents<'_>,
) -> Result<(Vec<Source>, Table, Option<Execution>)> {
    let is_own =
        |sources: &[Source]| sources.iter().map(|source| &*source.path).eq(paths.iter().copied());
    let (mut own, mut execution) = (None, None);
    for document in after.parsed()? {
        match document {
            Document::Table { sources, table } if is_own(&sources) => own = Some((sources, table)),
            Document::Execution(found) => execution = Some(found),
            _ => {}
        }
    }
    let expected =
        || format!("--after {}: expected a table of these files, found none", after.from);
    let (sources, table) = own.with_context(expected)?;
    Ok((sources, table, execution))
}

/// What was given to be merged.
#[derive(Default)]
struct Given {
    shards: Vec<Headers>,
    bodies: Vec<(Vec<Source>, Bodies)>,
    coins: Vec<Coins>,
    /// Salts that were drawn before.
    salts: Vec<Salt>,
}

impl Given {
    fn of(documents: &[Documents<'_>]) -> Result<Self> {
        let mut given = Self::default();
        for documents in documents {
            for document in documents.parsed()? {
                match document {
                    Document::Headers(shard) => given.shards.push(shard),
                    Document::Bodies { sources, bodies } => {
                        given.salts.extend(bodies.part.as_ref().map(|part| part.salt));
                        given.bodies.push((sources, bodies));
                    }
                    Document::Coins(coins) => {
                        given.salts.extend(coins.part.map(|part| part.salt));
                        given.coins.push(coins);
                    }
                    Document::Execution(execution) => given.salts.push(execution.salt),
                    // made of the same headers, and made again where they are needed
                    Document::Table { .. } | Document::Verdict(_) => {}
                }
            }
        }
        let what = "--merge: expected headers of shards, as verify --shard prints them";
        ensure!(!given.shards.is_empty(), what);
        Ok(given)
    }

    /// The merge of all shards, with the coins at level `execution`.
    fn merge<'a>(&self, files: &'a BlockFiles, options: &'a Options) -> Result<Merger<'a>> {
        let Self { shards, coins, salts, .. } = self;
        if options.level < Level::Execution {
            return Ok(Merger::new(files, options, shards)?);
        }
        let what = "--merge: expected the shard of unspent coins, as verify --shard \
                    DATADIR/chainstate prints it";
        let first = coins.first().context(what)?;
        let what = "--merge: expected headers with undo data, as verify --shard --level execution \
                    --with coins=multiset prints them";
        ensure!(shards.iter().any(|shard| !shard.undo.is_empty()), what);
        if salts.iter().any(|salt| Some(salt) != salts.first()) {
            return Err(Error::OtherDocuments("parts of one sum, under one salt").into());
        }
        let mut merge =
            Merger::with_multiset(files, options, shards, first, salts.first().copied())?;
        for coins in coins {
            merge.take_coins(coins)?;
        }
        Ok(merge)
    }
}

/// Merges what shards say, which are all shards of the archive `of`, where that is given; prints
/// tables of bodies that are yet to be verified, or the verdict.
pub fn merge(
    asked: &Verification,
    of: &[PathBuf],
    documents: &[Documents<'_>],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let mut given = Given::of(documents)?;
    let sources = given.shards.iter().flat_map(|shard| &shard.sources);
    let own: Vec<PathBuf> = sources.map(|source| source.path.clone()).collect();
    let asked = Verification {
        paths: if of.is_empty() { own.clone() } else { of.to_vec() },
        chain: asked.chain.clone().or_else(|| given.shards.first().map(|it| it.chain.clone())),
        ..asked.clone()
    };
    let Job { files, mut options, .. } = Job::prepare(&asked, None, cancel)?;
    options.level = level(&asked, &options)?;
    options.by_itself = true;
    expect_all_shards(&files, &own)?;
    let places: HashMap<&Path, usize> =
        files.files().iter().map(BlockFile::path).zip(0..).collect();
    given.shards.sort_by_key(|shard| shard.sources.first().and_then(|it| places.get(&*it.path)));
    let mut merge = given.merge(&files, &options)?;
    let Given { shards, bodies, coins, .. } = given;
    for (sources, bodies) in bodies {
        let shard = shards.iter().position(|shard| shard.sources == sources);
        let of = sources.first().map(|source| source.path.display().to_string());
        let of = of.unwrap_or_default();
        let shard = shard.with_context(|| format!("{of}: expected headers of its shard, too"))?;
        merge.take(shard, bodies)?;
    }
    let tables = merge.tables()?;
    let coins = coins.into_iter().next().filter(|_| merge.lacks_coins());
    if coins.is_some() || tables.iter().any(|table| !table.rows.is_empty()) {
        return to_verify(&shards, tables, coins, merge.execution()?, json);
    }
    let (run, outcome) = merge.end();
    let verdict = verdict(&run, options.params.name);
    let answer = answer(&run, &outcome, options.partial);
    if !json {
        let (files, blocks) = (files.files().len() as u64, grouped(run.blocks));
        eprintln!("{}: {}, {blocks} blocks", answer.status, counted(files, "block file"));
        answer.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    with_summary(answer, &Document::Verdict(verdict), json)
}

/// Refuses to merge some shards of an archive as if they were all.
fn expect_all_shards(files: &BlockFiles, shards: &[PathBuf]) -> Result<()> {
    let shards: HashSet<&Path> = shards.iter().map(PathBuf::as_path).collect();
    match files.files().iter().find(|file| !shards.contains(file.path())) {
        Some(file) => {
            let path = file.path().display();
            bail!("--of: expected headers of each of its files, found none of {path}")
        }
        None => Ok(()),
    }
}

/// Prints the tables of shards that have bodies to verify, and what else has to be.
fn to_verify(
    shards: &[Headers],
    tables: Vec<Table>,
    coins: Option<Coins>,
    execution: Option<Execution>,
    json: bool,
) -> Result<Answer> {
    let rows: usize = tables.iter().map(|table| table.rows.len()).sum();
    let pairs = shards.iter().zip(tables).filter(|(_, table)| !table.rows.is_empty());
    let tables: Vec<_> = pairs
        .map(|(shard, table)| Document::Table { sources: shard.sources.clone(), table })
        .collect();
    let (bodies, of) = (grouped(rows as u64), counted(tables.len() as u64, "shard"));
    let too = if coins.is_some() { ", and the unspent coins" } else { "" };
    let note = format!(
        "no verdict yet: the bodies of {bodies} blocks in {of}{too} are to be verified (--shard \
         FILE --after these tables), and merged with all that was merged so far"
    );
    let coins = coins.map(|coins| Document::Coins(Coins { part: None, ..coins }));
    let all: Vec<_> =
        execution.map(Document::Execution).into_iter().chain(coins).chain(tables).collect();
    let answer = Answer { notes: vec![note.clone()], ..Answer::with_status(Status::Unrecognised) };
    let all: Vec<_> = all.iter().map(sealed).collect::<Result<_>>()?;
    if json {
        return answer.with(all);
    }
    eprintln!("note: {note}");
    for document in &all {
        println!("{}", document.get());
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
        coins: run.proof,
    }
}

/// The answer of a single run over all files.
fn answer(run: &Run, outcome: &Result<(), Error>, partial: bool) -> Answer {
    let status = match outcome {
        Err(error) => error.status(),
        Ok(()) => run.status_of_files(partial),
    };
    let report =
        |error: &Error| FaultReport { hint: hint(error).map(str::to_owned), ..error.report() };
    Answer {
        error: outcome.as_ref().err().map(report).or_else(|| run.damage_of_files()),
        shortfalls: run.shortfalls.clone(),
        notes: record::places(run).into_iter().chain(run.proof.map(|it| it.to_string())).collect(),
        ..Answer::with_status(status)
    }
}
