//! From each format to each.

use crate::program::{blockmill, read_store, succeed, succeed_json};
use crate::{MAINNET, MAINNET_16383, SEPOLIA, assert_tip, import, mainnet, set_up};
use std::fs;
use std::path::{Path, PathBuf};

fn convert(from: &[PathBuf], format: &str, to: &Path) {
    let mut command = blockmill("convert --to");
    succeed(command.arg(format).arg("--out").arg(to).args(from));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era1_files_come_back_byte_for_byte_from_an_ancient_folder() {
    let (fixtures, scratch) = set_up("era1-freezer-era1");
    for (network, files) in [("mainnet", &MAINNET[..]), ("sepolia", &[SEPOLIA])] {
        let published: Vec<_> = files.iter().map(|file| fixtures.join(file)).collect();
        let folder = scratch.path(&format!("{network}-ancient"));
        let back = scratch.path(&format!("{network}-era1"));
        convert(&published, "freezer", &folder);
        convert(&[folder], "era1", &back);
        assert_eq!(fs::read_dir(&back).unwrap().count(), published.len());
        for file in &published {
            let written = fs::read(back.join(file.file_name().unwrap())).unwrap();
            assert!(written == fs::read(file).unwrap(), "{} differs", file.display());
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ancient_folders_of_both_clients_give_the_published_era1_files() {
    let (fixtures, scratch) = set_up("freezer-era1");
    for client in ["geth-1.9", "geth-1.17"] {
        let out = scratch.path(client);
        convert(&[fixtures.join("freezer").join(client)], "era1", &out);
        for file in mainnet(&fixtures) {
            let written = fs::read(out.join(file.file_name().unwrap())).unwrap();
            assert!(written == fs::read(&file).unwrap(), "{client}: {} differs", file.display());
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_gives_back_the_published_era1_files() {
    let (fixtures, scratch) = set_up("store-era1");
    let (store, back) = (scratch.path("store"), scratch.path("back"));
    succeed(import(&store, "--seal off").args(mainnet(&fixtures)));
    convert(&[store], "era1", &back);
    for file in mainnet(&fixtures) {
        let written = fs::read(back.join(file.file_name().unwrap())).unwrap();
        assert!(written == fs::read(&file).unwrap(), "{} differs", file.display());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn streams_made_of_era1_files_hold_the_same_chain() {
    let (fixtures, scratch) = set_up("era1-streams");
    let era1 = mainnet(&fixtures);
    let whole = scratch.path("whole");
    succeed(import(&whole, "--seal off").args(&era1));
    let whole = read_store(&whole);
    for (format, level) in [("rlp", "execution"), ("rlp-gz", "execution"), ("headers", "headers")] {
        let (out, store) = (scratch.path(format), scratch.path(&format!("{format}-store")));
        convert(&era1, format, &out);
        let mut command = import(&store, "--seal off");
        let record = succeed_json(command.arg(&out));
        assert_tip(&record, 16_383, MAINNET_16383);
        assert_eq!(record["level"], level);
        let stored = read_store(&store);
        assert_eq!(stored.blocks.len(), whole.blocks.len());
        for (found, expected) in stored.blocks.iter().zip(&whole.blocks) {
            assert_eq!((&found.hash, &found.header), (&expected.hash, &expected.header));
            if level == "execution" {
                assert_eq!(found.body, expected.body);
            }
        }
    }
    // gzip is smaller, and nothing else
    let (plain, packed) = (scratch.path("rlp"), scratch.path("rlp-gz"));
    assert!(fs::metadata(packed).unwrap().len() < fs::metadata(&plain).unwrap().len());
    // and the export goes back to the published files: no transactions, so no receipts are lost
    let back = scratch.path("back");
    convert(&[plain], "era1", &back);
    for file in &era1 {
        let written = fs::read(back.join(file.file_name().unwrap())).unwrap();
        assert!(written == fs::read(file).unwrap(), "{} differs", file.display());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_converted_range_begins_and_ends_where_it_was_asked_to() {
    let (fixtures, scratch) = set_up("convert-range");
    for format in ["rlp", "headers", "rlp-gz"] {
        let out = scratch.path(format);
        let mut command = blockmill("convert --from 5000 --until 9000 --to");
        let done =
            succeed_json(command.arg(format).arg("--out").arg(&out).args(mainnet(&fixtures)));
        assert_eq!((&done["first"], &done["last"]), (&5_000.into(), &9_000.into()));
        let inspection = succeed_json(blockmill("inspect").arg(&out));
        assert_eq!(inspection["files"][0]["first"], 5_000);
        assert_eq!(inspection["files"][0]["last"], 9_000);
    }
}
