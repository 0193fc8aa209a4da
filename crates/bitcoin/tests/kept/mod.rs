//! The content of a datadir, to be written as it is or forged, and verified by the coin multiset
//! hash in one run and in shards.

#![allow(dead_code)] // each test program uses its own part of this module

use crate::generated_chain::Maker;
use crate::imports::{self, options, with};
use crate::naive_connect::{Chain, Owned};
use blockmill_archive::blkdat::{BlockFiles, Network, open};
use blockmill_bitcoin::datadir::{BlockPosition, BlocksWriter, Options as Keys, XorKey};
use blockmill_bitcoin::import::{Options, Run, import};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::shard::documents::{Bodies, Coins, Execution, Headers, Salt, Table};
use blockmill_bitcoin::shard::{self, Merger};
use blockmill_bitcoin::types::OutPoint;
use blockmill_bitcoin::undo::{self, Reader};
use blockmill_bitcoin::{Error, Level};
use blockmill_testkit::Random;
use blockmill_verdict::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

pub const KEYS: Keys =
    Keys { blocks_key: XorKey(*b"blockmil"), coins_key: XorKey(*b"\x01ldatadi") };

/// What each transaction of a block spends, but for the coinbase.
pub type Spent = Vec<Vec<Owned>>;

/// The content of a datadir.
#[derive(Clone)]
pub struct Kept {
    pub params: Params,
    pub blocks: Vec<Vec<u8>>,
    /// Of each block from height 1 on.
    pub spent: Vec<Spent>,
    pub unspent: Vec<(OutPoint, Owned)>,
}

fn decode(undo: &[u8]) -> Spent {
    let (mut reader, mut spent) = (Reader::new(undo).unwrap(), vec![]);
    while let Some(count) = reader.transaction().unwrap() {
        let coin = |_| {
            let coin = reader.coin().unwrap();
            let (height, coinbase, value) = (coin.height, coin.coinbase, coin.value.to_sat());
            Owned { height, coinbase, value, script: coin.script.to_vec() }
        };
        spent.push((0..count).map(coin).collect());
    }
    spent
}

impl Kept {
    /// The truth.
    pub fn of(params: &Params, blocks: &[Vec<u8>]) -> Self {
        let mut chain = Chain::default();
        let undo: Vec<_> = blocks.iter().filter_map(|block| chain.connect(block)).collect();
        let owned = |(outpoint, coin): (&OutPoint, &Owned)| (*outpoint, coin.clone());
        Self {
            params: params.clone(),
            blocks: blocks.to_vec(),
            spent: undo.iter().map(|undo| decode(undo)).collect(),
            unspent: chain.sorted().into_iter().map(owned).collect(),
        }
    }

