//! Datadirs that Bitcoin Core wrote are read, and what we write is what Core wrote.

use crate::naive_connect::{Chain, Owned, Spent};
use blockmill_bitcoin::datadir::{BlocksWriter, Datadir, Error, Options, Written, XorKey};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::{Amount, BlockHash, Coin, OutPoint, Txid};
use blockmill_leveldb as leveldb;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The datadir that Core wrote of the main network's blocks 0 to 4,521.
fn cores_datadir() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", folder.path());
    folder
}

/// The blocks of the main network's file, in order.
fn mainnet_blocks() -> Vec<Vec<u8>> {
    let bytes = blockmill_testkit::read("bitcoin/mainnet-0-4521.dat");
    let (mut rest, mut blocks) = (&bytes[..], Vec::new());
    while let Some((&[0xf9, 0xbe, 0xb4, 0xd9, a, b, c, d], after)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(block) = after.get(..length) else { break };
        blocks.push(block.to_vec());
        rest = &after[length..];
    }
    assert_eq!(blocks.len(), 4_522);
    blocks
}

/// The blocks of regtest.
fn regtest_blocks() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(blockmill_testkit::fixture("bitcoin/regtest-1-206.hex.txt"))
        .unwrap();
    let blocks: Vec<_> =
        text.lines().map(|line| blockmill_testkit::hex::decode(line.trim())).collect();
    assert_eq!(blocks.len(), 206);
    [vec![Params::regtest().genesis], blocks].concat()
}

const KEYS: Options =
    Options { blocks_key: XorKey(*b"blockmil"), coins_key: XorKey(*b"\x01ldatadi") };

/// Writes blocks and their coins.
fn write(datadir: &Path, network: &Params, keys: Options, blocks: &[Vec<u8>]) -> (Chain, Written) {
    let mut chain = Chain::default();
    let mut writer = BlocksWriter::create(datadir, network, keys).unwrap();
    for (height, block) in (0..).zip(blocks) {
        let undo = chain.connect(block);
        writer.block(height, block, undo.as_deref()).unwrap();
    }
    let mut writer = writer.coins().unwrap();
    for (outpoint, coin) in chain.sorted() {
        writer.coin(outpoint, &coin.coin()).unwrap();
    }
    let written = writer.finish().unwrap();
    (chain, written)
}

