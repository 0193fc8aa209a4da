//! `verify --shard` and `verify --merge` of Bitcoin block files: headers of each shard, tables by
//! the merge, bodies of each shard by its table, and merges again until there is a verdict. With
//! `coins=multiset` the unspent coins are a shard, too.

use super::import::{Job, hint};
use super::{network, sources};
use crate::answer::{Answer, Payload};
use crate::args::Verification;
use crate::shard::{Documents, not_checked, sealed, with_summary};
use crate::{print, remote};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::blkdat::{BlockFile, BlockFiles};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::inspect::coins_owner;
use blockmill_bitcoin::settings::SpentCoins;
use blockmill_bitcoin::shard::documents::{
    Bodies, Coins, Document, Execution, Finding, Headers, Salt, SourceFile, Table, Verdict,
};
use blockmill_bitcoin::shard::{Merger, bodies, coin_files, execute, hash_coins, headers};
use blockmill_bitcoin::{Error, Level, record};
use blockmill_pipeline::Cancel;
use blockmill_report::left_out;
use blockmill_verdict::{FaultReport, Status, counted, grouped};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What checks the transactions of shards.
const EXECUTES: &str = "coins, amounts and scripts: --level execution --with coins=multiset";

/// Returns whether these paths are the unspent coins of a datadir or a store.
pub fn is_of_coins(paths: &[PathBuf]) -> Result<bool> {
    let [path] = paths else { return Ok(false) };
    Ok(coins_owner(path)?.is_some())
}

/// Verifies a shard: prints its headers, or with `--after` the results of its table. Of unspent
/// coins, prints their files, and with `--after` their multiset hash.
pub fn verify(
    asked: &Verification,
    after: Option<&Documents<'_>>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    if let [folder] = &asked.paths[..]
        && let Some(whose) = coins_owner(folder)?
    {
        let mut paths = vec![whose.to_path_buf()];
        let stores = sources::replaced(&mut paths)?;
        let Job { options, .. } =
            Job::prepare(&Verification { paths, stores, ..asked.clone() }, None, cancel)?;
        return verify_coins(folder, after, &options, json);
    }
    let Job { files, mut options, .. } = Job::prepare(asked, None, cancel)?;
    network::refuse_headers(&files)?;
    let Some(after) = after else {
        options.level = level(asked, &options)?;
        let document = Document::Headers(headers(&files, &options)?);
        return with_summary(Answer::with_status(Status::Verified), &document, json);
    };
    let (answer, document) = verify_table(&files, after, &options)?;
    with_summary(answer, &document, json)
}

/// Verifies the bodies of a shard by its table, one of the documents `after`.
pub(super) fn verify_table(
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
    let bad = bodies.rows.iter().find_map(|row| row.fault.as_ref());
    // a fault with coins that are not proven yet
    let multiset = bodies.multiset.as_ref();
    let unproven = multiset.and_then(|own| own.undo_fault.as_ref().or(own.fault.as_ref()));
    let text = |Finding { height, remote }: &Finding| format!("block {height}: {}", remote.text);
    let (status, text) = match (bad, unproven) {
        (Some(remote), _) => (remote.status, Some(remote.text.clone())),
        (None, Some(finding)) => (Status::Unrecognised, Some(text(finding))),
        (None, None) => (Status::Verified, None),
    };
    let answer = Answer { error: text.map(FaultReport::new), ..Answer::with_status(status) };
    Ok((answer, Document::Bodies { sources, bodies }))
}

/// Prints the files of unspent coins, or with `after` their multiset hash.
fn verify_coins(
    folder: &Path,
    after: Option<&Documents<'_>>,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    let document = match after {
        None => coin_files(folder, options)?,
        Some(after) => {
            let (mut listed, mut execution) = (None, None);
            for document in after.parsed()? {
                match document {
                    Document::Coins(coins) => listed = Some(coins),
                    Document::Execution(found) => execution = Some(found),
                    _ => {}
                }
            }
            let is_own = |coins: &Coins| coins.sources.iter().all(|it| it.path.starts_with(folder));
            let (listed, execution) = listed.filter(is_own).zip(execution).with_context(|| {
                format!(
                    "--after {}: expected execution and these coins, as a merge prints them",
                    after.from
                )
            })?;
            hash_coins(listed, folder, &execution, options)?
        }
    };
    with_summary(Answer::with_status(Status::Verified), &Document::Coins(document), json)
}

/// The level of shards: at most bodies, or execution with the coin multiset hash.
pub(super) fn level(asked: &Verification, options: &Options) -> Result<Level> {
    let by_multiset =
        options.settings.coins == SpentCoins::Multiset && options.level == Level::Execution;
    let what = "level execution of shards needs --with coins=multiset: a shard has no set of coins";
    ensure!(by_multiset || asked.level != Some(Level::Execution), what);
    Ok(if by_multiset { Level::Execution } else { options.level.min(Level::Bodies) })
}

