//! The database for neo-go, read back: it has every block, log, pair and trie node of its store.
//! Stores that cannot be exported are rejected.
//!
//! `crates/bench/tests/neo_go_database.rs` tests that neo-go writes the same and continues from it.

use crate::dumps::{Dump, blocks, oracle};
use blockmill_archive::acc;
use blockmill_hashes::sha256;
use blockmill_leveldb::Scan;
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::export::{Written, to_neo_go};
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::params::Protocol;
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use blockmill_trie::codec::{Codec, Neo, ReadChild, ReadNode};
use blockmill_verdict::Status;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Imports a dump into a new store.
fn store_of(dump: Dump, level: Level, data: &Path) {
    let options = blockmill_store::Options::default();
    let mut sink = match level {
        Level::Execution => Sink::Ledger(Box::new(Ledger::open(data, &options).unwrap())),
        _ => Sink::Store(Box::new(ChainStore::open(data, &options).unwrap().0)),
    };
    fill(dump, level, &mut sink);
}

fn fill(dump: Dump, level: Level, sink: &mut Sink) {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(dump.config)).unwrap();
    let protocol = Protocol::from_yaml(&text).unwrap();
    let options = Options { threads: 2, level, ..Options::new(protocol) };
    let dumps = acc::open(&[blockmill_testkit::fixture(dump.file)]).unwrap();
    import(&dumps, &options, sink, |_| {}).1.unwrap();
}

fn convert(data: &Path, out: &Path) -> Result<Written, Error> {
    let written = to_neo_go(data, out, &Cancel::default())?;
    Ok(written.expect("nobody asks to stop"))
}

/// All entries of the database.
fn entries(folder: &Path) -> Entries {
    let (mut scan, mut found) = (Scan::open(folder).unwrap(), Entries::new());
    while scan.advance().unwrap() {
        found.insert(scan.key().to_vec(), scan.value().to_vec());
    }
    found
}

/// The entries with this prefix, without it.
fn with_prefix(entries: &Entries, prefix: u8) -> Entries {
    let own = entries.iter().filter(|(key, _)| key[0] == prefix);
    own.map(|(key, value)| (key[1..].to_vec(), value.clone())).collect()
}