    /// Writes a datadir with one block file.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let mut writer = BlocksWriter::create(folder, &self.params, KEYS).unwrap();
        writer.block(0, &self.blocks[0], None).unwrap();
        for (height, block) in (1..).zip(&self.blocks[1..]) {
            writer.block(height, block, Some(&self.undo(height))).unwrap();
        }
        self.finish(writer, folder)
    }

    /// Writes a datadir with block files of at most so many bytes, in which neighbours stand in
    /// any order.
    pub fn write_in_files(&self, folder: &Path, max_file: u64) -> PathBuf {
        let source = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
        let mut order: Vec<u32> = (0..self.blocks.len() as u32).collect();
        order[1..].chunks_mut(20).for_each(|some| some.reverse());
        let blocks: Vec<_> = order.iter().map(|at| self.blocks[*at as usize].clone()).collect();
        let at = imports::write(source.path(), &self.params, &blocks, max_file, true);
        let key = XorKey::of_folder(source.path()).unwrap();
        let keys = Keys { blocks_key: key, ..KEYS };
        let mut writer = BlocksWriter::create(folder, &self.params, keys).unwrap();
        let all: Vec<_> = order.into_iter().zip(&at).collect();
        let files: Vec<_> = all.chunk_by(|(_, (a, _)), (_, (b, _))| a == b).collect();
        let share = |blocks: &&[(u32, &(String, u64))]| {
            let (_, (name, _)) = blocks[0];
            writer.share(&source.path().join(name), key).unwrap().expect("a link")
        };
        let shared: Vec<_> = files.iter().map(share).collect();
        for (file, blocks) in shared.iter().zip(files) {
            writer.begin_shared(file).unwrap();
            for (height, (_, offset)) in blocks {
                let undo = (*height > 0).then(|| self.undo(*height));
                let size = self.blocks[*height as usize].len() as u32;
                let block = BlockPosition { height: *height, offset: *offset as u32, size };
                assert!(writer.shared_block(file, block, undo.as_deref()).unwrap());
            }
        }
        self.finish(writer, folder)
    }

    fn undo(&self, height: u32) -> Vec<u8> {
        let (spent, mut data) = (&self.spent[height as usize - 1], vec![]);
        let counts = spent.iter().map(Vec::len);
        undo::encode(counts, spent.iter().flatten().map(Owned::coin), &mut data).unwrap();
        data
    }

    fn finish(&self, writer: BlocksWriter, folder: &Path) -> PathBuf {
        let mut writer = writer.coins().unwrap();
        for (outpoint, coin) in &self.unspent {
            writer.coin(outpoint, &coin.coin()).unwrap();
        }
        writer.finish().unwrap();
        folder.join(self.params.name)
    }

    /// Writes it and verifies it by the multiset hash, and in shards.
    pub fn verify(&self) -> (Run, Result<(), Error>) {
        let folder = tempfile::tempdir().unwrap();
        let datadir = self.write(folder.path());
        by_multiset(&datadir, &datadir, &options(self.params.clone()))
    }

    /// A block in the middle that spends something: its index in `spent`, a transaction of it.
    pub fn some_spend(&self, random: &mut Random) -> (usize, usize) {
        loop {
            let block = random.below(self.spent.len());
            if !self.spent[block].is_empty() {
                return (block, random.below(self.spent[block].len()));
            }
        }
    }

    /// A coin that undo data tells, to be forged; the height of its block.
    pub fn some_coin(&mut self, random: &mut Random) -> (u32, &mut Owned) {
        let (block, transaction) = self.some_spend(random);
        let coins = &mut self.spent[block][transaction];
        let at = random.below(coins.len());
        (block as u32 + 1, &mut coins[at])
    }
}

/// Verifies blocks by the multiset hash with the coins of `unspent`. Also verifies them in shards:
/// the verdict must be that of the run, or *unrecognised* if the hash proves nothing.
pub fn by_multiset(blocks: &Path, unspent: &Path, options: &Options) -> (Run, Result<(), Error>) {
    let options = Options {
        unspent: Some(unspent.to_path_buf()),
        level: Level::Execution,
        ..with(options, &["coins=multiset"])
    };
    let files = open(&[blocks.to_path_buf()], Network::from_magic(options.params.magic)).unwrap();
    let data = tempfile::tempdir().unwrap();
    let (run, outcome) = import(&files, &options, data.path(), |_| {});
    let (own, verdict) = Shards::of(&files, unspent, &options).verify(&options);
    match (&run.unproven, verdict) {
        (None, verdict) => {
            assert_eq!(verdict.is_ok(), outcome.is_ok());
            assert_eq!((own.proof, own.coins, own.tip), (run.proof, run.coins, run.tip));
            assert_eq!((own.transactions, own.inputs), (run.transactions, run.inputs));
            assert_eq!((own.blocks, own.range, own.stale), (run.blocks, run.range, run.stale));
            assert_eq!(own.shortfalls, run.shortfalls);
        }
        (Some(unproven), Err(error)) if error.status() == Status::Unrecognised => {
            let text = error.to_string();
            let start = "the coin multiset hash proves nothing: ";
            assert!(text.starts_with(start), "{text}");
            // the same reason, unless the single run stops at a lower block
            assert!(
                text.ends_with(unproven.as_str()) || text.contains("block"),
                "{text} {unproven}"
            );
            assert!(own.proof.is_none());
        }
        (Some(unproven), Err(error)) => {
            // a block breaks a rule, with coins that the multiset hash proves
            let single = outcome.as_ref().expect_err(unproven);
            assert_eq!((error.status(), error.report()), (single.status(), single.report()));
        }
        (Some(unproven), Ok(())) => panic!("{unproven}, and shards verify it"),
    }
    (run, outcome)
}