/// The table of the shard with these files, and the input of level `execution`.
fn table_of(
    paths: &[&Path],
    after: &Documents<'_>,
) -> Result<(Vec<SourceFile>, Table, Option<Execution>)> {
    let is_own = |sources: &[SourceFile]| {
        sources.iter().map(|source| &*source.path).eq(paths.iter().copied())
    };
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

/// The documents to merge.
#[derive(Default)]
struct Given {
    shards: Vec<Headers>,
    bodies: Vec<(Vec<SourceFile>, Bodies)>,
    coins: Vec<Coins>,
    /// Salts of earlier merges.
    salts: Vec<Salt>,
}

impl Given {
    fn parse(documents: &[Documents<'_>]) -> Result<Self> {
        let mut given = Self::default();
        for documents in documents {
            for document in documents.parsed()? {
                match document {
                    Document::Headers(shard) => given.shards.push(shard),
                    Document::Bodies { sources, bodies } => {
                        given.salts.extend(bodies.multiset.as_ref().map(|own| own.salt));
                        given.bodies.push((sources, bodies));
                    }
                    Document::Coins(coins) => {
                        given.salts.extend(coins.multiset.map(|own| own.salt));
                        given.coins.push(coins);
                    }
                    Document::Execution(execution) => given.salts.push(execution.salt),
                    // derived from the headers, and derived again if needed
                    Document::Table { .. } | Document::Verdict(_) => {}
                }
            }
        }
        let what = "--merge: expected headers of shards, as verify --shard prints them";
        ensure!(!given.shards.is_empty(), what);
        Ok(given)
    }

    /// Starts the merge of all shards, with the coins at level `execution`.
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
            return Err(Error::OtherDocuments("parts of one multiset hash, under one salt").into());
        }
        let drawn = salts.first().copied();
        let mut merger = Merger::with_multiset(files, options, shards, first, drawn)?;
        for coins in coins {
            merger.add_coins(coins)?;
        }
        Ok(merger)
    }
}

/// Merges the documents of shards, which are all shards of the archive `of`, if that is given.
/// Prints tables of bodies that are still to be verified, or the verdict.
pub fn merge(
    asked: &Verification,
    of: &[PathBuf],
    documents: &[Documents<'_>],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let mut given = Given::parse(documents)?;
    let sources = given.shards.iter().flat_map(|shard| &shard.sources);
    let own: Vec<PathBuf> = sources.map(|source| source.path.clone()).collect();
    let asked = Verification {
        paths: if of.is_empty() { own.clone() } else { of.to_vec() },
        chain: asked.chain.clone().or_else(|| given.shards.first().map(|it| it.chain.clone())),
        ..asked.clone()
    };
    let _mounted = remote::mount(&asked.paths, &asked.remote)?;
    let Job { files, mut options, .. } = Job::prepare(&asked, None, cancel)?;
    options.level = level(&asked, &options)?;
    options.by_itself = true;
    expect_all_shards(&files, &own)?;
    let places: HashMap<&Path, usize> =
        files.files().iter().map(BlockFile::path).zip(0..).collect();
    given.shards.sort_by_key(|shard| shard.sources.first().and_then(|it| places.get(&*it.path)));
    let mut merger = given.merge(&files, &options)?;
    let Given { shards, bodies, coins, .. } = given;
    for (sources, bodies) in bodies {
        let shard = shards.iter().position(|shard| shard.sources == sources);
        let of = sources.first().map(|source| source.path.display().to_string());
        let of = of.unwrap_or_default();
        let shard = shard.with_context(|| format!("{of}: expected headers of its shard, too"))?;
        merger.add_bodies(shard, bodies)?;
    }
    let tables = merger.tables()?;
    let coins = coins.into_iter().next().filter(|_| merger.lacks_coins());
    if coins.is_some() || tables.iter().any(|table| !table.rows.is_empty()) {
        return to_verify(&shards, tables, coins, merger.execution()?, json);
    }
    let (run, outcome) = merger.finish();
    let verdict = verdict(&run, &options);
    let mut answer = answer(&run, &outcome, options.partial);
    answer.notes.extend(not_checked(verdict.unchecked.iter().cloned()));
    if !json {
        let (files, blocks) = (files.files().len() as u64, grouped(run.blocks));
        let (files, level) = (counted(files, "block file"), options.level.name());
        eprintln!("{}: {files}, {blocks} blocks at level {level}", answer.status);
        answer.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    with_summary(answer, &Document::Verdict(verdict), json)
}

/// Refuses to merge some shards of an archive as if they were complete.
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

/// Prints the tables of shards with bodies to verify, and the other inputs of that step.
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
        "no verdict yet: verify the bodies of {bodies} blocks in {of}{too} (--shard FILE --after \
         these tables), and merge them with all documents so far"
    );
    let coins = coins.map(|coins| Document::Coins(Coins { multiset: None, ..coins }));
    let all: Vec<_> =
        execution.map(Document::Execution).into_iter().chain(coins).chain(tables).collect();
    let answer = Answer { notes: vec![note.clone()], ..Answer::with_status(Status::Unrecognised) };
    let all: Vec<_> = all.iter().map(sealed).collect::<Result<_>>()?;
    if json {
        return Ok(Answer { result: Some(Payload::Documents(all)), ..answer });
    }
    eprintln!("note: {note}");
    for document in &all {
        print::raw(format_args!("{}\n", document.get()));
    }
    Ok(answer)
}

fn verdict(run: &Run, options: &Options) -> Verdict {
    let beyond = left_out(options.level.name(), EXECUTES).filter(|_| run.blocks > 0);
    Verdict {
        chain: options.params.name.into(),
        level: Some(options.level),
        unchecked: beyond.into_iter().chain(record::unchecked(run, options)).collect(),
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
        error: outcome.as_ref().err().map(report).or_else(|| run.corruption_of_files()),
        shortfalls: run.shortfalls.clone(),
        notes: record::places(run).into_iter().chain(run.proof.map(|it| it.to_string())).collect(),
        ..Answer::with_status(status)
    }
}
