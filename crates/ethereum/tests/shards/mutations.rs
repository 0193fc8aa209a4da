//! Every field of a real summary is changed, with a good checksum: a merge refuses what it can
//! recompute, and here is what it cannot.

use super::{merge, shard};
use blockmill_archive::Archive;
use blockmill_ethereum::Level;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::shard::MergeError;
use blockmill_ethereum::shard::summary::ShardSummary;
use blockmill_testkit::mutations;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Fields that may be changed without a trace, and why.
const UNKNOWN: [(&str, &str); 13] = [
    ("asked.now", "the clock of the shard changes no verdict of old blocks"),
    ("asked.options", "options change no verdict"),
    ("asked.seal_seed", "seals were not sampled"),
    ("asked.from", "a wider range holds the same blocks"),
    ("asked.until", "a wider range holds the same blocks"),
    ("sources", "bytes and SHA-256 of files that a merge does not read"),
    ("head.location", "a place in a file that a merge does not read"),
    ("head.blocks[].header_at", "a place in a file that a merge does not read"),
    ("head.blocks[].body_at", "a place in a file that a merge does not read"),
    ("head.blocks[].total_at", "a place in a file that a merge does not read"),
    ("tail[].ommers", "hashes of ommers: the header has the hash of their list alone"),
    ("counts", "what a merge does not count again"),
    ("notes", "sentences about files that a merge does not read"),
];

/// What else has no effect: a merge works it out again, or takes less of it.
const UNUSED: [(&str, &str); 5] = [
    ("anchor", "a merge finds the anchor again"),
    ("format", "that of the first shard is shown, no more"),
    ("stated", "a merge compares the blocks that were verified"),
    ("total_before", "where the shards before tell the total, it is compared with that"),
    ("head.blocks[].total_difficulty", "a total that is left out is worked out again"),
];

/// Blocks of the archive from one number to another, verified apart.
fn part(paths: &[PathBuf], from: u64, until: u64) -> (ShardSummary, Options) {
    let options = Options {
        from: Some(from),
        until: Some(until),
        ..super::options(&ChainSpec::by_name("mainnet").unwrap(), Level::Bodies)
    };
    (shard(paths, &options, None), options)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_changed_summary_is_refused_wherever_its_fields_tell() {
    let paths = vec![blockmill_testkit::fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1")];
    assert!(Archive::open(&paths).is_ok());
    let ((first, mut options), (second, _)) = (part(&paths, 0, 99), part(&paths, 100, 199));
    (options.from, options.until) = (None, None);
    let verdict = merge(&[first.clone(), second.clone()], &options).unwrap();
    assert_eq!(verdict.status(), blockmill_verdict::Status::Verified);
    let (mut refused, mut unchanged) = (0, BTreeMap::<String, usize>::new());
    let (mut wrong, mut by_name) = (vec![], 0);
    for (path, changed) in mutations(&serde_json::to_value(&second).unwrap()) {
        let Ok(changed) = serde_json::from_value::<ShardSummary>(changed) else {
            refused += 1;
            continue;
        };
        if changed == second {
            continue;
        }
        match merge(&[first.clone(), changed], &options) {
            Err(error) => {
                by_name += usize::from(matches!(error, MergeError::Inconsistent { .. }));
                refused += 1;
            }
            Ok(merged) if merged.outcome.is_err() => refused += 1,
            Ok(merged) => {
                let known = UNKNOWN.iter().chain(&UNUSED).find(|(name, _)| path.starts_with(name));
                let same = merged.summary.last == verdict.summary.last
                    && merged.summary.blocks == verdict.summary.blocks;
                match known {
                    Some((name, _)) if same => *unchanged.entry((*name).into()).or_default() += 1,
                    _ => wrong.push(path),
                }
            }
        }
    }
    println!("{refused} changes refused, {by_name} of them by name; not found: {unchanged:?}");
    assert!(wrong.is_empty(), "not found: {wrong:?}");
    assert!(refused > 300 && by_name > 150, "{refused} {by_name}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_summary_that_disagrees_with_itself_is_named_by_field() {
    let paths = vec![blockmill_testkit::fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1")];
    let (summary, mut options) = part(&paths, 0, 99);
    (options.from, options.until) = (None, None);
    let with = |change: &dyn Fn(&mut ShardSummary)| {
        let mut changed = summary.clone();
        change(&mut changed);
        match merge(&[changed], &options) {
            Err(MergeError::Inconsistent { file, field }) => {
                assert_eq!(file, paths[0]);
                field.field
            }
            other => panic!("{other:?}"),
        }
    };
    let last = |summary: &mut ShardSummary, number| summary.last.as_mut().unwrap().number = number;
    assert_eq!(with(&|it| last(it, 99_999)), "last.number");
    assert_eq!(with(&|it| it.blocks = 5), "last.number");
    assert_eq!(with(&|it| it.last.as_mut().unwrap().hash.0[3] ^= 1), "last.hash");
    assert_eq!(with(&|it| it.head.blocks[2].header.0[40] ^= 1), "head.blocks[2].hash");
    assert_eq!(with(&|it| it.status = blockmill_verdict::Status::Corrupt), "status");
}
