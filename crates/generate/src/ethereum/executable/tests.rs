//! Generated chains are executed again and match their recipes.

use super::*;
use blockmill_archive::{Archive, ChunkLimit, Packed, Want};
use blockmill_ethereum::Level;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::execute::{PreparedBlock, Replay};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::import::{Options, Run, import};
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::state::{DiskOptions, StateKind, Tries};
use blockmill_ethereum::transactions::TransactionType;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

fn small(work: Work, fork: Fork) -> Recipe {
    let (blocks, block_transactions, accounts, slots) = match work {
        Work::Mixed => (24, 24, 24, 1),
        Work::Storage | Work::Compute => (2, 1, 16, 1 << 10),
        _ => (4, 12, 24, 1),
    };
    Recipe { fork, blocks, block_transactions, accounts, slots, ..Recipe::for_work(work) }
}

/// Executes every block of a chain again, with every check. Returns the types of its transactions.
fn execute(folder: &Path, made: &Generated) -> BTreeSet<TransactionType> {
    let spec = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let spec = ChainSpec::from_genesis_json(&spec).unwrap();
    let mut replay = Replay::from_genesis(&spec, Tries::pointers()).unwrap();
    let archive = Archive::open(&[folder.join(FILE)]).unwrap();
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 1..=u64::MAX).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let (mut last, mut types) = (None, BTreeSet::new());
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        for i in 0..chunk.blocks() {
            let header = HeaderView::decode(chunk.headers.get(i)).unwrap();
            if header.number == 0 {
                continue;
            }
            let body = BodyView::decode(chunk.bodies.get(i)).unwrap();
            types.extend(body.transaction_types());
            let block = PreparedBlock::verified(&spec, &header, &body).unwrap();
            replay.execute(&block).unwrap_or_else(|error| panic!("{}: {error}", header.number));
            last = Some((header.number, header.hash(), header.to_owned().state_root));
        }
    }
    assert_eq!(last, Some((made.last, made.hash, made.state_root)));
    types
}

fn make(recipe: &Recipe, folder: &Path) -> (PathBuf, Generated) {
    let out = folder.join(format!("{:?}-{:?}-{}", recipe.work, recipe.fork, recipe.seed));
    let made = generate(recipe, &out, |_| {}).unwrap();
    assert_eq!(made.last, recipe.blocks);
    (out, made)
}

#[test]
fn every_work_executes_and_does_something() {
    let folder = tempfile::tempdir().unwrap();
    for (name, work) in Work::ALL {
        let recipe = small(work, Fork::Osaka);
        let (out, made) = make(&recipe, folder.path());
        execute(&out, &made);
        assert_eq!(made.transactions, recipe.blocks * recipe.block_transactions, "{name}");
        let least = match work {
            Work::Storage => 14_900_000,
            Work::Compute => 9_900_000,
            Work::Transfers => 21_000,
            Work::Erc20 => 30_000,
            Work::Contracts => 60_000,
            Work::Mixed => 30_000,
        };
        assert!(made.gas / made.transactions >= least, "{name}: {made:?}");
    }
}

#[test]
fn mixed_chains_of_every_fork_execute_with_all_types_of_transactions() {
    let folder = tempfile::tempdir().unwrap();
    for (name, fork, _) in FORKS {
        let (out, made) = make(&small(Work::Mixed, fork), folder.path());
        let types = execute(&out, &made).len();
        let expected = match fork {
            fork if fork >= Fork::Prague => 5,
            fork if fork >= Fork::Cancun => 4,
            fork if fork >= Fork::London => 3,
            fork if fork >= Fork::Berlin => 2,
            _ => 1,
        };
        assert_eq!(types, expected, "{name}");
    }
}

/// Imports the chain through the stages, with the same result.
fn import_all(folder: &Path, made: &Generated, with: &str) -> Run {
    import_into(&mut Sink::Discard, folder, made, with)
}

fn import_into(sink: &mut Sink, folder: &Path, made: &Generated, with: &str) -> Run {
    let spec = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let options = Options {
        spec: Arc::new(ChainSpec::from_genesis_json(&spec).unwrap()),
        level: Level::Execution,
        seal: SealPolicy { mode: SealMode::Off, seed: 0 },
        settings: Settings::default().with(&with.split(' ').collect::<Vec<_>>()).unwrap(),
        threads: 2,
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
    };
    let archive = Archive::open(&[folder.join(FILE)]).unwrap();
    let (run, outcome) = import(&archive, &options, sink, |_| {});
    outcome.unwrap_or_else(|error| panic!("{with}: {error}"));
    assert_eq!(run.tip.as_ref().map(|tip| tip.id.hash), Some(made.hash), "{with}");
    run
}

