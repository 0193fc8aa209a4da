//! Shards that are verified apart and merged get the verdict of a single run over all of them: the
//! same block, rule, expectation and location, wherever the cuts are and whatever is corrupt.

mod containers;
mod corruption;
mod merge;
mod mutations;

use crate::source::{self, RealBlock};
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::{Options, Run, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::shard::summary::ShardSummary;
use blockmill_ethereum::shard::{Merged, merge, verify_shard};
use blockmill_pipeline::Cancel;
use blockmill_rlp::{OnePass, Write};
use blockmill_testkit::Random;
use blockmill_verdict::Status;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What tests ask for: no seals, which changed headers have none of.
fn options(spec: &ChainSpec, level: Level) -> Options {
    Options {
        spec: Arc::new(spec.clone()),
        level,
        seal: SealPolicy { mode: SealMode::Off, seed: 1 },
        settings: Settings::default(),
        threads: 1,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        consumer: None,
        cancel: Cancel::default(),
    }
}

/// A chain of the fixtures and its blocks.
fn published(name: &str) -> (ChainSpec, Vec<RealBlock>) {
    let genesis = blockmill_testkit::read(format!("ethereum/chains/{name}/genesis.json"));
    let spec = ChainSpec::from_genesis_json(str::from_utf8(&genesis).unwrap()).unwrap();
    (spec, source::chain(name))
}

/// The first blocks of the main network: ommers in nearly every tenth.
fn mainnet(blocks: usize) -> (ChainSpec, Vec<RealBlock>) {
    let mut all = source::era1("mainnet-00000-5ec1ffb8.era1");
    all.truncate(blocks);
    (ChainSpec::by_name("mainnet").unwrap(), all)
}

/// The block as an export has it.
fn encoded(block: &RealBlock) -> Vec<u8> {
    let body = blockmill_rlp::Reader::new(&block.body).list().unwrap().rest();
    let mut out = OnePass::default();
    out.list(|out| {
        out.raw(&block.header);
        out.raw(body);
    });
    out.into_bytes()
}

/// Writes each part into a file of its own, in `folder`.
fn write_parts(folder: &Path, parts: &[&[RealBlock]]) -> Vec<PathBuf> {
    let write = |(i, part): (usize, &&[RealBlock])| {
        let path = folder.join(format!("part-{i:03}.rlp"));
        std::fs::write(&path, part.iter().flat_map(encoded).collect::<Vec<u8>>()).unwrap();
        path
    };
    parts.iter().enumerate().map(write).collect()
}

/// Cuts `blocks` at 1 to 5 random places.
fn cut<'b>(random: &mut Random, blocks: &'b [RealBlock]) -> Vec<&'b [RealBlock]> {
    let mut cuts: Vec<usize> =
        (0..1 + random.below(5_usize)).map(|_| random.below(blocks.len())).collect();
    if random.coin() {
        // short shards, so that windows span several
        let near = random.below(blocks.len());
        cuts.extend((near..blocks.len()).take(1 + random.below(9_usize)));
    }
    cuts.extend([0, blocks.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| &blocks[pair[0]..pair[1]]).collect()
}

/// The verdict of a single run.
fn whole(paths: &[PathBuf], options: &Options) -> (Run, Result<(), Error>) {
    import(&Archive::open(paths).unwrap(), options, &mut Sink::Discard, |_| {})
}

/// Each archive as a shard, its summary through its document and back.
fn shard(paths: &[PathBuf], options: &Options, after: Option<&ShardSummary>) -> ShardSummary {
    let archive = Archive::open(paths).unwrap();
    let summary = verify_shard(&archive, options, after, |_| {}).unwrap();
    let document = serde_json::to_string(&summary).unwrap();
    let back: ShardSummary = serde_json::from_str(&document).unwrap();
    assert_eq!(back, summary);
    summary
}

/// Merges shards, each of an archive. Verifies a shard again if the merge asks for it.
fn merged(archives: &[Vec<PathBuf>], options: &Options) -> Merged {
    let mut shards: Vec<_> = archives.iter().map(|paths| shard(paths, options, None)).collect();
    let found = merge(&shards, options).unwrap();
    let Some(again) = found.again else { return found };
    let before = merge(&shards[..again], options).unwrap().summary;
    shards[again] = shard(&archives[again], options, Some(&before));
    let found = merge(&shards, options).unwrap();
    assert_eq!(found.again, None);
    found
}

/// The status of a run.
fn status(run: &Run, outcome: &Result<(), Error>) -> Status {
    match outcome {
        Err(error) => error.status(),
        Ok(()) if run.shortfalls.is_empty() => Status::Verified,
        Ok(()) => Status::Partial,
    }
}

