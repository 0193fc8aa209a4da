//! Real chains into tables and back: the same bytes and hashes, in every form.

mod exports;

use blockmill_archive::{Archive, Chunk, ChunkLimit, Packed, Want};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::{Hash, Level};
use blockmill_export::ethereum::blocks::{Files, blocks};
use blockmill_export::ethereum::read::{ReadTransaction, headers, transactions};
use blockmill_export::ethereum::tables;
use blockmill_export::schema::{Form, Names};
use blockmill_export::{Manifest, TableReader};
use blockmill_rlp::ethereum::{Block, Body, Header};
use blockmill_rlp::{Decode, Encode};
use exports::{Asked, export, files_of, with_header};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice;

/// Headers, and transactions with the numbers of their blocks.
type Objects = (Vec<Vec<u8>>, Vec<(u64, Vec<u8>)>);

/// The headers of an archive, and what its transactions trie holds.
fn read(paths: &[PathBuf]) -> Objects {
    let archive = Archive::open(paths).unwrap();
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let (mut headers, mut transactions) = (vec![], vec![]);
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        for (header, body) in chunk.headers.iter().zip(chunk.bodies.iter()) {
            let number = with_header(header, |header| header.number);
            headers.push(header.to_vec());
            let body = BodyView::decode(body).unwrap();
            transactions.extend(body.transaction_encodings().map(|raw| (number, raw.to_vec())));
        }
    }
    (headers, transactions)
}

/// The blocks of an archive, each in one list.
fn read_blocks(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let archive = Archive::open(paths).unwrap();
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).unwrap();
    let (mut packed, mut chunk, mut blocks) = (Packed::new(), Chunk::new(), vec![]);
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        for (header, body) in chunk.headers.iter().zip(chunk.bodies.iter()) {
            let block = Block::new(Header::decode(header).unwrap(), Body::decode(body).unwrap());
            blocks.push(block.encode());
        }
    }
    blocks
}

/// What the tables of a folder hold.
fn read_back(folder: &Path) -> (Vec<Vec<u8>>, Vec<ReadTransaction>) {
    let (mut all, mut own) = (vec![], vec![]);
    for file in files_of(folder, "blocks") {
        let keep = |hash: Hash, header: Vec<u8>| {
            assert_eq!(blockmill_hashes::keccak256(&header), hash);
            all.push(header);
            Ok(())
        };
        headers(&file, keep).unwrap();
    }
    for file in files_of(folder, "transactions") {
        transactions(&file, |transaction| {
            own.push(transaction);
            Ok(())
        })
        .unwrap();
    }
    (all, own)
}

fn forms() -> impl Iterator<Item = Form> {
    let names = [Names::Etl, Names::Cryo].into_iter();
    names.flat_map(|names| [false, true].map(|hex| Form { hex, names }))
}