/// Visits a node and everything below it, and removes one reference of each.
fn walk(hash: [u8; 32], path: &mut Vec<u8>, nodes: &mut Entries, pairs: &mut Entries) {
    let value = nodes.get_mut(&hash[..]).expect("a node that is named");
    let (node, references) = value.split_last_chunk::<5>().unwrap();
    let left = u32::from_le_bytes(references[1..].try_into().unwrap());
    let node = node.to_vec();
    assert!(left > 0, "a node is named more often than it says");
    assert_eq!((references[0], sha256(&sha256(&node))), (1, hash));
    let at = value.len() - 4;
    value[at..].copy_from_slice(&(left - 1).to_le_bytes());
    match Neo::new().read(&node).unwrap() {
        ReadNode::Leaf { value, .. } => {
            let key = path.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
            assert_eq!(pairs.insert(key, value.to_vec()), None);
        }
        ReadNode::Extension { path: own, child: ReadChild::Hash(child) } => {
            path.extend_from_slice(&own);
            walk(child, path, nodes, pairs);
            path.truncate(path.len() - own.len());
        }
        ReadNode::Branch { children, .. } => {
            for (slot, child) in children.iter().enumerate() {
                let ReadChild::Hash(child) = child else { continue };
                if slot < 16 {
                    path.push(slot as u8);
                }
                walk(*child, path, nodes, pairs);
                if slot < 16 {
                    path.pop();
                }
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Moves a node and everything below it from `nodes` to `reached`, except nodes that are already
/// there.
fn reach(hash: &[u8], nodes: &mut Entries, reached: &mut BTreeSet<Vec<u8>>) {
    if !reached.insert(hash.to_vec()) {
        return;
    }
    let node = nodes.remove(hash).expect("a node that is named");
    assert_eq!(sha256(&sha256(&node)), hash);
    let children = match Neo::new().read(&node).unwrap() {
        ReadNode::Leaf { .. } => vec![],
        ReadNode::Extension { child, .. } => vec![child],
        ReadNode::Branch { children, .. } => children,
    };
    for child in children {
        if let ReadChild::Hash(child) = child {
            reach(&child, nodes, reached);
        }
    }
}

/// Contract storage after the last block, from neo-go's oracle.
fn storage(dump: Dump) -> Entries {
    let mut storage = Entries::new();
    for (key, value) in oracle::changes(dump).into_iter().flatten() {
        match value {
            Some(value) => storage.insert(key.as_slice().to_vec(), value.to_vec()),
            None => storage.remove(key.as_slice()),
        };
    }
    storage
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_database_has_blocks_logs_state_and_all_nodes_of_the_trie() {
    for dump in Dump::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (data, out) = (folder.path().join("data"), folder.path().join("out"));
        store_of(dump, Level::Execution, &data);
        let written = convert(&data, &out).unwrap();
        let all = entries(&out);
        assert_eq!(written.entries, all.len() as u64, "{}", dump.name);
        let last = dump.blocks as u32 - 1;

        // each block with the hashes of its transactions, and each transaction, followed by its
        // logs
        let executables = with_prefix(&all, 0x01);
        let mut tip = [0; 32];
        for block in blocks(dump) {
            let value = &executables[&block.hash.0[..]];
            assert_eq!(value[0], 1);
            assert!(value[1..].starts_with(&block.raw[..block.header_length()]));
            for transaction in block.transactions() {
                let value = &executables[&transaction.hash().0[..]];
                let expected = [&[2], &block.header.index.to_le_bytes()[..], transaction.bytes()];
                assert!(value.starts_with(&expected.concat()));
                let log = &value[5 + transaction.bytes().len()..];
                assert_eq!(log[..32], transaction.hash().0);
            }
            tip = block.hash.0;
        }
        let conflicts = executables.values().filter(|value| value.len() == 5).count();
        let whole = executables.len() - conflicts;
        assert_eq!(whole, dump.blocks + dump.transactions, "{}", dump.name);

        let expected = storage(dump);
        assert!(with_prefix(&all, 0x70) == expected, "{}", dump.name);
        assert_eq!(written.pairs, expected.len() as u64);
        let (mut nodes, mut pairs) = (with_prefix(&all, 0x03), Entries::new());
        walk(written.root.0, &mut vec![], &mut nodes, &mut pairs);
        assert!(pairs == expected, "{}", dump.name);
        let unnamed = nodes.values().filter(|node| !node.ends_with(&[0; 4])).count();
        assert_eq!(unnamed, 0, "{}", dump.name);

        let mut roots = Entries::new();
        for (height, root) in (0_u32..).zip(oracle::roots(dump)) {
            let value = [&[0], &height.to_le_bytes()[..], &root.0, &[0]].concat();
            roots.insert(height.to_be_bytes().to_vec(), value);
        }
        roots.insert(vec![2], last.to_le_bytes().to_vec());
        assert!(with_prefix(&all, 0x04) == roots, "{}", dump.name);

        let settings = 8 + 2 * u8::from(dump.name == "chain50x2") + u8::from(dump.state_root);
        let version = &all[&[0xf0][..]];
        assert!(version.starts_with(&[b"0.2.12\0\x70", &[settings][..]].concat()), "{version:?}");
        assert_eq!(all[&[0xc0][..]], [&tip[..], &last.to_le_bytes()].concat());
        tip.reverse();
        assert_eq!(all[&[0xc1][..]], [&tip[..], &last.to_le_bytes()].concat());
        assert_eq!(with_prefix(&all, 0x80).len(), dump.blocks / 2000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn with_history_the_database_has_the_trie_of_every_block_and_no_other_node() {
    for dump in Dump::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (data, out) = (folder.path().join("data"), folder.path().join("out"));
        let ledger =
            Ledger::open_with_history(&data, &blockmill_store::Options::default()).unwrap();
        fill(dump, Level::Execution, &mut Sink::Ledger(Box::new(ledger)));
        assert!(convert(&data, &out).unwrap().keeps_history);
        let all = entries(&out);
        assert!(with_prefix(&all, 0x70) == storage(dump), "{}", dump.name);
        let (mut nodes, mut reached) = (with_prefix(&all, 0x03), BTreeSet::new());
        oracle::roots(dump).iter().for_each(|root| reach(&root.0, &mut nodes, &mut reached));
        assert!(reached.len() > dump.blocks, "{}", dump.name);
        assert_eq!(nodes.len(), 0, "{}: nodes of no block", dump.name);
        // KeepOnlyLatestState is off
        assert_eq!(all[&[0xf0][..]][8] & 8, 0, "{}", dump.name);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_that_cannot_be_exported_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let dump = Dump::CHAIN50;
    store_of(dump, Level::Bodies, &path("bodies"));
    store_of(dump, Level::Execution, &path("executed"));
    let error = convert(&path("bodies"), &path("out")).unwrap_err();
    assert!(matches!(error, Error::NotExecuted(Some(Level::Bodies))), "{error}");
    assert_eq!(error.status(), Status::Usage);
    let words = "expected a store of level execution, found bodies";
    assert!(error.to_string().starts_with(words), "{error}");
    let error = convert(&path("nothing"), &path("out")).unwrap_err();
    assert!(matches!(error, Error::Store(_)), "{error}");
    assert!(!path("out").exists());

    std::fs::create_dir(path("taken")).unwrap();
    std::fs::write(path("taken/file"), "").unwrap();
    let error = convert(&path("executed"), &path("taken")).unwrap_err();
    assert!(matches!(error, Error::Archive(_)), "{error}");

    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(to_neo_go(&path("executed"), &path("out"), &cancel).unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}
