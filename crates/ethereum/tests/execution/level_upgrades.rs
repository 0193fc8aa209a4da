//! A store of blocks becomes one of executed blocks, wherever the state is: as a direct import
//! would have it, whatever ends the raise meanwhile.

use super::executed_store::{SMALL, small};
use super::imports::{INTO_AMSTERDAM, Place, options, published, run};
use super::refused::export;
use crate::source;
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::state::{AccountProof, StateKind};
use blockmill_ethereum::{Level, U256};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, CrashPoint};
use blockmill_testkit::{Random, rounds};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The last block of the chain through every fork.
const LAST: u64 = 54;

/// A chain, and how it is executed.
struct Chain {
    place: Place,
    options: Options,
    path: PathBuf,
}

impl Chain {
    fn new(name: &str, place: Place, with: &[&str]) -> Self {
        let (spec, path) = published(name);
        let chunk = ChunkLimit { blocks: 5, ..ChunkLimit::default() };
        let options = Options { chunk, ..options(spec, place.with(with)) };
        Self { place, options, path }
    }

    /// Each kind of state, with references of pages in memory and in a cache.
    fn all(name: &str) -> Vec<Self> {
        let cached = |place: &Place| place.state == StateKind::Pages;
        let of = |place: Place| {
            let plain = Self::new(name, place, &[]);
            let other = cached(&place).then(|| Self::new(name, place, &["references=cache"]));
            [plain].into_iter().chain(other)
        };
        Place::all().into_iter().flat_map(of).collect()
    }

    fn open(&self, dir: &Path, options: &blockmill_store::Options) -> ExecutedStore {
        ExecutedStore::open(dir, options, self.place.limits(SMALL)).unwrap().0
    }

    /// Imports blocks without a state.
    fn import_bodies(&self, dir: &Path, until: Option<u64>) {
        let options = Options { level: Level::Bodies, until, ..self.options.clone() };
        let (store, _) = ChainStore::open(dir, &small()).unwrap();
        let (_, error) = run(self.path.clone(), &options, &mut Sink::Segments(Box::new(store)));
        assert_eq!(error, None);
    }

    /// Executes all blocks; the last one that is committed.
    fn execute(&self, dir: &Path, until: Option<u64>) -> u64 {
        let options = Options { until, ..self.options.clone() };
        let mut sink = Sink::Executed(Box::new(self.open(dir, &small())));
        let (run, error) = run(self.path.clone(), &options, &mut sink);
        assert_eq!(error, None, "{:?}", self.place);
        run.committed.unwrap()
    }

    /// What a reader finds: the last block, its level, the last one with a state, and proofs of the
    /// first accounts there. The state is held to its root.
    fn found(&self, dir: &Path) -> (u64, u8, Option<u64>, Vec<String>) {
        let store = ExecutedStore::open_read_only(dir).unwrap();
        assert!(store.check_state(&Cancel::new()).unwrap());
        let tip = store.blocks().tip().unwrap();
        let executed = store.facts().map(|facts| facts.block);
        let mut proofs = vec![];
        if let Some(number) = executed {
            let (nodes, root) = store.nodes_after(number, &Cancel::new()).unwrap().unwrap();
            for account in self.options.spec.genesis.accounts().unwrap().iter().take(20) {
                let slots = account.storage.iter().take(3);
                let slots: Vec<_> = slots.map(|slot| U256::from_be_bytes(slot.0)).collect();
                let proof = AccountProof::new(&nodes, &root, &account.address, &slots);
                proofs.push(format!("{:?}", proof.unwrap()));
            }
        }
        (tip.number, tip.level, executed, proofs)
    }