/// Exports a chain at level bodies in every form, and compares what comes back.
fn assert_comes_back(chain: &str) -> BTreeMap<u64, usize> {
    let paths = [blockmill_testkit::fixture(chain)];
    let (expected, expected_transactions) = read(&paths);
    assert!(!expected.is_empty());
    let mut types = BTreeMap::new();
    for form in forms() {
        let asked = Asked { form, tables: &["blocks", "transactions"], ..Asked::default() };
        let folder = export(&paths, &asked).unwrap();
        let (found, found_transactions) = read_back(folder.path());
        // block 0 of an export that leaves it out is not a block of the archive
        assert!(found == expected, "{form:?}: {} of {}", found.len(), expected.len());
        let found: Vec<_> = found_transactions
            .into_iter()
            .map(|transaction| (transaction.block, transaction.canonical))
            .collect();
        assert!(found == expected_transactions, "{form:?}");
        types = BTreeMap::new();
        for (_, canonical) in &found {
            let kind = if canonical[0] < 0xc0 { canonical[0] } else { 0 };
            *types.entry(u64::from(kind)).or_default() += 1;
        }
    }
    types
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_chain_of_all_forks_comes_back_with_all_types_of_transactions() {
    let types = assert_comes_back("ethereum/chains/execution-apis/chain.rlp");
    assert_eq!(types.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn chains_of_hive_come_back() {
    assert_comes_back("ethereum/chains/hive-sync/chain.rlp");
    let types = assert_comes_back("ethereum/chains/hive-engine/chain.rlp");
    assert_eq!(types.values().sum::<usize>(), 11_264);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era1_files_are_partitions_with_the_sum_of_their_file() {
    let names = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];
    let paths = names.map(|name| blockmill_testkit::fixture(format!("ethereum/era1/{name}")));
    let all = ["blocks", "ommers", "transactions", "receipts", "logs", "withdrawals"];
    let asked = Asked { tables: &all, ..Asked::default() };
    let folder = export(&paths, &asked).unwrap();
    let (found, _) = read_back(folder.path());
    assert!(found == read(&paths).0);

    let manifest = Manifest::read(folder.path()).unwrap();
    assert_eq!((&*manifest.verified, &*manifest.level), ("chain", "bodies"));
    assert_eq!((manifest.first, manifest.last), (0, 16_383));
    assert_eq!(manifest.tip, "0x05c64fc4842734317f8f1dfe29a7e16f676575ad82a7dae37cef1379cf8500b5");
    assert_eq!(manifest.files.len(), 2 * all.len());
    for (entry, path) in manifest.files.iter().zip(paths.iter().flat_map(|path| [path; 6])) {
        let sum =
            blockmill_verdict::Digits(&blockmill_hashes::sha256(&std::fs::read(path).unwrap()))
                .to_string();
        assert_eq!(entry.source_sha256.as_ref(), Some(&sum));
        let table = tables::ALL.into_iter().find(|table| table.name == entry.table).unwrap();
        let reader = TableReader::open(&folder.path().join(&entry.file), table).unwrap();
        let facts = reader.facts().clone();
        assert_eq!(facts["verified"], "partition");
        assert_eq!(facts["source_sha256"], sum);
        assert_eq!(facts["chain"], "mainnet");
        assert_eq!(facts["genesis"], manifest.genesis);
        assert_eq!(facts["first"], entry.first.to_string());
        let rows: usize = reader.map(|cells| cells.unwrap().rows()).sum();
        assert_eq!(rows as u64, entry.rows);
        let expected = match (&*entry.table, entry.first) {
            ("blocks", _) => 8192,
            ("ommers", 0) => 1410,
            ("ommers", _) => 562,
            _ => 0,
        };
        assert_eq!(rows, expected, "{}", entry.file);
    }
    assert_eq!(manifest.files[6].file, "mainnet-blocks-000008192-000016383.parquet");
}

/// Every block of `paths` comes back whole from its tables.
fn assert_blocks_come_back(paths: &[PathBuf], form: Form) -> usize {
    let tables = ["blocks", "ommers", "transactions", "withdrawals"];
    let folder = export(paths, &Asked { form, tables: &tables, ..Asked::default() }).unwrap();
    let [of_blocks, ommers, transactions, withdrawals] =
        tables.map(|table| files_of(folder.path(), table));
    let mut found = vec![];
    for (at, file) in of_blocks.iter().enumerate() {
        let files = Files {
            blocks: file,
            ommers: &ommers[at],
            transactions: &transactions[at],
            withdrawals: &withdrawals[at],
        };
        blocks(files, |_, _, block| {
            found.push(block);
            Ok(())
        })
        .unwrap();
        // rows of another file are not of these blocks
        let other = Files { transactions: &transactions[at], ommers: &ommers[0], ..files };
        assert_eq!(at == 0, blocks(other, |_, _, _| Ok(())).is_ok());
    }
    assert!(found == read_blocks(paths), "{form:?}");
    found.len()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn whole_blocks_come_back_with_ommers_and_withdrawals() {
    let era1 = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"]
        .map(|name| blockmill_testkit::fixture(format!("ethereum/era1/{name}")));
    assert_eq!(assert_blocks_come_back(&era1, Form::default()), 16_384);
    let chain = [blockmill_testkit::fixture("ethereum/chains/execution-apis/chain.rlp")];
    for form in forms() {
        assert!(assert_blocks_come_back(&chain, form) > 40);
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn numbers_that_no_column_holds_are_null_and_come_back_exactly() {
    let mut large = BTreeMap::new();
    for case in std::fs::read_dir(blockmill_testkit::case("08-export-number-overflow")).unwrap() {
        let chain = case.unwrap().path().join("chain.rlp");
        if !chain.is_file() {
            continue;
        }
        for form in forms() {
            assert!(
                assert_blocks_come_back(slice::from_ref(&chain), form) > 0,
                "{}",
                chain.display()
            );
        }
        for level in [Level::Bodies, Level::Execution] {
            let tables = ["blocks", "transactions", "balance_diffs", "nonce_diffs", "receipts"];
            let tables = if level == Level::Bodies { &tables[..2] } else { &tables };
            let folder =
                export(slice::from_ref(&chain), &Asked { level, tables, ..Asked::default() });
            let folder = folder.unwrap_or_else(|error| panic!("{}: {error}", chain.display()));
            for table in tables {
                let of = tables::ALL.into_iter().find(|of| of.name == *table).unwrap();
                for file in files_of(folder.path(), table) {
                    for cells in TableReader::open(&file, of).unwrap() {
                        let cells = cells.unwrap();
                        for row in 0..cells.rows() {
                            let numbers = cells.structs("large_numbers", row).unwrap();
                            let count = numbers.map_or(0, |numbers| numbers.rows());
                            *large.entry(*table).or_insert(0) += count;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(large.len(), 5);
    assert!(large.values().all(|count| *count > 0), "{large:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn headers_alone_are_a_table_and_transactions_of_them_are_refused() {
    let paths = [blockmill_testkit::fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1")];
    let asked = Asked { level: Level::Headers, tables: &["blocks"], ..Asked::default() };
    let folder = export(&paths, &asked).unwrap();
    assert!(read_back(folder.path()).0 == read(&paths).0);
    let asked = Asked { tables: &["transactions"], ..asked };
    let error = export(&paths, &asked).unwrap_err();
    assert!(error.contains("expected blocks with bodies, found block 0 without"), "{error}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn receipts_and_logs_are_those_of_the_execution() {
    let paths = [blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp")];
    let tables = ["transactions", "receipts", "logs", "withdrawals"];
    let asked = Asked { level: Level::Execution, tables: &tables, ..Asked::default() };
    let folder = export(&paths, &asked).unwrap();
    let (_, transactions) = read_back(folder.path());
    let mut receipts = vec![];
    for file in files_of(folder.path(), "receipts") {
        for cells in TableReader::open(&file, &tables::RECEIPTS).unwrap() {
            let cells = cells.unwrap();
            for row in 0..cells.rows() {
                let status = cells.maybe_int("status", row).unwrap();
                let root = cells.maybe_bytes("root", row).unwrap();
                assert_ne!(status.is_some(), root.is_some());
                let hash: Hash = cells.fixed("transaction_hash", row).unwrap();
                receipts.push((hash, cells.int("logs_count", row).unwrap()));
            }
        }
    }
    let hashes = transactions.iter().map(|transaction| transaction.hash);
    assert!(hashes.eq(receipts.iter().map(|(hash, _)| *hash)));
    let manifest = Manifest::read(folder.path()).unwrap();
    let rows = |table: &str| -> u64 {
        manifest.files.iter().filter(|file| file.table == table).map(|file| file.rows).sum()
    };
    assert_eq!(rows("receipts"), 546);
    assert_eq!(rows("logs"), receipts.iter().map(|(_, logs)| logs).sum::<u64>());
    assert!(rows("logs") > 0 && rows("withdrawals") > 0);
    // an archive without receipts has none before it is executed
    let error = export(&paths, &Asked { level: Level::Bodies, ..asked }).unwrap_err();
    assert!(error.contains("expected blocks with receipts"), "{error}");
}
