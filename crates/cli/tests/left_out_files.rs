//! Files in a folder that are not read are mentioned, and count as missing where they may hold
//! blocks. What is given instead of an archive is named.

use crate::program::{Ended, Scratch, blockmill, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};

const INCOMPLETE: i32 = 3;
const UNRECOGNISED: i32 = 6;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).expect("a file")),
        }
    }
}

fn mentions(ended: &Ended, name: &str) -> bool {
    ended.stdout.contains(name) || ended.stderr.contains(name)
}

/// Every command mentions the file, and says that the archive may lack blocks.
fn expect_incomplete(folder: &Path, flags: &str, to: &str, name: &str, scratch: &Scratch) {
    let (data, out) = (scratch.path("data"), scratch.path("out"));
    for command in [
        format!("verify {flags}"),
        "inspect".to_owned(),
        format!("import {flags} --data {}", data.display()),
        format!("convert --to {to} --out {}", out.display()),
    ] {
        let ended = run(blockmill(&command).arg(folder));
        assert_eq!(ended.code, Some(INCOMPLETE), "{command} {}: {ended:?}", folder.display());
        assert!(mentions(&ended, name), "{command}: {ended:?}");
        let _ = (fs::remove_dir_all(&data), fs::remove_file(&out), fs::remove_dir_all(&out));
    }
    let mut partial = blockmill(&format!("verify {flags} --partial"));
    assert_eq!(run(partial.arg(folder)).code, Some(0), "{}", folder.display());
}

#[blockmill_testkit::needs(cases, fixtures)]
#[test]
fn archives_of_other_forms_in_the_folder_make_it_incomplete() {
    let scratch = Scratch::new("left-out");
    let case = |name: &str| {
        let to = scratch.path(name);
        copy(&blockmill_testkit::case(format!("11-unreadable-archives-passed-over/{name}")), &to);
        to
    };
    let foreign = case("foreign");
    let era = "sepolia-00000-643a00f7.era1";
    let from = blockmill_testkit::fixture(format!("ethereum/era1/{era}"));
    fs::copy(from, foreign.join(era)).expect("a file");
    // a folder is one archive of one format
    let ended = run(blockmill("verify --level headers --seal off").arg(&foreign));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("found another (ere file of sepolia)"), "{ended:?}");
    let ere = foreign.join("sepolia-00000-deadbeef-noreceipts.ere");
    fs::remove_file(ere).expect("a file of the case");
    let ended = run(blockmill("verify --level headers --seal off").arg(&foreign));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("found another (era file of sepolia)"), "{ended:?}");
    let name = "v1-000000-000500-headers.seg";
    fs::remove_file(foreign.join("sepolia-00001-4b363db9.era")).expect("a file of the case");
    fs::write(foreign.join(name), "a snapshot of Erigon").expect("a file");
    expect_incomplete(&foreign, "--level headers --seal off", "headers", name, &scratch);
    let neo = case("neo-zip");
    let flags = format!("--level headers --chain {}", neo.join("protocol.yml").display());
    // a zip file is read, and this one is not a zip file
    let ended = run(blockmill(&format!("verify {flags}")).arg(&neo));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let zipped = neo.join("chain.20.acc.zip");
    fs::rename(&zipped, zipped.with_extension("7z")).expect("a file");
    fs::write(neo.join("chain.20.acc.7z"), b"7z\xbc\xaf\x27\x1c").expect("a file");
    expect_incomplete(&neo, &flags, "acc", "chain.20.acc.7z", &scratch);
}

