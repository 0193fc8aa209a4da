//! How fast coins get into a LevelDB database, by our bulk writer and by a general implementation,
//! and into undo data. The number of coins is the argument.

use blockmill_bitcoin::types::{Amount, BlockHash, Coin};
use blockmill_bitcoin::undo;
use blockmill_leveldb::{BulkWriter, Library, Scan};
use rusty_leveldb::{DB, Options};
use std::path::Path;
use std::time::Instant;

type Coins = Vec<([u8; 34], Vec<u8>)>;

fn main() {
    let count = std::env::args().nth(1).map_or(500_000, |count| count.parse().unwrap());
    let entry = |i: u32| {
        let hash = blockmill_hashes::sha256(&i.to_le_bytes());
        let mut key = [b'C'; 34];
        key[1..33].copy_from_slice(&hash);
        key[33] = (i % 3) as u8;
        (key, [&[0x80, 0x12, 0x34, 0x55, 0x11, 0x22, 0x00], &hash[..20]].concat())
    };
    let mut coins: Coins = (0..count).map(entry).collect();
    coins.sort_unstable();
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    timed("BulkWriter, synced", || load(&ours, &coins));
    timed("Scan", || {
        let mut scan = Scan::open(&ours).unwrap();
        while scan.advance().unwrap() {}
    });
    timed("rusty-leveldb, not synced", || load_general(&theirs, &coins));
    let mut data = Vec::new();
    let coin = |(key, _): &([u8; 34], _)| [&[0, 20], &key[1..21]].concat();
    let scripts: Vec<_> = coins.iter().map(coin).collect();
    timed("undo::encode", || {
        let coin = |script| Coin {
            height: 800_000,
            coinbase: false,
            value: Amount::from_sat(12_345_678),
            script,
        };
        let coins = scripts.iter().map(|script| coin(script));
        undo::encode([scripts.len()].into_iter(), coins, &mut data).unwrap();
    });
    timed("undo::Reader", || {
        let mut reader = undo::Reader::new(&data).unwrap();
        for _ in 0..reader.transaction().unwrap().unwrap() {
            reader.coin().unwrap();
        }
    });
    timed("undo::checksum", || assert_ne!(undo::checksum(&BlockHash([0; 32]), &data), [0; 32]));
}

fn timed(what: &str, work: impl FnOnce()) {
    let began = Instant::now();
    work();
    println!("{what:26} {:8.3} ms", began.elapsed().as_secs_f64() * 1e3);
}

fn load(folder: &Path, coins: &Coins) {
    let mut writer = BulkWriter::create(folder, Library::LevelDb).unwrap();
    coins.iter().for_each(|(key, value)| writer.put(key, value).unwrap());
    writer.finish().unwrap();
}

fn load_general(folder: &Path, coins: &Coins) {
    let options = Options {
        compressor: 0,
        write_buffer_size: 64 << 20,
        max_file_size: 32 << 20,
        ..Options::default()
    };
    let mut database = DB::open(folder, options).unwrap();
    coins.iter().for_each(|(key, value)| database.put(key, value).unwrap());
    database.close().unwrap();
}
