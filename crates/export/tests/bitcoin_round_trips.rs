//! Real Bitcoin chains into tables and back to the same bytes.

use blockmill_archive::blkdat::{self, Network};
use blockmill_bitcoin::import::{Options, import};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::{Level, types::Block};
use blockmill_export::bitcoin::read::{Files, blocks};
use blockmill_export::bitcoin::{consumer, tables};
use blockmill_export::schema::{Form, Table};
use blockmill_export::{Cells, Export, Facts, FileEntry, TableReader, Verdict};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Exports all tables of block files.
fn export(path: &Path, params: Params, level: Level, form: Form) -> (TempDir, Vec<FileEntry>) {
    let folder = tempfile::tempdir().unwrap();
    let facts = Facts { folder: folder.path().into(), form, ..Facts::default() };
    let facts = Facts { chain: params.name.into(), level: level.name(), ..facts };
    // small row groups, so that there are several
    let export = Export::with_row_groups(&tables::ALL, facts, 2, 200_000).unwrap();
    let files = blkdat::open(&[path.to_path_buf()], Network::from_magic(params.magic)).unwrap();
    let options = Options {
        level,
        threads: 2,
        by_itself: true,
        partial: true,
        consumer: Some(consumer(export.clone(), &tables::ALL)),
        ..Options::new(params)
    };
    let data = tempfile::tempdir().unwrap();
    let (run, outcome) = import(&files, &options, data.path(), |_| {});
    outcome.unwrap();
    let files = export.finish().unwrap();
    let tip = run.tip.unwrap();
    let verdict = Verdict { last: tip.height.into(), tip: tip.hash.to_string(), ..<_>::default() };
    export.manifest(verdict, files.clone()).write(folder.path(), false).unwrap();
    (folder, files)
}

/// The blocks of a file of this network, by their hashes.
fn blocks_of(bytes: &[u8], magic: [u8; 4]) -> HashMap<[u8; 32], Vec<u8>> {
    let mut blocks = HashMap::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(4).position(|window| window == magic) {
        let Some(size) = rest.get(at + 4..at + 8) else { break };
        let size = u32::from_le_bytes(size.try_into().unwrap()) as usize;
        let Some(raw) = rest.get(at + 8..at + 8 + size) else { break };
        blocks.insert(blockmill_hashes::sha256d(&raw[..80]), raw.to_vec());
        rest = &rest[at + 8 + size..];
    }
    blocks
}

fn file_of(folder: &Path, files: &[FileEntry], table: &Table) -> PathBuf {
    let entry = files.iter().find(|file| file.table == table.name).unwrap();
    folder.join(&entry.file)
}

/// Exports at both levels and in both forms, and compares what comes back; the number of blocks.
fn assert_comes_back(path: &Path, params: &Params) -> u64 {
    let expected = blocks_of(&fs::read(path).unwrap(), params.magic);
    let mut seen = 0;
    for (level, hex) in [(Level::Bodies, false), (Level::Execution, true)] {
        let form = Form { hex, ..Form::default() };
        let (folder, files) = export(path, params.clone(), level, form);
        let file = |table| file_of(folder.path(), &files, table);
        let [all, transactions, inputs, outputs] = tables::ALL.map(file);
        let partition =
            Files { blocks: &all, transactions: &transactions, inputs: &inputs, outputs: &outputs };
        seen = 0;
        blocks(partition, |height, hash, bytes| {
            assert_eq!(height, seen);
            seen += 1;
            assert!(expected[&hash] == bytes, "block {height}");
            let mut block = Block { raw: bytes, ..Block::default() };
            block.decode().unwrap();
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, files[0].rows);
        check_values(&transactions, level);
        check_spent_outputs(&inputs, &outputs, level);
    }
    seen
}

/// Fees are known where coins are, and what goes in comes out.
fn check_values(transactions: &Path, level: Level) {
    for cells in TableReader::open(transactions, &tables::TRANSACTIONS).unwrap() {
        let cells = cells.unwrap();
        for row in 0..cells.rows() {
            let int = |name| cells.maybe_int(name, row).unwrap();
            let known = level == Level::Execution && !cells.is("is_coinbase", row).unwrap();
            assert_eq!((int("fee").is_some(), int("input_value").is_some()), (known, known));
            if known {
                let out = int("output_value").unwrap() + int("fee").unwrap();
                assert_eq!(int("input_value"), Some(out));
            }
        }
    }
}

/// Inputs have what the outputs say that they spend, where coins are known.
fn check_spent_outputs(inputs: &Path, outputs: &Path, level: Level) {
    let mut coins = HashMap::new();
    let value = |cells: &Cells, row| cells.maybe_int("value", row).unwrap();
    for cells in TableReader::open(outputs, &tables::OUTPUTS).unwrap() {
        let cells = cells.unwrap();
        for row in 0..cells.rows() {
            let id: [u8; 32] = cells.fixed("transaction_hash", row).unwrap();
            let kind = cells.text("script_type", row).unwrap().to_owned();
            let coin = (value(&cells, row), cells.bytes("script", row).unwrap().into_owned(), kind);
            coins.insert((id, cells.int("index", row).unwrap()), coin);
        }
    }
    let mut seen = 0;
    for cells in TableReader::open(inputs, &tables::INPUTS).unwrap() {
        let cells = cells.unwrap();
        for row in 0..cells.rows() {
            let id: Option<[u8; 32]> = cells.maybe_fixed("spent_transaction_hash", row).unwrap();
            let Some(id) = id.filter(|_| level == Level::Execution) else {
                assert_eq!(value(&cells, row), None);
                continue;
            };
            let (worth, script, kind) =
                &coins[&(id, cells.int("spent_output_index", row).unwrap())];
            assert_eq!(value(&cells, row), *worth);
            assert_eq!(&*cells.bytes("spent_script", row).unwrap(), script);
            assert_eq!(cells.text("script_type", row).unwrap(), kind);
            seen += 1;
        }
    }
    assert_eq!(seen > 0, level == Level::Execution);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_the_main_network_come_back() {
    let path = blockmill_testkit::fixture("bitcoin/mainnet-0-4521.dat");
    let mainnet = Params::by_name("mainnet").unwrap();
    assert!(assert_comes_back(&path, &mainnet) >= 4521);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_a_test_network_come_back() {
    let path = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    assert_eq!(assert_comes_back(&path, &Params::by_name("testnet3").unwrap()), 401);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_with_witnesses_come_back() {
    let text =
        fs::read_to_string(blockmill_testkit::fixture("bitcoin/regtest-1-206.hex.txt")).unwrap();
    let regtest = Params::by_name("regtest").unwrap();
    let mut bytes = vec![];
    let raw = text.lines().map(|line| blockmill_testkit::hex::decode(line.trim()));
    for block in std::iter::once(regtest.genesis.clone()).chain(raw) {
        bytes.extend(regtest.magic);
        bytes.extend((block.len() as u32).to_le_bytes());
        bytes.extend(block);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    fs::write(&path, bytes).unwrap();
    assert_eq!(assert_comes_back(&path, &regtest), 207);
}