#[test]
fn speculations_commit_only_if_they_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let (mut committed, mut aborted) = (0, 0);
    for (name, fork, _) in FORKS.into_iter().filter(|(_, fork, _)| *fork >= Fork::Petersburg) {
        for seed in 1..4 {
            let (out, made) = make(&Recipe { seed, ..small(Work::Mixed, fork) }, folder.path());
            let run = import_all(&out, &made, "speculate=all access-lists=off");
            assert!(run.speculation.committed > 0, "{name}: {:?}", run.speculation);
            committed += run.speculation.committed;
            aborted += run.speculation.aborted;
            assert_eq!(import_all(&out, &made, "speculate=off").speculation.committed, 0);
        }
    }
    assert!(aborted > 20, "{committed} committed, {aborted} aborted");
    let compute = Recipe { blocks: 12, block_transactions: 2, ..small(Work::Compute, Fork::Osaka) };
    let (out, made) = make(&compute, folder.path());
    // how many speculations finish in time depends on the load of the machine
    let tallies = (0..10).map(|_| import_all(&out, &made, "speculate=heavy").speculation);
    let most = tallies.inspect(|tally| eprintln!("{tally:?}")).find(|tally| tally.committed > 12);
    assert!(most.is_some(), "never more than 12 of 24");
}

#[test]
fn blocks_with_access_lists_are_executed_by_them_across_the_fork() {
    let folder = tempfile::tempdir().unwrap();
    let crossing = small(Work::Mixed, Fork::Osaka);
    let crossing = Recipe { next_fork: Some(Fork::Amsterdam), ..crossing };
    let (out, made) = make(&crossing, folder.path());
    let run = import_all(&out, &made, "access-lists=parallel");
    assert_eq!(run.by_access_list, crossing.blocks - crossing.blocks / 2);
    assert_eq!(import_all(&out, &made, "access-lists=off").by_access_list, 0);
}

#[test]
fn blocks_with_access_lists_are_executed_speculatively_on_their_part_of_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let recipe =
        Recipe { blocks: 12, block_transactions: 2, ..small(Work::Compute, Fork::Amsterdam) };
    let (out, made) = make(&recipe, folder.path());
    let run = import_all(&out, &made, "access-lists=parallel speculate=heavy");
    // a part never changes, so nothing depends on what finishes when
    assert_eq!((run.by_access_list, run.speculation.committed), (12, 24));
    // transactions that depend on each other abort
    let mut tallies = (1..4).map(|seed| {
        let recipe = Recipe { seed, ..small(Work::Mixed, Fork::Amsterdam) };
        let (out, made) = make(&recipe, folder.path());
        import_all(&out, &made, "access-lists=parallel speculate=all").speculation
    });
    assert!(tallies.all(|tally| tally.committed > 0 && tally.aborted > 0));
}

/// Contracts that are destroyed, recreated and fill storage, over a state with a tiny cache:
/// forwards, all the way back, and forwards again.
#[test]
fn mixed_chains_end_alike_wherever_the_state_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for (name, fork, _) in FORKS.into_iter().filter(|(_, fork, _)| *fork >= Fork::Petersburg) {
        let (out, made) = make(&small(Work::Mixed, fork), folder.path());
        for kind in [StateKind::Pages, StateKind::FlatTrie] {
            let with = format!("state={}", kind.name());
            let data = tempfile::tempdir().unwrap();
            let disk = DiskOptions { memory_bytes: 1 << 16, ..DiskOptions::DEFAULT };
            let limits = Limits { state: kind, disk, ..Limits::default() };
            let open = || {
                let options = blockmill_store::Options::default();
                Box::new(ExecutedStore::open(data.path(), &options, limits).unwrap().0)
            };
            import_into(&mut Sink::Executed(open()), &out, &made, &with);
            for to in [made.last / 2, made.last - 1, 0] {
                let done = open().unwind(to, &Cancel::new()).unwrap().unwrap();
                assert_eq!((done.to, done.with_state), (to, true), "{name} {with}");
                import_into(&mut Sink::Executed(open()), &out, &made, &with);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, seed| {
        let recipe = Recipe { seed, ..small(Work::Mixed, Fork::Prague) };
        let out = folder.path().join(name);
        generate(&recipe, &out, |_| {}).unwrap();
        [FILE, "genesis.json"].map(|file| fs::read(out.join(file)).unwrap())
    };
    assert_eq!(read("a", 1), read("b", 1));
    assert_ne!(read("c", 1)[0], read("d", 2)[0]);
}

#[test]
fn contracts_that_a_fork_cannot_run_are_refused() {
    let refused = |recipe: Recipe| generate(&recipe, Path::new("never-written"), |_| {}).is_err();
    assert!(refused(small(Work::Storage, Fork::Byzantium)));
    assert!(refused(Recipe { slots: 3, ..small(Work::Storage, Fork::Osaka) }));
    assert!(refused(Recipe { accounts: 8, ..small(Work::Transfers, Fork::Osaka) }));
    assert!(refused(small(Work::Mixed, Fork::Constantinople)));
}
