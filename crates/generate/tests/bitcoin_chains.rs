//! Generated regtest chains: equal seeds give equal bytes, and every rule of this project holds, as
//! checked by the crate `bitcoin`, libbitcoinconsensus and Bitcoin Core.

use blockmill_generate::bitcoin::{MOST_UNUSUAL, Order, Recipe, Summary, generate};
use rust_bitcoin::consensus::encode::{deserialize, serialize};
use rust_bitcoin::{Block, BlockHash, OutPoint, ScriptBuf, Transaction, TxOut};
use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A chain with coins of every kind, small enough to check every input.
const SMALL: Recipe = Recipe {
    inputs: 2_000,
    blocks: 0,
    block_inputs: 200,
    coins: None,
    padding: 0,
    unlinked: false,
    unusual: 0,
    stale: 0,
    duplicates: 0,
    seed: 1,
    order: Order::Height,
    xor: false,
    file_size: 128 << 20,
};

fn make(recipe: &Recipe, folder: &Path, threads: usize) -> Summary {
    generate(recipe, folder, NonZero::new(threads).unwrap(), |_| {}).unwrap()
}

/// The block files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_block_file =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("blk");
    let mut files: Vec<_> = entries.filter(is_block_file).collect();
    files.sort();
    files
}

/// The blocks of a folder, in file order.
fn blocks(folder: &Path) -> Vec<Block> {
    let key = std::fs::read(folder.join("xor.dat")).unwrap_or(vec![0; 8]);
    let mut blocks = vec![];
    for path in files(folder) {
        let mut bytes = std::fs::read(path).unwrap();
        bytes.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            assert_eq!(rest[..4], [0xfa, 0xbf, 0xb5, 0xda]);
            let len = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
            blocks.push(deserialize(&rest[8..8 + len]).unwrap());
            rest = &rest[8 + len..];
        }
    }
    blocks
}

fn hashes(folder: &Path) -> Vec<BlockHash> {
    blocks(folder).iter().map(Block::block_hash).collect()
}

/// A coin, the height of its block, and whether a coinbase made it.
type Coin = (TxOut, u64, bool);

/// Checks each spend of a transaction against the coins. Returns the fee.
fn spend(
    transaction: &Transaction,
    height: u64,
    coins: &mut HashMap<OutPoint, Coin>,
    kinds: &mut BTreeSet<&'static str>,
) -> u64 {
    let take = |outpoint| coins.remove(outpoint).unwrap();
    let spent: Vec<Coin> =
        transaction.input.iter().map(|input| &input.previous_output).map(take).collect();
    let outputs: Vec<_> = spent
        .iter()
        .map(|(output, ..)| bitcoinconsensus::Utxo {
            script_pubkey: output.script_pubkey.as_bytes().as_ptr(),
            script_pubkey_len: output.script_pubkey.len() as u32,
            value: output.value.to_sat() as i64,
        })
        .collect();
    let bytes = serialize(transaction);
    for (at, (output, made, coinbase)) in spent.iter().enumerate() {
        assert!(!coinbase || made + 100 <= height);
        let script = output.script_pubkey.as_bytes();
        bitcoinconsensus::verify(script, output.value.to_sat(), &bytes, Some(&outputs), at)
            .unwrap();
        let input = &transaction.input[at];
        kinds.insert(kind(&output.script_pubkey, input.witness.len(), input.script_sig.len()));
    }
    let income: u64 = spent.iter().map(|(output, ..)| output.value.to_sat()).sum();
    income - transaction.output.iter().map(|output| output.value.to_sat()).sum::<u64>()
}

fn kind(script: &ScriptBuf, witness: usize, script_sig: usize) -> &'static str {
    match (script, witness, script_sig) {
        (script, ..) if script.is_p2pk() && script.len() == 35 => "P2PK",
        (script, ..) if script.is_p2pk() => "P2PK, uncompressed",
        (script, ..) if script.is_p2pkh() => "P2PKH",
        (script, 0, _) if script.is_p2sh() => "P2SH multisig",
        (script, 2, 23) if script.is_p2sh() => "P2SH P2WPKH",
        (script, 2, 0) if script.is_p2wpkh() => "P2WPKH",
        (script, 4, 0) if script.is_p2wsh() => "P2WSH multisig",
        (script, 1, 0) if script.is_p2tr() => "P2TR key",
        (script, 3, 0) if script.is_p2tr() => "P2TR script",
        _ => panic!("{script} with {witness} items and a script of {script_sig} bytes"),
    }
}

