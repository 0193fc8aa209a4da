//! Parts of a stored state: proofs that a library accepts, and witnesses of stored blocks.

use super::imports::{INTO_AMSTERDAM, Place, options, published, run};
use alloy_primitives::{B256, Bytes};
use alloy_trie::{Nibbles, proof::verify_proof};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::state::{AccountProof, NodeBytes, NodeSet, StateError, StateKind};
use blockmill_ethereum::witness::{Witness, WitnessError};
use blockmill_ethereum::{Address, U256};
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_testkit::Random;
use serde_json::Value;
use std::path::Path;

/// A store of a published chain, which is only read.
fn stored(name: &str, dir: &Path) -> (ChainSpec, ExecutedStore) {
    stored_in(Place::all()[0], name, dir)
}

fn stored_in(place: Place, name: &str, dir: &Path) -> (ChainSpec, ExecutedStore) {
    let (spec, path) = published(name);
    let limits = place.limits(Limits::default());
    let store = ExecutedStore::open(dir, &blockmill_store::Options::default(), limits).unwrap();
    let mut sink = Sink::Executed(Box::new(store.0));
    let (_, error) = run(path, &options(spec.clone(), place.with(&[])), &mut sink);
    assert_eq!(error, None);
    drop(sink);
    (spec, ExecutedStore::open_read_only(dir).unwrap())
}

fn nodes_after(store: &ExecutedStore, number: u64) -> (NodeSet, [u8; 32]) {
    let (nodes, root) = store.nodes_after(number, &Cancel::default()).unwrap().unwrap();
    let header = store.blocks().header(number).unwrap().unwrap();
    assert_eq!(root, *HeaderView::decode(&header).unwrap().state_root);
    (nodes, root)
}

/// The library's verdict.
fn accepts(root: &[u8; 32], key: &[u8], value: Option<Vec<u8>>, nodes: &[NodeBytes]) -> bool {
    let nodes: Vec<Bytes> = nodes.iter().map(|node| Bytes::copy_from_slice(node)).collect();
    let key = Nibbles::unpack(blockmill_hashes::keccak256(key));
    verify_proof(B256::from(root), key, value, &nodes).is_ok()
}

