//! One bit of a datadir is flipped: whatever is in use of chainstate, undo files and block index,
//! the check finds it.

use crate::naive_connect::Chain;
use blockmill_bitcoin::datadir::{BlocksWriter, Datadir, DatadirPart, Options, XorKey, check};
use blockmill_bitcoin::params::Params;
use blockmill_testkit::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Bytes of a block of a log of LevelDB; what does not hold a record's head at its end is padding.
const LOG_BLOCK: usize = 32 << 10;
const LOG_HEAD: usize = 7;
/// Bytes of the footer of a table.
const FOOTER: usize = 48;

/// Flips a bit in `flips` places of the first `used` bytes of `file`, each by itself; how many of
/// them are found in another part than `part`, or not at all, by their offsets.
fn missed(
    datadir: &Path,
    (file, used): (&str, usize),
    part: DatadirPart,
    flips: usize,
    random: &mut Random,
) -> Vec<usize> {
    let path = datadir.join(file);
    let whole = fs::read(&path).unwrap();
    let mut missed = vec![];
    for _ in 0..flips {
        let (mut bytes, at) = (whole.clone(), random.below(used));
        bytes[at] ^= 1 << random.below(8);
        fs::write(&path, &bytes).unwrap();
        let found = check(datadir, 1).unwrap();
        if found.corruption.first().is_none_or(|(found, _)| *found != part) {
            missed.push(at);
        }
    }
    fs::write(&path, whole).unwrap();
    missed
}

/// The files of a folder and their lengths.
fn files(datadir: &Path, folder: &str) -> BTreeMap<String, usize> {
    let entries = fs::read_dir(datadir.join(folder)).unwrap().map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (format!("{folder}/{name}"), entry.metadata().unwrap().len() as usize)
    };
    entries.map(file).filter(|(_, length)| *length > 0).collect()
}

/// Flips bits in all files of a datadir.
fn flip_everywhere(datadir: &Path, flips: usize, seed: u64) {
    let mut random = Random::new(seed);
    let clean = check(datadir, 2).unwrap();
    assert!(clean.corruption.is_empty(), "{:?}", clean.corruption);
    assert!(clean.indexed > 200 && clean.undo_blocks > 200 && clean.coins > 100, "{clean:?}");
    for (folder, part) in
        [("blocks/index", DatadirPart::Index), ("chainstate", DatadirPart::Chainstate)]
    {
        for (file, length) in files(datadir, folder) {
            for at in missed(datadir, (&file, length), part, flips, &mut random) {
                // padding, in which nothing is
                let in_log = LOG_BLOCK - at % LOG_BLOCK < LOG_HEAD;
                let in_footer = file.ends_with(".ldb") && length - at <= FOOTER;
                assert!(in_log || in_footer, "{file} at {at} of {length}");
            }
        }
    }
    let entry = Datadir::open(datadir).unwrap().files()[0];
    let used = entry.undo_bytes as usize;
    let undo = ("blocks/rev00000.dat", used);
    assert_eq!(missed(datadir, undo, DatadirPart::Undo, flips, &mut random), [0; 0]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn flips_in_a_datadir_of_core_are_found_wherever_bytes_are_in_use() {
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", folder.path());
    flip_everywhere(folder.path(), blockmill_testkit::rounds(15), 36);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn flips_in_tables_are_found_wherever_bytes_are_in_use() {
    let text =
        fs::read_to_string(blockmill_testkit::fixture("bitcoin/regtest-1-206.hex.txt")).unwrap();
    let blocks = text.lines().map(|line| blockmill_testkit::hex::decode(line.trim()));
    let blocks: Vec<_> = [Params::regtest().genesis].into_iter().chain(blocks).collect();
    let folder = tempfile::tempdir().unwrap();
    let datadir = folder.path().join("datadir");
    let keys = Options { blocks_key: XorKey(*b"blockmil"), coins_key: XorKey(*b"\x01ldatadi") };
    let mut chain = Chain::default();
    let mut writer = BlocksWriter::create(&datadir, &Params::regtest(), keys).unwrap();
    for (height, block) in (0..).zip(&blocks) {
        let undo = chain.connect(block);
        writer.block(height, block, undo.as_deref()).unwrap();
    }
    let mut writer = writer.coins().unwrap();
    for (outpoint, coin) in chain.sorted() {
        writer.coin(outpoint, &coin.coin()).unwrap();
    }
    writer.finish().unwrap();
    flip_everywhere(&datadir.join("regtest"), blockmill_testkit::rounds(60), 37);
}