/// A document after serialisation and back.
pub fn sent<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(document: &T) -> T {
    let text = serde_json::to_string(document).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, document);
    back
}

/// A datadir in shards, after their first step.
pub struct Shards {
    pub all: BlockFiles,
    pub files: Vec<BlockFiles>,
    pub folder: PathBuf,
    pub headers: Vec<Headers>,
    pub coins: Coins,
}

impl Shards {
    /// A shard for each block file, and one for the coins of a datadir or a store.
    pub fn of(all: &BlockFiles, unspent: &Path, options: &Options) -> Self {
        Self::in_groups(all, 1, unspent, options)
    }

    /// Shards of `size` block files each.
    pub fn in_groups(all: &BlockFiles, size: usize, unspent: &Path, options: &Options) -> Self {
        let numbers: Vec<_> = (0..all.files().len() as u32).collect();
        let files: Vec<_> = numbers.chunks(size).map(|some| all.only(some)).collect();
        let of = |files: &BlockFiles| sent(&shard::headers(files, options).unwrap());
        let folder = ["chainstate", "coins"].map(|name| unspent.join(name));
        let folder = folder.into_iter().find(|folder| folder.is_dir()).unwrap();
        let coins = sent(&shard::coin_files(&folder, options).unwrap());
        let all = all.only(&numbers);
        Self { headers: files.iter().map(of).collect(), all, files, folder, coins }
    }

    /// A merge of the shards, with a new salt or with the given one.
    pub fn merge<'a>(
        &'a self,
        options: &'a Options,
        drawn: Option<Salt>,
    ) -> Result<Merger<'a>, Error> {
        Merger::with_multiset(&self.all, options, &self.headers, &self.coins, drawn)
    }

    /// The second step of a shard of blocks.
    pub fn bodies(
        &self,
        shard: usize,
        table: &Table,
        execution: &Execution,
        options: &Options,
    ) -> Result<Bodies, Error> {
        let sources = &self.headers[shard].sources;
        let table = sent(table);
        let bodies = shard::execute(&self.files[shard], sources, &table, execution, options)?;
        Ok(sent(&bodies))
    }

    /// The second step of the coins.
    pub fn coins(&self, execution: &Execution, options: &Options) -> Result<Coins, Error> {
        shard::hash_coins(self.coins.clone(), &self.folder, execution, options)
    }

    /// All steps.
    pub fn verify(&self, options: &Options) -> (Run, Result<(), Error>) {
        let mut merger = match self.merge(options, None) {
            Ok(merger) => merger,
            Err(error) => return (Run::default(), Err(error)),
        };
        loop {
            let tables = merger.tables().unwrap();
            let rows: usize = tables.iter().map(|table| table.rows.len()).sum();
            if rows == 0 && !merger.lacks_coins() {
                return merger.finish();
            }
            let execution = sent(&merger.execution().unwrap().unwrap());
            for (shard, table) in tables.iter().enumerate().filter(|(_, it)| !it.rows.is_empty()) {
                merger
                    .add_bodies(shard, self.bodies(shard, table, &execution, options).unwrap())
                    .unwrap();
            }
            if merger.lacks_coins() {
                merger.add_coins(&sent(&self.coins(&execution, options).unwrap())).unwrap();
            }
        }
    }
}

/// A chain that spends.
pub fn chain(seed: u64) -> Kept {
    let params = Params::regtest();
    Kept::of(&params, &Maker::of(&params, seed, 140).blocks)
}