/// All coins of a datadir.
fn coins(datadir: &Datadir) -> HashMap<OutPoint, Owned> {
    let (mut reader, mut coins) = (datadir.coins().unwrap(), HashMap::new());
    while let Some((outpoint, coin)) = reader.next_coin().unwrap() {
        let (height, coinbase, value) = (coin.height, coin.coinbase, coin.value);
        let script = coin.script.to_vec();
        coins.insert(outpoint, Owned { height, coinbase, value: value.to_sat(), script });
    }
    coins
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_datadir_of_core_is_read_and_its_undo_data_encoded_again() {
    let folder = cores_datadir();
    let datadir = Datadir::open(folder.path()).unwrap();
    let best = datadir.coins().unwrap().best_block();
    let entries = datadir.chain(&best).unwrap();
    println!("{} blocks, best {best}", entries.len());
    let mut chain = Chain::default();
    for entry in entries {
        let block = datadir.read_block(entry).unwrap().unwrap();
        assert_eq!(block.magic, Params::mainnet().magic);
        let undo = datadir.read_undo(entry).unwrap();
        assert_eq!(chain.connect(&block.data), undo.map(|undo| undo.data), "{}", entry.height);
    }
    assert_eq!(coins(&datadir), chain.coins);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_is_written_is_what_core_wrote() {
    let guard = cores_datadir();
    let folder = guard.path();
    let theirs = Datadir::open(folder).unwrap();
    let best = theirs.coins().unwrap().best_block();
    let blocks = theirs.chain(&best).unwrap().into_iter();
    let blocks: Vec<_> =
        blocks.map(|entry| theirs.read_block(entry).unwrap().unwrap().data).collect();
    let key = std::fs::read(folder.join("blocks/xor.dat")).unwrap();
    let blocks_key = XorKey(key.try_into().unwrap());
    let target = guard.path().join("ours");
    let (chain, written) =
        write(&target, &Params::mainnet(), Options { blocks_key, ..KEYS }, &blocks);
    assert_eq!((written.tip, written.coins), (best, chain.coins.len() as u64));
    let ours = Datadir::open(&target).unwrap();
    assert_eq!(ours.files(), theirs.files());
    for (hash, entry) in theirs.blocks() {
        assert_eq!(ours.block(hash), Some(entry));
    }
    assert_eq!(ours.blocks().count(), theirs.blocks().count());
    assert_eq!(coins(&ours), coins(&theirs));
    for (name, bytes) in
        [("blk00000.dat", written.block_bytes), ("rev00000.dat", written.undo_bytes)]
    {
        let ours = std::fs::read(target.join("blocks").join(name)).unwrap();
        let theirs = std::fs::read(folder.join("blocks").join(name)).unwrap();
        assert_eq!(ours.len() as u64, bytes);
        // Core reserves space after it
        assert!(ours == theirs[..ours.len()], "{name}");
    }
}

/// Runs the peer with Core's own code, `benchmarks/peers/bitcoin-core`; its line of JSON.
fn core(datadir: &Path, chain: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(blockmill_testkit::path_of("core_peer"));
    command.args(["open", "--chain", chain, "--dir"]).arg(datadir).args(arguments);
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let line = String::from_utf8(output.stdout).unwrap();
    println!("{line}");
    line
}

/// How the peer shows a block of the best chain.
fn shown(name: &str, height: usize, block: &[u8]) -> String {
    let hash = BlockHash(blockmill_hashes::sha256d(&block[..80]));
    format!("\"{name}\":{{\"height\":{height},\"hash\":\"{hash}\"}}")
}

/// How the peer shows what was spent.
fn shown_spent(spent: &Spent) -> String {
    let Spent { coins, value, digest } = spent;
    format!("\"spent\":{{\"coins\":{coins},\"value\":{value},\"digest\":\"{digest:016x}\"}}")
}

#[blockmill_testkit::needs(fixtures, core_peer)]
#[test]
fn core_opens_a_datadir_of_the_main_network_and_takes_the_next_block() {
    let blocks = mainnet_blocks();
    let (last, before) = blocks.split_last().unwrap();
    for keys in [KEYS, Options { blocks_key: XorKey([0; 8]), coins_key: XorKey([0; 8]) }] {
        let folder = tempfile::tempdir().unwrap();
        let (chain, _) = write(folder.path(), &Params::mainnet(), keys, before);
        let next = folder.path().join("next");
        std::fs::write(&next, last).unwrap();
        let arguments = ["--spent", "--next", next.to_str().unwrap()];
        let line = core(folder.path(), "main", &arguments);
        let height = before.len() - 1;
        assert!(line.contains(&shown("tip", height, &before[height])), "{line}");
        assert!(line.contains(&shown_spent(&chain.spent)), "{line}");
        assert!(line.contains(&shown("next", height + 1, last)), "{line}");
        the_coins_are_good(folder.path(), &blocks);
    }
}

/// After Core went on from our datadir, it has the coins of a chain of these blocks.
fn the_coins_are_good(folder: &Path, blocks: &[Vec<u8>]) {
    let mut chain = Chain::default();
    blocks.iter().for_each(|block| drop(chain.connect(block)));
    let datadir = Datadir::open(folder).unwrap();
    assert_eq!(coins(&datadir), chain.coins);
}

#[blockmill_testkit::needs(fixtures, core_peer)]
#[test]
fn core_disconnects_blocks_with_our_undo_data_and_connects_them_again() {
    let blocks = regtest_blocks();
    let folder = tempfile::tempdir().unwrap();
    let (chain, _) = write(folder.path(), &Params::regtest(), KEYS, &blocks);
    let datadir = folder.path().join("regtest");
    let height = blocks.len() - 1;
    let depth = (height - 1).to_string();
    let line = core(&datadir, "regtest", &["--spent", "--reorganise", &depth]);
    assert!(line.contains(&shown("tip", height, &blocks[height])), "{line}");
    assert!(line.contains(&shown_spent(&chain.spent)), "{line}");
    assert!(line.contains(&format!("\"disconnected\":{depth}")), "{line}");
    // two blocks more, each with a coin of nothing
    let found = coins(&Datadir::open(&datadir).unwrap());
    assert_eq!(found.len(), chain.coins.len() + 2);
    for (outpoint, coin) in &chain.coins {
        assert_eq!(found.get(outpoint), Some(coin));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_unfinished_datadir_has_another_name_and_is_begun_again() {
    let blocks = regtest_blocks();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("datadir");
    for cut in [1, 5, 200] {
        let mut chain = Chain::default();
        let mut writer = BlocksWriter::create(&target, &Params::regtest(), KEYS).unwrap();
        for (height, block) in (0..).zip(&blocks[..cut]) {
            writer.block(height, block, chain.connect(block).as_deref()).unwrap();
        }
        assert!(!target.join("regtest").exists());
        assert!(target.join("regtest.blockmill.part/blocks/blk00000.dat").exists());
        // given up among the blocks, or among the coins
        if cut > 100 {
            drop(writer.coins().unwrap());
        } else {
            drop(writer);
        }
        assert!(!target.exists(), "nothing is left of it");
    }
    // what a killed process leaves
    let half = target.join("regtest.blockmill.part/blocks");
    std::fs::create_dir_all(&half).unwrap();
    std::fs::write(half.join("blk00000.dat"), "half of a file").unwrap();
    let (chain, _) = write(&target, &Params::regtest(), KEYS, &blocks);
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
    assert_eq!(coins(&Datadir::open(&target.join("regtest")).unwrap()), chain.coins);
    // a datadir is never replaced
    let again = BlocksWriter::create(&target, &Params::regtest(), KEYS);
    assert!(matches!(again, Err(Error::Output(blockmill_archive::Error::Unwritable { .. }))));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_that_do_not_fit_are_refused_and_change_nothing() {
    let blocks = regtest_blocks();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BlocksWriter::create(folder.path(), &Params::regtest(), KEYS).unwrap();
    assert!(matches!(writer.block(0, &blocks[0], Some(&[0])), Err(Error::Given { .. })));
    writer.block(0, &blocks[0], None).unwrap();
    let (first, second) = (&blocks[1], &blocks[2]);
    assert!(matches!(writer.block(1, second, Some(&[0])), Err(Error::NotConnected { .. })));
    assert!(matches!(writer.block(1, first, None), Err(Error::Given { .. })));
    assert!(matches!(writer.block(1, first, Some(&[1, 0])), Err(Error::Given { .. })));
    assert!(matches!(writer.block(1, &first[..80], Some(&[0])), Err(Error::Given { .. })));
    writer.block(1, first, Some(&[0])).unwrap();
    let written = writer.coins().unwrap().finish().unwrap();
    assert_eq!((written.blocks, written.coins), (2, 0));
    assert_eq!(written.block_bytes, 16 + (blocks[0].len() + first.len()) as u64);
    assert_eq!(written.undo_bytes, 8 + 1 + 32);
}

#[test]
fn outputs_of_a_transaction_sort_by_their_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BlocksWriter::create(folder.path(), &Params::regtest(), KEYS).unwrap();
    writer.block(0, &Params::regtest().genesis, None).unwrap();
    let mut writer = writer.coins().unwrap();
    // around each number where the encoding gets longer, in the order of their bytes
    let mut outputs = vec![0, 1, 2, 127, 128, 129, 255, 256, 16_511, 16_512, 2_113_663, 2_113_664];
    outputs.extend([270_549_119, 270_549_120, u32::MAX]);
    outputs.sort_by_key(|vout: &u32| vout.to_le_bytes());
    for txid in [[3; 32], [4; 32]] {
        for vout in &outputs {
            let coin = Coin {
                height: *vout >> 1,
                coinbase: false,
                value: Amount::from_sat(5),
                script: &[*vout as u8],
            };
            writer.coin(&OutPoint { txid: Txid(txid), vout: *vout }, &coin).unwrap();
        }
    }
    let earlier = OutPoint { txid: Txid([2; 32]), vout: 0 };
    let coin = Coin { height: 1, coinbase: false, value: Amount::from_sat(5), script: &[] };
    writer.coin(&earlier, &coin).unwrap();
    assert!(matches!(writer.finish(), Err(Error::Database(leveldb::Error::Unsorted { .. }))));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_corrupt_datadir_is_noticed_or_read_as_it_is() {
    let blocks = regtest_blocks();
    let folder = tempfile::tempdir().unwrap();
    let (chain, written) = write(folder.path(), &Params::regtest(), KEYS, &blocks);
    let folder = folder.path().join("regtest");
    let check = |datadir: Datadir| -> Result<(), Error> {
        for entry in datadir.chain(&written.tip)? {
            datadir.read_block(entry)?;
            datadir.read_undo(entry)?;
        }
        let mut coins = datadir.coins()?;
        while let Some((outpoint, coin)) = coins.next_coin()? {
            assert_eq!(chain.coins[&outpoint].coin(), coin);
        }
        Ok(())
    };
    check(Datadir::open(&folder).unwrap()).unwrap();
    let names = ["blocks/rev00000.dat", "blocks/index/000001.ldb", "chainstate/000001.ldb"];
    for name in names {
        let path = folder.join(name);
        let good = std::fs::read(&path).unwrap();
        let mut noticed = 0;
        for at in (0..good.len()).step_by(good.len() / 60) {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            noticed += u32::from(Datadir::open(&folder).and_then(check).is_err());
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(Datadir::open(&folder).and_then(check).is_err(), "{name} cut at {at}");
        }
        std::fs::write(&path, &good).unwrap();
        assert!(noticed > 30, "{name}: {noticed} of 60 changes");
    }
}

/// Blocks of regtest with a chainstate of many tables, written to `folder`.
fn with_many_tables(folder: &Path, blocks: &[Vec<u8>]) -> (PathBuf, Chain) {
    let mut chain = Chain::default();
    let mut writer = BlocksWriter::create(folder, &Params::regtest(), KEYS).unwrap();
    for (height, block) in (0..).zip(blocks) {
        writer.block(height, block, chain.connect(block).as_deref()).unwrap();
    }
    // coins of no block: Core does not ask where a coin comes from until it is spent
    for i in 0..600_000u32 {
        let hash = blockmill_hashes::sha256(&i.to_le_bytes());
        let script = [&[0, 20], &hash[..20]].concat();
        let coin = Owned { height: i % 200, coinbase: false, value: i.into(), script };
        chain.coins.insert(OutPoint { txid: Txid(hash), vout: i % 300 }, coin);
    }
    let mut writer = writer.coins().unwrap();
    for (outpoint, coin) in chain.sorted() {
        writer.coin(outpoint, &coin.coin()).unwrap();
    }
    writer.finish().unwrap();
    let datadir = folder.join("regtest");
    let tables = || std::fs::read_dir(datadir.join("chainstate")).unwrap().count();
    assert!(tables() > 3, "{} files", tables());
    assert!(coins(&Datadir::open(&datadir).unwrap()) == chain.coins);
    (datadir, chain)
}

#[test]
fn a_chainstate_of_many_tables_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (_, chain) = with_many_tables(folder.path(), &[Params::regtest().genesis]);
    assert_eq!(chain.coins.len(), 600_000);
}

#[blockmill_testkit::needs(fixtures, core_peer)]
#[test]
fn core_goes_on_with_a_chainstate_of_many_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (datadir, chain) = with_many_tables(folder.path(), &regtest_blocks());
    core(&datadir, "regtest", &["--reorganise", "100"]);
    let found = coins(&Datadir::open(&datadir).unwrap());
    assert_eq!(found.len(), chain.coins.len() + 2);
    assert!(chain.coins.iter().all(|(outpoint, coin)| found.get(outpoint) == Some(coin)));
}

#[test]
fn blocks_go_on_in_the_next_file_before_one_is_full() {
    const LIMIT: u32 = 128 << 20;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("datadir");
    let mut writer = BlocksWriter::create(&folder, &Params::mainnet(), KEYS).unwrap();
    // with its frame a quarter of a file: the fourth would fill it, and goes to the next
    let mut block = vec![0; (LIMIT / 4 - 8) as usize];
    block[80] = 1;
    let mut parent = [0; 32];
    for height in 0..8u32 {
        block[4..36].copy_from_slice(&parent);
        block[68..72].copy_from_slice(&(1000 - height).to_le_bytes());
        parent = blockmill_hashes::sha256d(&block[..80]);
        writer.block(height, &block, (height > 0).then_some(&[0])).unwrap();
    }
    let written = writer.coins().unwrap().finish().unwrap();
    let datadir = Datadir::open(&folder).unwrap();
    let found: Vec<_> = datadir.files().iter().map(|file| (file.blocks, file.heights)).collect();
    assert_eq!(found, [(3, (0, 2)), (3, (3, 5)), (2, (6, 7))]);
    assert_eq!(datadir.files()[1].times, (995, 997));
    for entry in datadir.chain(&written.tip).unwrap() {
        let found = datadir.read_block(entry).unwrap().unwrap().data;
        assert!(found[..80] == entry.header && found[80..] == block[80..]);
        let undo = datadir.read_undo(entry).unwrap().map(|undo| undo.data);
        assert_eq!(undo, (entry.height > 0).then(|| vec![0]));
        assert_eq!(entry.file, entry.height / 3);
    }
}