#[test]
fn every_rule_is_obeyed_and_every_kind_is_spent() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&SMALL, dir.path(), 2);
    let mut coins: HashMap<OutPoint, Coin> = HashMap::new();
    let mut kinds = BTreeSet::new();
    let (mut inputs, mut in_same_block, mut most) = (0, 0, 0);
    let chain = blocks(dir.path());
    assert_eq!(
        chain[0].block_hash(),
        rust_bitcoin::constants::genesis_block(rust_bitcoin::Network::Regtest).block_hash()
    );
    for (height, pair) in (1..).zip(chain.windows(2)) {
        let [parent, block] = pair else { unreachable!() };
        assert_eq!(block.header.prev_blockhash, parent.block_hash());
        assert!(block.header.time > parent.header.time);
        assert_eq!(block.header.version.to_consensus(), 0x2000_0000);
        block.header.validate_pow(block.header.target()).unwrap();
        assert_eq!(block.header.bits.to_consensus(), 0x207f_ffff);
        assert!(block.check_merkle_root() && block.check_witness_commitment());
        assert!(block.weight().to_wu() <= 4_000_000);
        // numbers up to 16 are operations, which this check does not know
        match height {
            ..=16 => {
                assert_eq!(block.txdata[0].input[0].script_sig.as_bytes()[0], 0x50 + height as u8)
            }
            _ => assert_eq!(block.bip34_block_height().unwrap(), height),
        }
        let mut fees = 0;
        for transaction in &block.txdata {
            if !transaction.is_coinbase() {
                let of_block = |outpoint: &OutPoint| coins[outpoint].1 == height;
                let of_block =
                    transaction.input.iter().map(|input| of_block(&input.previous_output));
                in_same_block += of_block.filter(|is| *is).count();
                inputs += transaction.input.len() as u64;
                fees += spend(transaction, height, &mut coins, &mut kinds);
            }
            let id = transaction.compute_txid();
            for (vout, output) in (0..).zip(&transaction.output) {
                let coin = (output.clone(), height, transaction.is_coinbase());
                assert!(coins.insert(OutPoint { txid: id, vout }, coin).is_none());
            }
        }
        most = most.max(coins.len() as u64);
        let subsidy = 5_000_000_000_u64 >> (height / 150);
        assert_eq!(block.txdata[0].output[0].value.to_sat(), subsidy + fees);
    }
    assert_eq!(inputs, SMALL.inputs);
    assert_eq!(made.inputs, inputs);
    // those of coinbases cannot be spent yet
    assert!(made.coins <= most && made.coins > most / 2, "{} of {most} coins", made.coins);
    assert_eq!(kinds.len(), 9, "{kinds:?}");
    assert!((20..200).contains(&in_same_block), "{in_same_block} coins of the same block");
}

#[test]
fn as_many_coins_are_made_as_asked_for_with_few_inputs_too() {
    let dir = tempfile::tempdir().unwrap();
    for (inputs, coins, is_enough) in [(500, 40_000, true), (500, 600_000, false)] {
        let recipe = Recipe { inputs, block_inputs: 7_000, coins: Some(coins), ..SMALL };
        let made = make(&recipe, &dir.path().join(coins.to_string()), 2);
        assert_eq!(made.inputs, inputs);
        assert_eq!(!made.falls_short_of(coins), is_enough, "{} coins", made.coins);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = |name: &str, seed, threads| {
        let folder = dir.path().join(name);
        make(&Recipe { inputs: 500, seed, xor: true, ..SMALL }, &folder, threads);
        (std::fs::read(folder.join("blk00000.dat")).unwrap(), std::fs::read(folder.join("xor.dat")))
    };
    let (one, key) = bytes("a", 1, 1);
    let (same, same_key) = bytes("b", 1, 3);
    let (other, other_key) = bytes("c", 2, 1);
    assert!(one == same && one != other);
    assert!(key.as_ref().unwrap() == &same_key.unwrap() && key.unwrap() != other_key.unwrap());
}

#[test]
fn order_obfuscation_and_file_size_change_where_blocks_stand_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let by_height = dir.path().join("height");
    let recipe = Recipe { inputs: 500, ..SMALL };
    make(&recipe, &by_height, 2);
    let expected = hashes(&by_height);
    for (order, xor) in [
        (Order::Reversed, false),
        (Order::Download, false),
        (Order::Shuffled, false),
        (Order::Shuffled, true),
    ] {
        let folder = dir.path().join(format!("{order:?}-{xor}"));
        make(&Recipe { order, xor, file_size: 100_000, ..recipe.clone() }, &folder, 2);
        assert!(files(&folder).len() > 1);
        let longest = files(&folder).iter().map(|path| path.metadata().unwrap().len()).max();
        assert!(longest.unwrap() <= 100_000);
        let mut found = hashes(&folder);
        match order {
            Order::Reversed => found.reverse(),
            _ => {
                assert_ne!(found, expected);
                found.sort_by_key(|hash| expected.iter().position(|other| other == hash));
            }
        }
        assert_eq!(found, expected);
    }
    assert!(generate(&recipe, &by_height, NonZero::<usize>::MIN, |_| {}).is_err());
}