/// Holds the merge of `shards` to the verdict of a single run over all their files; gives the
/// verdict in words.
#[track_caller]
fn expect_same(shards: &[PathBuf], options: &Options, what: &str) -> String {
    let (run, outcome) = whole(shards, options);
    if repeats(&run, &outcome) {
        // a merge has the ends of shards only, and compares no blocks of shards that overlap
        let archives: Vec<_> = shards.iter().map(|path| vec![path.clone()]).collect();
        let merged = merged(&archives, options);
        assert_eq!(merged.status(), Status::Invalid, "{what}: {:?}", merged.outcome);
        return "blocks that come again".into();
    }
    // where first blocks are equal, files are read in another order
    let shards = Archive::open(shards).unwrap().files().to_vec();
    let archives: Vec<_> = shards.iter().map(|path| vec![path.clone()]).collect();
    // a summary of headers has no ommers
    let known = Options { level: Level::Headers, ..options.clone() };
    if let Some(merged) = merged_after(&archives, options, &known) {
        compare(&run, &outcome, &merged, &format!("{what}, after headers"));
    }
    compare(&run, &outcome, &merged(&archives, options), what)
}

/// Whether a run met blocks that came again: equal ones, which it skipped, or others.
fn repeats(run: &Run, outcome: &Result<(), Error>) -> bool {
    let rule = outcome.as_ref().err().and_then(|error| error.report().rule);
    let is_noted = run.notes.iter().any(|note| note.contains("came again"));
    is_noted || rule.is_some_and(|rule| rule == Rule::RepeatedBlock.name())
}

/// The merge of shards, each verified after the summary of the shards before it, which were
/// verified with the options `known`; `None` if these are no chain.
fn merged_after(archives: &[Vec<PathBuf>], options: &Options, known: &Options) -> Option<Merged> {
    let (mut before, mut shards): (Option<ShardSummary>, Vec<_>) = (None, vec![]);
    for paths in archives {
        shards.push(shard(paths, options, before.as_ref()));
        let own = shard(paths, known, before.as_ref());
        let merged = merge(&[before.as_slice(), &[own]].concat(), known).unwrap();
        if merged.outcome.is_err() || !merged.shortfalls.is_empty() {
            return None;
        }
        before = Some(merged.summary);
    }
    Some(merge(&shards, options).unwrap())
}

#[track_caller]
fn compare(run: &Run, outcome: &Result<(), Error>, merged: &Merged, what: &str) -> String {
    let expected = outcome.as_ref().err().map(Error::report);
    assert_eq!(merged.outcome.as_ref().err().map(Error::report), expected, "{what}");
    assert_eq!(merged.status(), status(run, outcome), "{what}");
    let summary = &merged.summary;
    assert_eq!(merged.shortfalls, run.shortfalls, "{what}");
    if outcome.is_ok() {
        let last = summary.last.as_ref().map(|last| (last.number, last.hash.0));
        let tip = run.tip.as_ref();
        assert_eq!(last, tip.map(|tip| (tip.id.number, tip.id.hash)), "{what}");
        assert_eq!(summary.blocks, run.blocks, "{what}");
        let total = summary.last.as_ref().and_then(|last| last.total_difficulty);
        assert_eq!(total.map(|t| t.0), tip.and_then(|tip| tip.total_difficulty), "{what}");
        assert_eq!(summary.counts.unchecked_ommers, run.unchecked_ommers, "{what}");
        assert_eq!(summary.counts.accumulators, run.accumulators, "{what}");
        assert_eq!(summary.counts.transactions, run.transactions, "{what}");
        assert_eq!(summary.trusted.len(), run.trusted.len(), "{what}");
    }
    expected.map_or("verified".into(), |report| report.rule.unwrap_or(report.message))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn good_chains_are_verified_wherever_they_are_cut() {
    let mut random = Random::new_each_run("good_chains_are_verified_wherever_they_are_cut");
    let chains = ["hive-sync", "hive-engine", "geth-ethtest", "execution-apis"].map(published);
    let mut cuts = 0;
    for (spec, blocks) in chains.into_iter().chain([mainnet(1_000)]) {
        for level in [Level::Headers, Level::Bodies] {
            for _ in 0..blockmill_testkit::rounds(10) {
                let folder = tempfile::tempdir().unwrap();
                let parts = write_parts(folder.path(), &cut(&mut random, &blocks));
                let verdict = expect_same(&parts, &options(&spec, level), "good");
                assert_eq!(verdict, "verified");
                cuts += parts.len() - 1;
            }
        }
    }
    println!("{cuts} cuts");
    assert!(cuts > 10);
}

/// A tree of merges gives what one merge after the other does.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn merged_summaries_are_merged_again() {
    let mut random = Random::new_each_run("merged_summaries_are_merged_again");
    // one that begins with its genesis block, and one that leaves it out
    let chains = [mainnet(600), published("geth-ethtest")];
    for round in 0..blockmill_testkit::rounds(20) {
        let (spec, blocks) = &chains[round % 2];
        let options = options(spec, Level::Bodies);
        let folder = tempfile::tempdir().unwrap();
        let parts = write_parts(folder.path(), &cut(&mut random, blocks));
        let shards: Vec<_> =
            parts.iter().map(|part| shard(std::slice::from_ref(part), &options, None)).collect();
        let flat = merge(&shards, &options).unwrap();
        let (left, right) = shards.split_at(shards.len() / 2);
        if left.is_empty() {
            continue;
        }
        let sides = [left, right].map(|side| merge(side, &options).unwrap().summary);
        let tree = merge(&sides, &options).unwrap();
        assert_eq!(tree.summary, flat.summary);
        assert_eq!(tree.status(), Status::Verified);
    }
}