/// Proves an account and slots, to the library too; how many of them exist.
fn prove(nodes: &NodeSet, root: &[u8; 32], address: &Address, slots: &[U256]) -> usize {
    let proof = AccountProof::new(nodes, root, address, slots).unwrap();
    let leaf = Leaf {
        nonce: proof.account.nonce,
        balance: proof.account.balance,
        storage_root: &proof.storage_root,
        code_hash: &proof.account.code_hash,
    };
    let exists = nodes.account(root, address).unwrap().is_some();
    let value = exists.then(|| leaf.encode());
    assert!(accepts(root, address, value, &proof.nodes), "{address:02x?}");
    // and not anything else
    let other = Leaf { nonce: proof.account.nonce + 1, ..leaf };
    assert!(!accepts(root, address, Some(other.encode()), &proof.nodes));
    let mut found = usize::from(exists);
    for slot in &proof.slots {
        let key = slot.slot.to_be_bytes::<32>();
        let value = (!slot.value.is_zero()).then(|| slot.value.encode());
        found += usize::from(value.is_some());
        assert!(accepts(&proof.storage_root, &key, value, &slot.nodes), "slot {}", slot.slot);
        let other = slot.value.wrapping_add(U256::from(1)).encode();
        assert!(!accepts(&proof.storage_root, &key, Some(other), &slot.nodes));
    }
    found
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_library_accepts_the_proofs_of_every_account_and_slot() {
    let in_own_folder = |place| {
        let folder = tempfile::tempdir().unwrap();
        let store = stored_in(place, "execution-apis", folder.path()).1;
        (folder, store)
    };
    let (_folders, stores): (Vec<_>, Vec<_>) = Place::all().into_iter().map(in_own_folder).unzip();
    assert_eq!(stores[0].kind(), StateKind::Memory);
    let mut random = Random::new(16);
    let mut found = 0;
    let all = [0, 1, 20, 53, 54].into_iter();
    for (number, at) in all.flat_map(|number| (0..stores.len()).map(move |at| (number, at))) {
        let (nodes, root) = nodes_after(&stores[at], number);
        let store = &stores[0];
        let state = store.state_after(number, &Cancel::default()).unwrap().unwrap();
        for (id, address, _) in state.accounts() {
            let mut slots: Vec<U256> = state.slots(id).map(|(slot, _)| *slot).collect();
            slots.extend([U256::ZERO, U256::MAX]);
            found += prove(&nodes, &root, address, &slots);
        }
        for _ in 0..20 {
            let absent: Address = std::array::from_fn(|_| random.next_u64() as u8);
            assert_eq!(prove(&nodes, &root, &absent, &[U256::ZERO]), 0);
        }
    }
    assert!(found > 300, "{found}");
    let error = stores[1].state_after(54, &Cancel::default()).unwrap_err().to_string();
    assert!(error.contains("state=memory"), "{error}");
}

fn witness_of(spec: &ChainSpec, store: &ExecutedStore, number: u64) -> Value {
    let (nodes, _) = nodes_after(store, number - 1);
    let header_of =
        |number| -> Result<_, WitnessError> { Ok(store.blocks().header(number).unwrap().unwrap()) };
    let (header, body) = (header_of(number).unwrap(), store.blocks().body(number));
    let body = body.unwrap().unwrap();
    let witness = Witness::record(spec, &header, &body, &nodes, header_of).unwrap();
    let done = witness.execute(spec).unwrap();
    assert_eq!((done.number, Some(done.hash)), (number, store.blocks().hash_of(number).unwrap()));
    witness.to_json(&done)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_witness_of_every_stored_block_executes_and_has_nothing_to_spare() {
    let mut refused = 0;
    for (name, step) in [("execution-apis", 1), ("geth-ethtest", 37), (INTO_AMSTERDAM, 17)] {
        let folder = tempfile::tempdir().unwrap();
        let (spec, store) = stored(name, folder.path());
        let in_own_folder = |place| {
            let folder = tempfile::tempdir().unwrap();
            let store = stored_in(place, name, folder.path()).1;
            (folder, store)
        };
        let others: Vec<_> = Place::on_disk().into_iter().map(in_own_folder).collect();
        let last = store.facts().unwrap().block;
        for number in (1..=last).step_by(step) {
            let file = witness_of(&spec, &store, number);
            for (_, other) in &others {
                assert_eq!(witness_of(&spec, other, number), file, "{name} {number}");
            }
            let read = |file: &Value| Witness::read(&file.to_string()).unwrap();
            let done = read(&file).execute(&spec).unwrap();
            assert_eq!(Some(done.number), file["number"].as_u64());
            for list in ["state", "codes", "headers"] {
                for at in 0..file["witness"][list].as_array().unwrap().len() {
                    let mut less = file.clone();
                    less["witness"][list].as_array_mut().unwrap().remove(at);
                    let error = read(&less).execute(&spec).unwrap_err();
                    let is_state = |error: &WitnessError| {
                        matches!(
                            error,
                            WitnessError::Execution(_)
                                | WitnessError::MissingParent { .. }
                                | WitnessError::Forgiven(_)
                        )
                    };
                    assert!(is_state(&error), "{name} {number}, {list} {at}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_state_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, store) = stored("execution-apis", folder.path());
    let error = store.nodes_after(55, &Cancel::default()).unwrap_err().to_string();
    assert!(error.contains("expected one of the blocks 0 to 54, found 55"), "{error}");
    let (nodes, root) = nodes_after(&store, 54);
    let lost = [7; 32];
    match AccountProof::new(&nodes, &lost, &[1; 20], &[]) {
        Err(StateError::MissingNode { hash, depth: 0 }) => assert_eq!(hash, lost),
        other => panic!("{other:?}"),
    }
    assert_ne!(root, lost);
    let cancelled = Cancel::default();
    cancelled.cancel();
    assert!(store.nodes_after(54, &cancelled).unwrap().is_none());
}