#[test]
fn branches_lose_and_duplicates_are_the_same_blocks_again() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = Recipe { inputs: 500, stale: 9, duplicates: 7, ..SMALL };
    let made = make(&recipe, dir.path(), 2);
    let all = blocks(dir.path());
    assert_eq!(all.len() as u64, made.records);
    let unique: BTreeSet<BlockHash> = all.iter().map(Block::block_hash).collect();
    assert_eq!(all.len() - unique.len(), 7);
    let stale = unique.len() - 1 - made.height as usize;
    assert!((9..=18).contains(&stale), "{stale} stale blocks");
    let mut heights = HashMap::from([(all[0].block_hash(), 0)]);
    for block in &all[1..] {
        let height = heights[&block.header.prev_blockhash] + 1;
        heights.insert(block.block_hash(), height);
    }
    let best: Vec<_> = heights.iter().filter(|(_, height)| **height >= made.height).collect();
    assert_eq!(best.len(), 1);
    assert_eq!(serialize(best[0].0), made.tip);
}

#[test]
fn padded_blocks_have_headers_that_are_right_linked_or_not() {
    let dir = tempfile::tempdir().unwrap();
    for unlinked in [false, true] {
        let folder = dir.path().join(unlinked.to_string());
        let recipe = Recipe { inputs: 0, blocks: 5, padding: 900_000, unlinked, ..SMALL };
        assert!(make(&recipe, &folder, 1).bytes > 5 * 900_000);
        let made = blocks(&folder);
        assert_eq!(made.len(), 6);
        for pair in made.windows(2) {
            assert!(pair[1].check_merkle_root() && pair[1].weight().to_wu() <= 4_000_000);
            assert_eq!(pair[1].header.prev_blockhash == pair[0].block_hash(), !unlinked);
        }
    }
    let recipe = Recipe { unlinked: true, ..SMALL };
    assert!(generate(&recipe, dir.path(), NonZero::<usize>::MIN, |_| {}).is_err());
}

#[test]
fn a_last_block_of_unusual_inputs_is_as_full_as_it_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let chain = |unusual: u64| {
        let folder = dir.path().join(unusual.to_string());
        let recipe = Recipe { inputs: 0, unusual, ..SMALL };
        assert_eq!(make(&recipe, &folder, 2).inputs, 1 + unusual);
        blocks(&folder)
    };
    let few = chain(20);
    let [.., split, join] = &few[..] else { unreachable!() };
    assert_eq!((few.len(), split.txdata.len(), join.txdata.len()), (103, 2, 2));
    let outputs: Vec<_> = split.txdata[1]
        .output
        .iter()
        .map(|output| bitcoinconsensus::Utxo {
            script_pubkey: output.script_pubkey.as_bytes().as_ptr(),
            script_pubkey_len: output.script_pubkey.len() as u32,
            value: output.value.to_sat() as i64,
        })
        .collect();
    let bytes = serialize(&join.txdata[1]);
    for (at, input) in join.txdata[1].input.iter().enumerate() {
        let spent = &split.txdata[1].output[input.previous_output.vout as usize];
        let (script, value) = (spent.script_pubkey.as_bytes(), spent.value.to_sat());
        bitcoinconsensus::verify(script, value, &bytes, Some(&outputs), at).unwrap();
    }
    let most = chain(MOST_UNUSUAL);
    let weight = most[102].weight().to_wu();
    assert!((3_900_000..=4_000_000).contains(&weight) && most[101].weight().to_wu() <= 4_000_000);
    assert!(most[102].check_merkle_root() && most[102].check_witness_commitment());
}

/// Bitcoin Core's own reindex, if the environment names the program of
/// `benchmarks/peers/bitcoin-core`.
#[blockmill_testkit::needs(core_peer)]
#[test]
fn bitcoin_core_accepts_the_chain() {
    let program = blockmill_testkit::path_of("core_peer");
    let dir = tempfile::tempdir().unwrap();
    let usual = Recipe { inputs: 20_000, stale: 5, duplicates: 5, ..SMALL };
    for recipe in [
        usual.clone(),
        Recipe { order: Order::Shuffled, xor: true, ..usual },
        Recipe { inputs: 0, unusual: MOST_UNUSUAL, order: Order::Reversed, ..SMALL },
    ] {
        let folder = dir.path().join(format!("{:?}", recipe.order));
        let made = make(&recipe, &folder, 2);
        let mut core = Command::new(&program);
        core.args(["reindex", "--chain", "regtest", "--dir"]).arg(dir.path().join("core"));
        let output = core.arg(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let tip: String = made.tip.iter().rev().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            (said["tip"]["number"].as_u64(), said["tip"]["hash"].as_str()),
            (Some(made.height.into()), Some(&*tip))
        );
    }
}
