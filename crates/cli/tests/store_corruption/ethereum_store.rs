//! Stores of Ethereum blocks, at both levels.

use super::program::{Random, Scratch, blockmill, succeed};
use super::{Counts, Deed, TRIALS, Work, assert_all_hit, files, renew};
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, Tip};
use blockmill_verdict::Status;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Blocks of the archive, and of the store that is corrupt.
const BLOCKS: u64 = 750;
const STORED: u64 = 600;

/// Small files and runs, so that all kinds of files are there and most end in the middle.
fn layout() -> blockmill_store::Options {
    blockmill_store::Options {
        file_bytes: 32 << 10,
        run_items: 16,
        ..blockmill_store::Options::default()
    }
}

fn extend(dir: &Path, archive: &Path, level: Level, until: Option<u64>) -> Result<(), Error> {
    // generated chains begin with its genesis block
    let spec = ChainSpec::by_name("mainnet").expect("a built-in network");
    let archive = Archive::open(&[archive.to_path_buf()])?;
    let (store, _) = ChainStore::open(dir, &layout())?;
    let options = Options {
        spec: Arc::new(spec),
        level,
        seal: SealPolicy { mode: SealMode::Off, seed: 0 },
        settings: Settings::default(),
        threads: 1,
        chunk: ChunkLimit { blocks: 64, ..ChunkLimit::default() },
        from: None,
        until,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        consumer: None,
        cancel: Cancel::new(),
    };
    import(&archive, &options, &mut Sink::Segments(Box::new(store)), |_| {}).1
}

/// A block as a store gives it.
type Block = ([u8; 32], Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

/// Everything that a store answers.
fn answers(dir: &Path) -> Result<(Option<Tip>, Vec<Block>), blockmill_store::Error> {
    let (store, _) = ChainStore::open_read_only(dir)?;
    let mut blocks = vec![];
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return Ok((None, blocks)) };
    for number in first..=tip.number {
        let hash = store.hash_of(number)?.expect("the hash of a stored block");
        assert_eq!(store.number_of(&hash)?, Some(number));
        let header = store.header(number)?.expect("a stored header");
        blocks.push((hash, header, store.body(number)?, store.receipts(number)?));
    }
    assert_eq!(store.number_of(&[7; 32])?, None);
    Ok((Some(tip), blocks))
}

/// What `check` finds: how much is corrupt, and whether the next import mends all of it.
fn check(dir: &Path) -> (usize, bool) {
    let watch = |_| true;
    let (store, mut corruption) = match ChainStore::open_corrupt(dir) {
        Ok(opened) => opened,
        Err(blockmill_store::Error::Corrupt { .. } | blockmill_store::Error::NoStore { .. }) => {
            return (1, false);
        }
        Err(error) => panic!("{error}"),
    };
    corruption.extend(
        store.check(Some(&blockmill_state_store::PAGE_FORMAT), 1, &watch).expect("a check"),
    );
    let blocks = blockmill_ethereum::check::check(&store, 1, &watch).expect("a check");
    let found = corruption.len() + blocks.findings.len();
    let mends =
        blocks.findings.is_empty() && corruption.iter().all(|corruption| corruption.mends_itself);
    (found, mends)
}

fn corrupt_stores_of(level: Level, name: &str) {
    let scratch = Scratch::new(&format!("damage-{name}"));
    let archive = scratch.path("archive");
    let mut generate = blockmill("generate ethereum --format freezer --headers");
    succeed(generate.arg(BLOCKS.to_string()).arg("--out").arg(&archive));
    let (base, whole) = (scratch.path("base"), scratch.path("whole"));
    let folder = Work::new(name);
    let work = folder.0.clone();
    extend(&base, &archive, level, Some(STORED)).expect("an import");
    extend(&whole, &archive, level, None).expect("an import");
    let (oracle, stored) = (answers(&whole).expect("answers"), files(&base));
    assert_eq!(oracle.0.expect("a tip").number, BLOCKS);
    assert_eq!(check(&base), (0, true));

    let mut random = Random::new_each_run(name);
    let (mut counts, mut kinds) = (Counts::default(), BTreeSet::new());
    for _ in 0..TRIALS {
        renew(&base, &work);
        let deed = Deed::random(&mut random, &stored, &work, &mut kinds);
        let (found, mends) = check(&work);
        let outcome = extend(&work, &archive, level, None);
        let read = match &outcome {
            Ok(()) => answers(&work),
            Err(Error::Store(_)) => answers(&work)
                .and_then(|_| ChainStore::open(&work, &layout()).map(|_| oracle.clone())),
            Err(error) => panic!("{deed:?}: the archive is blamed: {error}"),
        };
        match (&outcome, read) {
            (Ok(()), Ok(answers)) => {
                assert!(answers == oracle, "{deed:?}: a wrong answer");
                assert!(mends, "{deed:?}: the check said that it does not mend");
                counts.repaired += u32::from(found > 0);
                counts.harmless += u32::from(found == 0);
            }
            (_, Ok(_)) => panic!("{deed:?}: {outcome:?}, but nothing is damaged"),
            (_, Err(error)) => {
                assert!(found > 0, "{deed:?}: the check found nothing, and then {error}");
                assert_eq!(error.status(), Status::Corrupt, "{deed:?}: {error}");
                counts.detected += 1;
            }
        }
        if let Err(error) = &outcome {
            assert_eq!(error.status(), Status::Corrupt, "{deed:?}: {error}");
        }
        if deed.is_none() {
            assert!(outcome.is_ok() && found == 0, "nothing was changed");
        }
    }
    counts.print(name, &kinds);
    assert_all_hit(&stored, &kinds);
}

#[test]
fn corruption_of_a_store_of_headers_never_gives_a_wrong_answer() {
    corrupt_stores_of(Level::Headers, "headers");
}

#[test]
fn corruption_of_a_store_of_bodies_never_gives_a_wrong_answer() {
    corrupt_stores_of(Level::Bodies, "bodies");
}
