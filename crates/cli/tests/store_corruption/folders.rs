//! One folder never mixes chains, and opening a store removes nothing that it did not make.

use super::files;
use super::program::{Scratch, blockmill, run, succeed};
use blockmill_bitcoin::params::Params;
use std::fs;
use std::path::Path;

/// Imports into a folder of another chain: refused, with both names, and nothing changes.
#[track_caller]
fn assert_refused(store: &Path, archive: &Path, words: &[&str]) {
    let before = files(store);
    let ended = run(blockmill("import --data").arg(store).arg(archive));
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "no {word:?} in {}", ended.stderr);
    }
    let after = files(store);
    for (name, bytes) in &before {
        assert!(after.get(name) == Some(bytes), "{} was changed", name.display());
    }
    let new = after.keys().filter(|name| !before.contains_key(*name));
    let new: Vec<_> = new.filter(|name| !name.starts_with("records")).collect();
    assert!(new.is_empty(), "{new:?}");
}

#[test]
fn a_folder_never_mixes_chains() {
    let scratch = Scratch::new("folders");
    let (blocks, chain) = (scratch.path("blocks"), scratch.path("chain.rlp"));
    let (coins, headers) = (scratch.path("coins"), scratch.path("headers"));
    let only_index = scratch.path("only-index");
    succeed(blockmill("generate bitcoin --inputs 100 --coins 100 --out").arg(&blocks));
    succeed(blockmill("generate ethereum --headers 50 --out").arg(&chain));
    succeed(blockmill("import --data").arg(&coins).arg(&blocks));
    succeed(blockmill("import --level headers --data").arg(&only_index).arg(&blocks));
    succeed(blockmill("import --seal off --data").arg(&headers).arg(&chain));

    // a file of the main network: its first block
    let mainnet = scratch.path("blk00000.dat");
    let params = Params::all().into_iter().find(|params| params.name == "mainnet");
    let params = params.expect("the main network");
    let mut bytes = params.magic.to_vec();
    bytes.extend((params.genesis.len() as u32).to_le_bytes());
    bytes.extend(&params.genesis);
    fs::write(&mainnet, bytes).expect("a file to write");

    assert_refused(&coins, &mainnet, &["regtest", "mainnet"]);
    assert_refused(&only_index, &mainnet, &["regtest", "mainnet"]);
    assert_refused(&headers, &blocks, &["Ethereum", "Bitcoin"]);
    assert_refused(&coins, &chain, &["Ethereum", "Bitcoin"]);
    assert_refused(&only_index, &chain, &["Ethereum", "Bitcoin"]);
}

#[test]
fn opening_a_store_of_coins_leaves_files_alone_that_it_did_not_make() {
    let scratch = Scratch::new("foreign-files");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    succeed(blockmill("generate bitcoin --inputs 100 --coins 100 --out").arg(&blocks));
    succeed(blockmill("import --until 20 --data").arg(&store).arg(&blocks));
    let names = ["coins.txt", "coins.7", "coins.900000", "manifest.old", "undo.7", "undo.old"];
    let names = names.map(|name| format!("coins/{name}"));
    let names: Vec<String> = names.into_iter().chain(["notes".into()]).collect();
    for name in &names {
        fs::write(store.join(name), name).expect("a file to write");
    }
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    for name in names {
        let kept = fs::read(store.join(&name)).unwrap_or_default();
        assert_eq!(kept, name.as_bytes(), "{name}");
    }
}