#[test]
fn nothing_is_missing_where_the_last_block_that_was_asked_for_is_there() {
    let scratch = Scratch::new("left-out-range");
    let folder = scratch.path("chain");
    fs::create_dir(&folder).expect("a folder");
    let words = "generate ethereum --headers 30 --format rlp --out";
    succeed(blockmill(words).arg(folder.join("chain.rlp")));
    let verify = |flags: &str| {
        let words = format!("verify --seal off --level bodies {flags}");
        run(blockmill(&words).arg(&folder))
    };
    // what holds no blocks is not a concern
    for name in ["README", "checksums.txt", "genesis.json.asc", "LOCK"] {
        fs::write(folder.join(name), "text").expect("a file");
    }
    let ended = verify("");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!mentions(&ended, "README") && !mentions(&ended, "left out"), "{ended:?}");
    // nobody knows what this is
    fs::write(folder.join("data.bin"), [0; 100]).expect("a file");
    let ended = verify("");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(mentions(&ended, "data.bin"), "{ended:?}");
    // the file from which another one was unpacked
    fs::write(folder.join("chain.rlp.rar"), "Rar!").expect("a file");
    assert_eq!(verify("").code, Some(0));
    fs::write(folder.join("more.rlp.rar"), "Rar!").expect("a file");
    assert_eq!(verify("").code, Some(INCOMPLETE));
    let ended = verify("--until 20");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(mentions(&ended, "more.rlp.rar"), "{ended:?}");
}

fn verify(path: &Path, flags: &str) -> Ended {
    run(blockmill(&format!("verify {flags}")).arg(path))
}

#[blockmill_testkit::needs(cases)]
#[test]
fn the_sentence_fits_what_is_there() {
    let case = |name: &str| blockmill_testkit::case(format!("07-datadir-advice/{name}"));
    let core = case("bitcoin-datadir-blocksdir-elsewhere");
    for path in [core.clone(), core.join("blocks")] {
        for flags in ["", "--chain regtest"] {
            let ended = verify(&path, flags);
            assert_ne!(ended.code, Some(0), "{ended:?}");
            assert!(ended.stderr.contains("without block files"), "{ended:?}");
            assert!(ended.stderr.contains("-blocksdir"), "{ended:?}");
            assert!(ended.stderr.contains("-prune"), "{ended:?}");
        }
    }
    let empty = case("empty-ancient");
    for path in [empty.clone(), empty.join("ancient")] {
        for flags in ["", "--chain mainnet"] {
            let ended = verify(&path, flags);
            assert_eq!(ended.code, Some(INCOMPLETE), "{ended:?}");
            assert!(ended.stderr.contains("empty tables"), "{ended:?}");
            assert!(ended.stderr.contains("geth export"), "{ended:?}");
        }
    }
    let case = |name: &str| blockmill_testkit::case(format!("12-neo-zip-and-csharp-config/{name}"));
    let with = |name: &str, file: &str| format!("--chain {}", case(name).join(file).display());
    for (name, file) in [("zip", "chain.acc.zip"), ("zip", "")] {
        let ended = verify(&case(name).join(file), &with("zip", "protocol.yml"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let ended = verify(&case("csharp"), &with("csharp", "config.json"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = verify(&case("neo2"), &with("neo2", "protocol.yml"));
    assert_eq!(ended.code, Some(UNRECOGNISED), "{ended:?}");
    assert!(ended.stderr.contains("Neo 2"), "{ended:?}");
    let ended = verify(&case("wrong-magic"), &with("wrong-magic", "protocol.yml"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("compare Magic"), "{ended:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_data_folder_of_geth_is_read_and_its_database_is_named() {
    let scratch = Scratch::new("geth-datadir");
    let chaindata = scratch.path("datadir/geth/chaindata");
    copy(&blockmill_testkit::fixture("ethereum/freezer/geth-1.17"), &chaindata.join("ancient"));
    for name in ["CURRENT", "MANIFEST-000001", "000002.sst"] {
        fs::write(chaindata.join(name), "").expect("a file");
    }
    let mut paths: Vec<PathBuf> = ["datadir", "datadir/geth"].map(|at| scratch.path(at)).into();
    paths.push(chaindata.clone());
    for path in paths {
        let ended = verify(&path, "--level headers --seal off");
        assert_eq!(ended.code, Some(0), "{}: {ended:?}", path.display());
        assert!(mentions(&ended, "newest blocks"), "{ended:?}");
    }
    fs::remove_dir_all(chaindata.join("ancient")).expect("a folder");
    let ended = verify(&scratch.path("datadir"), "");
    assert!(ended.stderr.contains("without an ancient folder"), "{ended:?}");
    assert!(ended.stderr.contains("--datadir.ancient"), "{ended:?}");
}
