//! Block access lists into a table and back: the same lists, in every form.

mod exports;

use blockmill_export::TableReader;
use blockmill_export::ethereum::read::{access_lists, headers};
use blockmill_export::ethereum::tables::BLOCK_ACCESS_LIST;
use blockmill_export::schema::{Form, Names};
use blockmill_rlp::Encode;
use exports::{Asked, export, files_of, with_header};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TABLES: [&str; 2] = ["blocks", "block_access_list"];

fn archive(chain: &str, name: &str) -> [PathBuf; 1] {
    [blockmill_testkit::fixture(format!("ethereum/bal-chains/{chain}/{name}"))]
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn lists_come_back_with_the_hashes_of_the_headers() {
    for (chain, lists) in [("amsterdam-250", 249), ("transition-240", 120)] {
        for form in [Form::default(), Form { hex: true, names: Names::Cryo }] {
            let asked = Asked { form, tables: &TABLES, chunk: 32, ..Asked::default() };
            let folder = export(&archive(chain, "chain-with-bal.rlp"), &asked).unwrap();
            let mut hashes = BTreeMap::new();
            for file in files_of(folder.path(), "blocks") {
                let keep = |_, header: Vec<u8>| {
                    with_header(&header, |header| {
                        if let Some(hash) = header.block_access_list_hash {
                            hashes.insert(header.number, *hash);
                        }
                    });
                    Ok(())
                };
                headers(&file, keep).unwrap();
            }
            hashes.remove(&0); // the list of the genesis block is empty
            let mut found = BTreeMap::new();
            for file in files_of(folder.path(), "block_access_list") {
                let keep = |number, list: blockmill_ethereum::access_list::BlockAccessList| {
                    found.insert(number, list.hash());
                    Ok(())
                };
                access_lists(&file, keep).unwrap();
            }
            assert_eq!(found.len(), lists, "{chain} {form:?}");
            assert_eq!(found, hashes, "{chain} {form:?}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_index_is_that_of_the_transaction_or_there_is_none() {
    let asked = Asked { tables: &TABLES, ..Asked::default() };
    let folder = export(&archive("amsterdam-250", "chain-with-bal.rlp"), &asked).unwrap();
    let (mut before, mut by, mut after, mut accessed) = (0, 0, 0, 0);
    for file in files_of(folder.path(), "block_access_list") {
        for cells in TableReader::open(&file, &BLOCK_ACCESS_LIST).unwrap() {
            let cells = cells.unwrap();
            for row in 0..cells.rows() {
                let index = cells.maybe_int("access_index", row).unwrap();
                let transaction = cells.maybe_int("transaction_index", row).unwrap();
                match (index, transaction) {
                    (None, None) => accessed += 1,
                    (Some(0), None) => before += 1,
                    (Some(_), None) => after += 1,
                    (index, Some(transaction)) => {
                        assert_eq!(index, Some(transaction + 1));
                        by += 1;
                    }
                }
            }
        }
    }
    // system calls write two slots before the transactions of each block
    assert!(before >= 2 * 249, "{before} {by} {after} {accessed}");
    assert!(by > 1_000 && after > 50 && accessed > 1_000, "{by} {after} {accessed}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_archive_without_lists_has_no_such_table() {
    let asked = Asked { tables: &TABLES, ..Asked::default() };
    let error = export(&archive("amsterdam-250", "chain.rlp"), &asked).unwrap_err();
    let expected = "--tables block_access_list: expected blocks with block access lists";
    assert!(error.contains(expected), "{error}");
    // before Amsterdam there is nothing to lack
    let hive = [blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp")];
    let folder = export(&hive, &asked).unwrap();
    let lists = files_of(folder.path(), "block_access_list");
    assert!(lists.iter().all(|file| access_lists(file, |_, _| unreachable!()).is_ok()));
}
