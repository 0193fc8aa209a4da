//! A walk over a store of Ethereum blocks: what the store has to be, and the comparison.

use crate::chain_model::Chain;
use crate::command::Command;
use crate::program::Random;
use crate::walks::Seen;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::state::StateKind;
use blockmill_store::{ChainStore, Tip};
use blockmill_verdict::{Level, Status};
use std::path::{Path, PathBuf};

/// Where a store keeps its state, and how it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Memory,
    Pages,
    PagesCached,
    FlatTrie,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Memory, Self::Pages, Self::PagesCached, Self::FlatTrie];

    pub fn state(self) -> StateKind {
        match self {
            Self::Memory => StateKind::Memory,
            Self::Pages | Self::PagesCached => StateKind::Pages,
            Self::FlatTrie => StateKind::FlatTrie,
        }
    }

    /// The flags of an import into a new store.
    pub fn flags(self) -> &'static str {
        match self {
            Self::Memory => "",
            Self::Pages => "--with state=pages --cache 16",
            Self::PagesCached => "--with state=pages --with references=cache --cache 1",
            Self::FlatTrie => "--with state=flat+trie --cache 16",
        }
    }

    /// Those of an import into a store that has its state.
    pub fn resumed_flags(self) -> &'static str {
        match self {
            Self::Memory => "",
            Self::Pages | Self::FlatTrie => "--cache 16",
            Self::PagesCached => "--with references=cache --cache 1",
        }
    }
}

/// What a store has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    pub level: Level,
    pub tip: u64,
    /// The last block whose state there is; none without a state.
    pub state: Option<u64>,
    /// The block whose state a upgrade to execution had committed when it was interrupted: the
    /// store is still of level bodies.
    pub begun: Option<u64>,
    /// The first block whose state there can be.
    pub base: u64,
    /// An unwind can go back to this block at least.
    pub earliest: u64,
}

impl Model {
    /// A new store after its first import.
    pub fn new(level: Level, tip: u64) -> Self {
        let state = (level == Level::Execution).then_some(tip);
        Self { level, tip, state, begun: None, base: 0, earliest: 0 }
    }

    /// The store has blocks up to `tip`, and the state after it where it is of that level.
    pub fn reaches(&mut self, level: Level, tip: u64, depth: u64) {
        (self.level, self.tip) = (level, self.tip.max(tip));
        if level == Level::Execution {
            (self.state, self.begun) = (Some(self.tip), None);
            self.earliest = self.earliest.max(self.tip.saturating_sub(depth));
        }
    }
}

pub struct Walk<'a> {
    pub chain: &'a Chain,
    pub kind: Kind,
    pub folder: &'a Path,
    pub random: &'a mut Random,
    /// The store, and how many there were.
    pub data: PathBuf,
    stores: u32,
    /// None before the first commit.
    pub model: Option<Model>,
    /// The `--unwind-depth` of its imports.
    pub depth: u64,
    /// The last step was a kill.
    pub killed: bool,
    taken: Vec<String>,
    pub seen: Seen,
}

impl<'a> Walk<'a> {
    pub fn new(chain: &'a Chain, kind: Kind, folder: &'a Path, random: &'a mut Random) -> Self {
        let depth = random.pick(&[3, 10_000]);
        let (data, seen) = (folder.join("store-0"), Seen::new());
        Self {
            chain,
            kind,
            folder,
            random,
            data,
            stores: 0,
            model: None,
            depth,
            killed: false,
            taken: vec![],
            seen,
        }
    }

    /// The walk continues with a new store.
    pub fn next_data(&mut self) -> PathBuf {
        self.stores += 1;
        self.folder.join(format!("store-{}", self.stores))
    }

    /// Where a store of headers is upgraded.
    pub fn upgrading(&self) -> PathBuf {
        self.data.with_extension("upgrading")
    }

    /// Takes note of a step.
    pub fn note(&mut self, step: &'static str, more: String) {
        *self.seen.entry(step).or_default() += 1;
        self.taken.push(format!("{step} {more}"));
    }

    /// Takes note of how a step ended.
    pub fn ended(&mut self, how: String) {
        self.taken.push(format!("    {how}"));
    }

    /// One step, and the comparison.
    pub fn step(&mut self) {
        self.take_step();
        self.compare();
    }

    /// The last block of a store, and the last one whose state it has, be it that of an
    /// interrupted upgrade.
    pub fn read(data: &Path) -> Option<(Tip, Option<u64>)> {
        let tip = match ChainStore::open_read_only(data) {
            Ok((store, _)) => store.tip()?,
            Err(blockmill_store::Error::NoStore { .. }) => return None,
            Err(error) => panic!("{}: {error}", data.display()),
        };
        let store = ExecutedStore::open_read_only(data).expect("a store that opens");
        Some((tip, store.facts().map(|facts| facts.block)))
    }

    /// The store is what the model says.
    fn compare(&mut self) {
        let Some(model) = self.model else {
            assert_eq!(Self::read(&self.data).map(|(tip, _)| tip.number), None);
            return;
        };
        let mut checked = Command::new("check").path(&self.data).run();
        if self.killed && checked.status == Status::Corrupt {
            // half of a commit is what a kill may leave
            let parts =
                checked.document["result"]["corruption"].as_array().expect("a list").clone();
            assert!(
                parts.iter().all(|part| part["mends_itself"] == true),
                "{}",
                checked.reported()
            );
            Command::new("check --repair").path(&self.data).run().expect(Status::Ok);
            checked = Command::new("check").path(&self.data).run();
        }
        self.killed = false;
        let checked = checked.expect(Status::Ok);
        assert_eq!(checked["tip"], model.tip, "{checked:#}");
        let level = format!("level {}", model.level.name());
        assert!(checked["holds"].to_string().contains(&level), "{checked:#}");
        let (tip, state) = Self::read(&self.data).expect("a store with blocks");
        assert_eq!(tip.hash, self.chain.hashes[tip.number as usize]);
        assert_eq!((tip.number, state), (model.tip, model.state.or(model.begun)), "{checked:#}");
        let Some(state) = model.state else { return };
        let store = ExecutedStore::open_read_only(&self.data).expect("a store that opens");
        assert_eq!(store.kind(), self.kind.state());
        let earliest = store.earliest().expect("blocks");
        assert!((model.base..=model.earliest.max(model.base)).contains(&earliest), "{earliest}");
        drop(store);
        for block in [state, self.random.below(state + 1).max(earliest)] {
            self.prove(block);
        }
    }

    /// A proof is that of the reference.
    pub fn prove(&mut self, block: u64) {
        let account = self.random.below(self.chain.accounts());
        let proof = self.chain.prove(&self.data, block, account).run().succeed();
        assert_eq!(proof, self.chain.proof(block, account), "block {block}");
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{:?}, --unwind-depth {}", self.kind, self.depth);
            self.taken.iter().for_each(|step| println!("  {step}"));
            println!("  {:?}", self.model);
        }
    }
}