    /// A raised store is what a direct import makes, goes back and goes on.
    fn assert_raised(&self, dir: &Path, direct: &Path) {
        let found = self.found(dir);
        assert_eq!(found.1, Level::Execution as u8);
        assert_eq!(found.2, Some(found.0));
        assert!(found.3.len() > 2, "{} proofs", found.3.len());
        assert!(found == self.found(direct), "{:?}: another state", self.place);
        let mut store = self.open(dir, &small());
        let back = found.0 - 9;
        store.unwind(back, &Cancel::new()).unwrap().unwrap();
        drop(store);
        assert_eq!(self.found(dir).2, Some(back));
        assert_eq!(self.execute(dir, None), found.0);
        assert!(self.found(dir) == found);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_of_bodies_is_raised_to_the_state_of_a_direct_import() {
    for chain in Chain::all(INTO_AMSTERDAM) {
        let [direct, raised] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
        assert_eq!(chain.execute(direct.path(), None), 239);
        chain.import_bodies(raised.path(), Some(200));
        assert_eq!(chain.execute(raised.path(), None), 239, "{:?}", chain.place);
        chain.assert_raised(raised.path(), direct.path());
    }
    for chain in Chain::all("execution-apis") {
        let direct = tempfile::tempdir().unwrap();
        assert_eq!(chain.execute(direct.path(), None), LAST);
        for (bodies, executed) in
            [(None, None), (Some(30), None), (None, Some(30)), (Some(1), None)]
        {
            let raised = tempfile::tempdir().unwrap();
            chain.import_bodies(raised.path(), bodies);
            assert_eq!(chain.found(raised.path()).2, None);
            assert_eq!(chain.execute(raised.path(), executed), LAST, "{:?}", chain.place);
            chain.assert_raised(raised.path(), direct.path());
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_death_during_a_raise_leaves_a_store_that_can_be_raised() {
    let mut died = 0;
    for chain in Chain::all("execution-apis") {
        let archive = Archive::open(std::slice::from_ref(&chain.path)).unwrap();
        let direct = tempfile::tempdir().unwrap();
        chain.execute(direct.path(), None);
        for point in CrashPoint::ALL {
            for times in [0, 2] {
                let raised = tempfile::tempdir().unwrap();
                chain.import_bodies(raised.path(), None);
                let dying = blockmill_store::Options { crash_at: Some((point, times)), ..small() };
                let mut sink = Sink::Executed(Box::new(chain.open(raised.path(), &dying)));
                let (_, outcome) = import(&archive, &chain.options, &mut sink, |_| {});
                drop(sink);
                if outcome.is_ok() {
                    break;
                }
                died += 1;
                let (last, level, executed, _) = chain.found(raised.path());
                assert_eq!(last, LAST);
                // what is called executed was executed
                assert!(level == Level::Bodies as u8 || executed == Some(LAST));
                assert_eq!(chain.execute(raised.path(), None), LAST);
                chain.assert_raised(raised.path(), direct.path());
            }
        }
    }
    assert!(died > 40, "{died} deaths");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_raise_that_is_stopped_goes_on_where_it_was() {
    let (mut random, mut stopped) = (Random::new(21), 0);
    for chain in Chain::all("hive-sync") {
        let raised = tempfile::tempdir().unwrap();
        chain.import_bodies(raised.path(), None);
        for _ in 0..rounds(4) {
            let cancel = Cancel::new();
            let options = Options { cancel: cancel.clone(), ..chain.options.clone() };
            let mut sink = Sink::Executed(Box::new(chain.open(raised.path(), &small())));
            let after = Duration::from_millis(random.below(120u64));
            let (ended, error) = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(after);
                    cancel.cancel();
                });
                run(chain.path.clone(), &options, &mut sink)
            });
            assert_eq!(error, None);
            drop(sink);
            let (last, level, executed, _) = chain.found(raised.path());
            assert_eq!(last, 3_000);
            assert!(level == Level::Bodies as u8 || executed == Some(last));
            stopped += usize::from(ended.stopped);
        }
        assert_eq!(chain.execute(raised.path(), None), 3_000);
        assert_eq!(chain.found(raised.path()).2, Some(3_000));
    }
    assert!(stopped > 0, "no raise was stopped");
}

/// The first commit of a state on disk comes with the first chunk, unless there is a fault in it.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_fault_in_the_first_blocks_leaves_a_store_that_can_go_on() {
    let blocks = source::chain("execution-apis");
    let scratch = tempfile::tempdir().unwrap();
    let wrong_path = scratch.path().join("wrong.rlp");
    for chain in Chain::all("execution-apis") {
        let direct = tempfile::tempdir().unwrap();
        chain.execute(direct.path(), None);
        for (at, root) in [(2, "state"), (3, "receipts"), (0, "state"), (2, "parent")] {
            let mut wrong = blocks[..8].to_vec();
            let mut header = HeaderView::decode(&blocks[at].header).unwrap().to_owned();
            match root {
                "state" => header.state_root[9] ^= 1,
                "receipts" => header.receipts_root[9] ^= 1,
                _ => header.parent_hash[9] ^= 1,
            }
            wrong[at].header = blockmill_rlp::Encode::encode(&header);
            export(&wrong_path, &wrong);
            let folder = tempfile::tempdir().unwrap();
            let mut sink = Sink::Executed(Box::new(chain.open(folder.path(), &small())));
            let (_, error) = run(wrong_path.clone(), &chain.options, &mut sink);
            assert!(error.is_some());
            drop(sink);
            let (last, _, executed, _) = chain.found(folder.path());
            assert!(last <= at as u64 && executed.is_none_or(|executed| executed <= last));
            assert_eq!(chain.execute(folder.path(), None), LAST);
            chain.assert_raised(folder.path(), direct.path());
        }
        // nothing but the first block, which the archive leaves out
        let folder = tempfile::tempdir().unwrap();
        let mut sink = Sink::Executed(Box::new(chain.open(folder.path(), &small())));
        let nothing = Options { until: Some(0), ..chain.options.clone() };
        let (ended, error) = run(chain.path.clone(), &nothing, &mut sink);
        assert!(ended.committed == Some(0) && error.is_some());
        drop(sink);
        assert_eq!(chain.found(folder.path()).2, Some(0));
        assert_eq!(chain.execute(folder.path(), None), LAST);
        chain.assert_raised(folder.path(), direct.path());
    }
}
