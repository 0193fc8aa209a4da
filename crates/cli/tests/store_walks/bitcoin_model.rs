//! Two branches of a Bitcoin chain, and what a store of each height of them must say.

use crate::command::Command;
use crate::program::{Scratch, blockmill, succeed};
use blockmill_archive::blkdat::{self, BlockFiles};
use blockmill_bitcoin::coins::Statistics;
use blockmill_bitcoin::import::Tip;
use blockmill_bitcoin::inspect;
use blockmill_bitcoin::params::Params;
use blockmill_pipeline::live::Live;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Blocks that each branch is generated with at least: the second one has more work.
const BLOCKS: [u64; 2] = [100, 130];

/// A block of one of the branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    pub branch: usize,
    pub height: u64,
}

pub struct Chain {
    /// Folders of block files.
    pub branches: [PathBuf; 2],
    /// The last height of each.
    pub last: [u64; 2],
    /// Where each block is, by its hash. The genesis block is in both.
    places: HashMap<[u8; 32], At>,
    scratch: PathBuf,
    coins: Mutex<HashMap<(usize, u64), Statistics>>,
}

impl Chain {
    pub fn new(scratch: &Scratch) -> Self {
        let branches = ["first", "second"].map(|name| scratch.path(name));
        let genesis = At { branch: 1, height: 0 };
        let mut places = HashMap::from([(Params::regtest().genesis_hash.0, genesis)]);
        let mut last = [0; 2];
        for (branch, folder) in branches.iter().enumerate() {
            let words = format!(
                "generate bitcoin --inputs 60 --coins 20 --block-inputs 8 --blocks {} --seed {} \
                 --out",
                BLOCKS[branch],
                branch + 1
            );
            succeed(blockmill(&words).arg(folder));
            let inspection = inspect::inspect(&files(&[folder]), 1, false, None, &Live::default())
                .expect("blocks");
            let tree = inspection.tree;
            for found in tree.found() {
                let node = tree.find(&found.hash).expect("a block of the tree");
                let height = u64::from(tree.height(node));
                places.insert(found.hash.0, At { branch, height });
                last[branch] = height.max(last[branch]);
            }
        }
        assert!(last[0] + 10 < last[1], "{last:?}");
        Self {
            branches,
            last,
            places,
            scratch: scratch.path("references"),
            coins: Mutex::default(),
        }
    }

    /// Where a block is.
    pub fn place(&self, tip: Tip) -> At {
        let at = self.places.get(&tip.hash.0).copied();
        let at = at.unwrap_or_else(|| panic!("no block of these branches: {}", tip.hash));
        assert_eq!(at.height, u64::from(tip.height));
        at
    }

    /// The coins of a store that is built in one go up to this block.
    pub fn coins(&self, at: At) -> Statistics {
        let mut coins = self.coins.lock().expect("coins");
        let build = || {
            let At { branch, height } = at;
            let data = self.scratch.join(format!("{branch}-{height}"));
            import(&data, height).path(&self.branches[branch]).run().succeed();
            let (tip, statistics) = coins_of(&data).expect("coins");
            assert_eq!(self.place(tip), at);
            statistics
        };
        *coins.entry((at.branch, at.height)).or_insert_with(build)
    }
}

/// The block files in some folders.
pub fn files(folders: &[&PathBuf]) -> BlockFiles {
    let folders: Vec<PathBuf> = folders.iter().map(|folder| (*folder).clone()).collect();
    blkdat::open(&folders, None).expect("block files")
}

pub fn import(data: &Path, until: u64) -> Command {
    let words = format!("import --threads 1 --cache 16 --until {until} --data");
    Command::new(&words).path(data)
}

/// The last block of a store, and its coins; none before the first commit.
pub fn coins_of(data: &Path) -> Option<(Tip, Statistics)> {
    let stored = inspect::stored(data).expect("a store");
    stored.map(|stored| (stored.tip, stored.statistics))
}
