//! Imports for tests: block files to write, options, and what a store holds in the end.

#![allow(dead_code)] // each test program uses its own part of this module

use crate::naive_connect::{Chain, Owned};
use blockmill_archive::blkdat::{BlockFiles, BlockWriter, Network, WriterOptions, XorKey, open};
use blockmill_bitcoin::Error;
use blockmill_bitcoin::chainstate::Chainstate;
use blockmill_bitcoin::coins::{PackedCoin, Statistics, statistics as statistics_of};
use blockmill_bitcoin::import::{Options, Run, Tip, import};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::{BlockHash, OutPoint, Txid};
use blockmill_pipeline::options::OptionSet;
use blockmill_store::Table;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// An import of everything, with all that is fast.
pub fn options(params: Params) -> Options {
    Options { threads: 2, memory: 16 << 20, now: Some(1_800_000_000), ..Options::new(params) }
}

/// The same with these `--with`.
pub fn with(options: &Options, settings: &[&str]) -> Options {
    let mut options = options.clone();
    settings.iter().for_each(|setting| options.settings.set(setting).unwrap());
    options
}

/// Imports files; each call opens them anew.
pub fn run(path: &Path, options: &Options, data: &Path) -> (Run, Result<(), Error>) {
    let network = Network::from_magic(options.params.magic);
    let files = open(&[path.to_path_buf()], network).unwrap();
    import(&files, options, data, |_| {})
}

/// Imports files without a fault.
pub fn run_well(path: &Path, options: &Options, data: &Path) -> Run {
    let (run, outcome) = run(path, options, data);
    if let Err(error) = outcome {
        panic!("{error}");
    }
    run
}

/// What a store holds.
#[derive(Debug, PartialEq)]
pub struct End {
    pub tip: (u32, String),
    pub statistics: Statistics,
    pub coins: HashMap<OutPoint, Owned>,
    /// Undo data of the blocks from height 1 on.
    pub undo: Vec<Vec<u8>>,
}

impl End {
    /// Reads a store.
    pub fn of(data: &Path, options: &Options) -> Self {
        let (mut undo, tip) = (vec![], {
            let chainstate = Chainstate::open(data, options).unwrap();
            chainstate.tip()
        });
        {
            let chainstate = Chainstate::open(data, options).unwrap();
            for end in &chainstate.undo_ends().unwrap()[1..] {
                let mut record = vec![];
                chainstate.read_undo(*end, &mut record).unwrap();
                undo.push(record);
            }
        }
        let chainstate = Chainstate::open(data, options).unwrap();
        let statistics = statistics_of(&chainstate.coins()).unwrap();
        let coins = coins_of(&chainstate.coins());
        let Tip { height, hash } = tip;
        Self { tip: (height, hash.to_string()), statistics, coins, undo }
    }

    /// What connecting blocks one after the other without any rule comes to. The first is the
    /// genesis block.
    pub fn naive(blocks: &[Vec<u8>]) -> Self {
        let mut chain = Chain::default();
        let undo: Vec<_> = blocks.iter().filter_map(|block| chain.connect(block)).collect();
        let hash = BlockHash(blockmill_hashes::sha256d(&blocks.last().unwrap()[..80]));
        let tip = (blocks.len() as u32 - 1, hash.to_string());
        Self { tip, statistics: statistics(&chain.coins), coins: chain.coins, undo }
    }

    /// Compares without printing all coins.
    pub fn assert_same(&self, expected: &Self, what: &str) {
        assert_eq!(self.tip, expected.tip, "{what}");
        assert_eq!(self.statistics, expected.statistics, "{what}");
        assert!(self.coins == expected.coins, "{what}: coins differ");
        let mut pairs = self.undo.iter().zip(&expected.undo);
        assert_eq!(pairs.position(|(a, b)| a != b), None, "{what}: undo data differs");
        assert_eq!(self.undo.len(), expected.undo.len(), "{what}");
    }
}

fn coins_of(coins: &Table) -> HashMap<OutPoint, Owned> {
    let (mut pairs, mut all) = (coins.iter().unwrap(), HashMap::new());
    while let Some((key, value)) = pairs.next().unwrap() {
        let coin = PackedCoin::unpack(value).unwrap();
        let mut script = vec![];
        coin.script.write_to(&mut script);
        let PackedCoin { height, coinbase, value, .. } = coin;
        let (txid, vout) = (*key.first_chunk().unwrap(), *key.last_chunk().unwrap());
        let outpoint = OutPoint { txid: Txid(txid), vout: u32::from_be_bytes(vout) };
        all.insert(outpoint, Owned { height, coinbase, value: value.to_sat(), script });
    }
    all
}

/// The slow way to the statistics.
pub fn statistics(coins: &HashMap<OutPoint, Owned>) -> Statistics {
    let mut sorted: Vec<_> = coins.iter().collect();
    sorted.sort_by_key(|(outpoint, _)| **outpoint);
    let mut bytes = vec![];
    let mut found = Statistics { coins: sorted.len() as u64, ..Statistics::default() };
    let mut last: Option<Txid> = None;
    for (outpoint, coin) in sorted {
        bytes.extend(outpoint.txid.0);
        bytes.extend(outpoint.vout.to_le_bytes());
        bytes.extend((coin.height * 2 + u32::from(coin.coinbase)).to_le_bytes());
        bytes.extend(coin.value.to_le_bytes());
        match coin.script.len() {
            short @ 0..0xfd => bytes.push(short as u8),
            long => bytes.extend([0xfd, long as u8, (long >> 8) as u8]),
        }
        bytes.extend(&coin.script);
        found.transactions += u64::from(last != Some(outpoint.txid));
        found.total_amount += u128::from(coin.value);
        found.script_bytes += coin.script.len() as u64;
        last = Some(outpoint.txid);
    }
    found.hash_serialized = blockmill_hashes::sha256d(&bytes);
    found
}

/// Writes blocks into files of at most `max_file` bytes. Returns where each one stands: the name of
/// its file, and the place of its first byte.
pub fn write(
    folder: &Path,
    params: &Params,
    blocks: &[Vec<u8>],
    max_file: u64,
    xor: bool,
) -> Vec<(String, u64)> {
    let key = if xor { XorKey(*b"\x91\x02\x03\x04\xf0\xe0\xd0\xc0") } else { XorKey::default() };
    let network = Network::from_magic(params.magic).unwrap();
    let options = WriterOptions {
        max_file,
        key,
        trim: false,
        allocate: 10_000,
        ..WriterOptions::core(network)
    };
    let mut writer = BlockWriter::create(folder, options).unwrap();
    let written: Vec<_> = blocks.iter().map(|block| writer.write(block).unwrap()).collect();
    writer.finish().unwrap();
    written.iter().map(|at| (format!("blk{:05}.dat", at.file), at.offset)).collect()
}

/// The paths of files.
pub fn paths(files: &BlockFiles) -> Vec<PathBuf> {
    files.files().iter().map(|file| file.path().to_path_buf()).collect()
}
