//! The level `bodies` on real blocks, on attacks known from history, and each rule by itself.

use crate::naive::{Plain, Tx, TxIn, TxOut};
use crate::real_blocks;
use blockmill_bitcoin::body::Bodies;
use blockmill_bitcoin::body::merkle::Merkle;
use blockmill_bitcoin::params::Rules;
use blockmill_bitcoin::types::{Amount, Block};
use blockmill_bitcoin::{Hash, Rule, Violation};
use blockmill_hashes::{ManySha256, sha256d};
use blockmill_testkit::Random;

/// Everything in force, or nothing.
fn rules(height: u32, all: bool) -> Rules {
    Rules {
        height,
        subsidy: Amount::from_sat(0),
        p2sh: all,
        bip30: all,
        bip34: all,
        bip65: all,
        bip66: all,
        csv: all,
        segwit: all,
        witness: all,
        taproot: all,
    }
}

/// The height in a coinbase that begins with a push of 1 to 4 bytes.
fn stated_height(block: &Block) -> u32 {
    let script = block.inputs[0].script.slice(&block.raw);
    match script[0] {
        small @ 0x51..=0x60 => u32::from(small - 0x50),
        length => script[1..=usize::from(length)]
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
    }
}

fn check(block: &Block, rules: &Rules, median_time_past: u32) -> Result<u32, Violation> {
    let mut bodies = Bodies::new(ManySha256::detect());
    bodies.check(block, rules, median_time_past).map(|checked| checked.legacy_sigop_cost)
}

/// The merkle root by its definition.
fn plain_root(mut nodes: Vec<Hash>) -> Hash {
    while nodes.len() > 1 {
        if nodes.len() % 2 == 1 {
            nodes.push(nodes[nodes.len() - 1]);
        }
        nodes = nodes.chunks(2).map(|pair| sha256d(pair.as_flattened())).collect();
    }
    nodes.first().copied().unwrap_or_default()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_blocks_keep_all_rules() {
    let (mut commitments, mut count) = (0, 0);
    for source in real_blocks::all() {
        for (i, raw) in source.blocks.iter().enumerate() {
            let block = real_blocks::decoded(raw);
            // 227,836 is the first of version 2 that states its height
            let states_height = block.raw[0] != 1 || block.raw[1] != 0 || source.name == "regtest";
            let (height, all) = if states_height {
                (stated_height(&block), true)
            } else {
                (if i < 10_000 && source.blocks.len() > 1 { i as u32 } else { 227_835 }, false)
            };
            // the time past is not in the fixture; all these transactions were final by it
            let median_time_past = block.time() - 1;
            let result = check(&block, &rules(height, all), median_time_past);
            assert!(result.is_ok(), "{}, block {i}: {}", source.name, result.unwrap_err());
            assert_eq!(block.stated_merkle_root(), plain_root(block.txids.clone()));
            commitments += usize::from(block.transactions[0].has_witness);
            count += 1;
        }
    }
    println!("{count} blocks, {commitments} with a commitment");
}

#[test]
fn merkle_roots_of_all_small_lists() {
    let leaves: Vec<Hash> = (0..70u8).map(|i| sha256d(&[i])).collect();
    for hasher in ManySha256::all_available() {
        let mut merkle = Merkle::new(hasher);
        for count in 0..=leaves.len() {
            let root = merkle.root(&leaves[..count]);
            assert_eq!(root.hash, plain_root(leaves[..count].to_vec()), "{count}");
            assert!(!root.repeated, "{count}");
        }
        // every list of an odd level has a twin: the nodes that the tree repeats, written out
        for (count, twin) in [(3, 4), (6, 8), (5, 6), (7, 8), (12, 16), (10, 12), (33, 34)] {
            let again = count - (twin - count);
            let list = [&leaves[..count], &leaves[again..count]].concat();
            let root = merkle.root(&list);
            assert_eq!(root.hash, plain_root(leaves[..count].to_vec()), "{count}");
            assert!(root.repeated, "{count}");
        }
    }
}

/// A block of these transactions, with the roots that belong to it.
fn build(mut transactions: Vec<Tx>, commit: bool) -> Block {
    if commit {
        let wtxid = |(i, tx): (usize, &Tx)| match i {
            0 => Hash::default(),
            _ => sha256d(&tx.encode(true)),
        };
        let root = plain_root(transactions.iter().enumerate().map(wtxid).collect());
        let stated = sha256d([root, [9; 32]].as_flattened());
        let script = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &stated].concat();
        transactions[0].inputs[0].witness = vec![vec![9; 32]];
        transactions[0].outputs.push(TxOut { value: 0, script });
    }
    let root = plain_root(transactions.iter().map(|tx| sha256d(&tx.encode(false))).collect());
    let mut header = vec![0; 80];
    header[36..68].copy_from_slice(&root);
    header[68..72].copy_from_slice(&1_000_000_000u32.to_le_bytes());
    real_blocks::decoded(&Plain { header, transactions }.encode(true))
}

const HEIGHT: u32 = 300;
const TIME_PAST: u32 = 999_999_000;

fn coinbase() -> Tx {
    let mut outpoint = vec![0; 32];
    outpoint.extend([0xff; 4]);
    let script = vec![2, 0x2c, 0x01, 0];
    Tx {
        version: 1,
        inputs: vec![TxIn { outpoint, script, sequence: !0, witness: Vec::new() }],
        outputs: vec![TxOut { value: 50, script: vec![0x51] }],
        lock_time: 0,
    }
}

/// A spend of made-up outputs; `id` makes it another one.
fn spend(id: u8, inputs: u32) -> Tx {
    let input = |i: u32| TxIn {
        outpoint: [&[id; 32][..], &i.to_le_bytes()].concat(),
        script: vec![0x51],
        sequence: 0,
        witness: Vec::new(),
    };
    Tx {
        version: 2,
        inputs: (0..inputs).map(input).collect(),
        outputs: vec![TxOut { value: 7, script: vec![0x51] }],
        lock_time: 0,
    }
}

/// The rule that a block of a coinbase and a spend breaks after `change`, under all rules.
fn broken(change: impl FnOnce(&mut Vec<Tx>)) -> Option<(Rule, Option<u32>)> {
    let mut transactions = vec![coinbase(), spend(1, 2)];
    change(&mut transactions);
    let result = check(&build(transactions, false), &rules(HEIGHT, true), TIME_PAST);
    result.err().map(|violation| (violation.rule, violation.transaction))
}

#[test]
fn names_the_rule_and_the_transaction() {
    assert_eq!(broken(|_| ()), None);
    let at = |rule, transaction: u32| Some((rule, Some(transaction)));
    assert_eq!(broken(|list| drop(list.remove(0))), at(Rule::CoinbaseMissing, 0));
    assert_eq!(broken(|list| list.push(coinbase())), at(Rule::CoinbaseMultiple, 2));
    assert_eq!(broken(|list| list.clear()), Some((Rule::BlockLength, None)));
    assert_eq!(
        broken(|list| {
            list[1].inputs.clear();
            list[1].outputs.clear();
        }),
        at(Rule::NoInputs, 1)
    );
    assert_eq!(broken(|list| list[1].outputs.clear()), at(Rule::NoOutputs, 1));
    assert_eq!(broken(|list| list[1].outputs[0].value = -1), at(Rule::ValueNegative, 1));
    let most = 2_100_000_000_000_000;
    assert_eq!(broken(|list| list[1].outputs[0].value = most), None);
    assert_eq!(broken(|list| list[1].outputs[0].value = most + 1), at(Rule::ValueTooLarge, 1));
    let more = TxOut { value: most, script: Vec::new() };
    assert_eq!(broken(|list| list[1].outputs.push(more)), at(Rule::ValuesTooLarge, 1));
    assert_eq!(broken(|list| list[0].inputs[0].script.truncate(1)), at(Rule::CoinbaseScript, 0));
    let pad = |list: &mut Vec<Tx>, length| list[0].inputs[0].script.resize(length, 0);
    assert_eq!(broken(|list| pad(list, 100)), None);
    assert_eq!(broken(|list| pad(list, 101)), at(Rule::CoinbaseScript, 0));
    let null = coinbase().inputs[0].outpoint.clone();
    assert_eq!(broken(|list| list[1].inputs[1].outpoint = null), at(Rule::NullOutpoint, 1));
    assert_eq!(broken(|list| list[0].inputs[0].script[1] = 0x2d), at(Rule::CoinbaseHeight, 0));
    assert_eq!(broken(|list| list[0].inputs[0].script.truncate(2)), at(Rule::CoinbaseHeight, 0));
    let witness = vec![vec![1, 2, 3]];
    assert_eq!(broken(|list| list[1].inputs[0].witness = witness), at(Rule::UnexpectedWitness, 1));
    let long = |list: &mut Vec<Tx>| list[1].outputs[0].script = vec![0; 1_000_000];
    assert_eq!(broken(long), Some((Rule::BlockLength, None)));
}

#[test]
fn lock_times_go_by_the_time_past_once_bip113_holds() {
    let at = |lock_time| broken(|list| list[1].lock_time = lock_time).map(|(rule, _)| rule);
    assert_eq!(at(HEIGHT - 1), None);
    assert_eq!(at(HEIGHT), Some(Rule::LockTime));
    assert_eq!(at(499_999_999), Some(Rule::LockTime));
    assert_eq!(at(500_000_000), None);
    assert_eq!(at(TIME_PAST - 1), None);
    assert_eq!(at(TIME_PAST), Some(Rule::LockTime));
    let mut transactions = vec![coinbase(), spend(1, 2)];
    transactions[1].lock_time = TIME_PAST;
    let block = build(transactions.clone(), false);
    assert!(check(&block, &rules(HEIGHT, false), TIME_PAST).is_ok());
    transactions[1].inputs.iter_mut().for_each(|input| input.sequence = !0);
    assert!(check(&build(transactions, false), &rules(HEIGHT, true), TIME_PAST).is_ok());
}

#[test]
fn refuses_repeated_inputs_in_any_position() {
    let repeated = Some((Rule::RepeatedInputs, Some(1)));
    for count in [2, 3, 10, 1_000] {
        assert_eq!(broken(|list| list[1] = spend(1, count)), None, "{count}");
        for (from, to) in [(0, 1), (0, count - 1), (count / 2, count - 1)] {
            if from != to {
                let copy = |list: &mut Vec<Tx>| {
                    list[1] = spend(1, count);
                    let outpoint = list[1].inputs[from as usize].outpoint.clone();
                    list[1].inputs[to as usize].outpoint = outpoint;
                };
                assert_eq!(broken(copy), repeated, "{count}: {from} as {to}");
            }
        }
    }
    // ids that begin alike are no repeats
    assert_eq!(
        broken(|list| list[1].inputs[0].outpoint = [&[1; 31][..], &[2, 1, 0, 0, 0]].concat()),
        None
    );
}

#[test]
fn refuses_transactions_repeated_under_the_same_root() {
    let transactions = vec![coinbase(), spend(1, 1), spend(2, 1)];
    let root = build(transactions.clone(), false).stated_merkle_root();
    let attack = build([&transactions[..], &transactions[2..]].concat(), false);
    assert_eq!(attack.stated_merkle_root(), root);
    let violation = check(&attack, &rules(HEIGHT, true), TIME_PAST).unwrap_err();
    assert_eq!(violation.rule, Rule::RepeatedTransactions);

    let mut wrong = build(transactions, false);
    wrong.raw[36] ^= 1;
    let violation = check(&wrong, &rules(HEIGHT, true), TIME_PAST).unwrap_err();
    assert_eq!(violation.rule, Rule::MerkleRoot);
    assert!(violation.to_string().starts_with("bad-txnmrklroot"), "{violation}");
}

#[test]
fn the_last_commitment_counts_and_needs_its_nonce() {
    let rule = |transactions, all| {
        let result = check(&transactions, &rules(HEIGHT, all), TIME_PAST);
        result.err().map(|violation| violation.rule)
    };
    let transactions = || {
        let mut second = spend(1, 2);
        second.inputs[1].witness = vec![vec![5; 70], Vec::new()];
        vec![coinbase(), second, spend(2, 1)]
    };
    let good = build(transactions(), true);
    assert_eq!(rule(good.clone(), true), None);
    assert_eq!(rule(good.clone(), false), Some(Rule::UnexpectedWitness));

    // a witness that the commitment does not know: neither ids nor merkle root change
    let at = good.inputs[2].witness.end as usize - 2;
    let mut raw = good.raw.clone();
    raw[at] ^= 1;
    assert_eq!(rule(real_blocks::decoded(&raw), true), Some(Rule::WitnessCommitment));

    let plain = Plain::decode(&good.raw).unwrap();
    for nonce in [vec![], vec![vec![9; 31]], vec![vec![9; 33]], vec![vec![9; 32], Vec::new()]] {
        let mut plain = plain.clone();
        plain.transactions[0].inputs[0].witness = nonce;
        let raw = plain.encode(true);
        assert_eq!(rule(real_blocks::decoded(&raw), true), Some(Rule::WitnessNonce));
    }

    // one byte short is no commitment, a later one replaces an earlier one
    let mut short = coinbase();
    let marker = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
    short.outputs.push(TxOut { value: 0, script: [&marker[..], &[1; 31]].concat() });
    assert_eq!(rule(build(vec![short.clone()], false), true), None);
    short.outputs[1].script.push(1);
    assert_eq!(rule(build(vec![short.clone()], false), true), Some(Rule::WitnessNonce));
    assert_eq!(rule(build(vec![short], true), true), None);
}

#[test]
fn weight_and_signature_checks_have_limits() {
    let heavy = |bytes: usize| {
        let mut second = spend(1, 1);
        second.inputs[0].witness = vec![vec![0; bytes]];
        second.outputs[0].script = vec![0x51; 10_000];
        build(vec![coinbase(), second], true)
    };
    let fill = 4_000_000 - heavy(3_900_000).weight() + 3_900_000;
    assert_eq!(heavy(fill).weight(), 4_000_000);
    assert!(check(&heavy(fill), &rules(HEIGHT, true), TIME_PAST).is_ok());
    let violation = check(&heavy(fill + 1), &rules(HEIGHT, true), TIME_PAST).unwrap_err();
    assert_eq!(violation.rule, Rule::Weight, "{violation}");

    // 1,000 checks of 20 keys each, and one more
    let checks = |count| broken(|list| list[1].outputs[0].script = vec![0xae; count]);
    assert_eq!(checks(1_000), None);
    assert_eq!(checks(1_001), Some((Rule::SigopCost, None)));
}

#[test]
fn heights_are_pushed_in_the_shortest_form() {
    let form = |height: u32, script: &[u8]| {
        let mut first = coinbase();
        first.inputs[0].script = [script, &[0x51; 2]].concat();
        let result = check(&build(vec![first], false), &rules(height, true), TIME_PAST);
        assert!(result.is_ok(), "{height}: {}", result.unwrap_err());
    };
    form(0, &[0]);
    form(1, &[0x51]);
    form(16, &[0x60]);
    form(17, &[1, 17]);
    form(127, &[1, 127]);
    form(128, &[2, 128, 0]);
    form(0x7fff, &[2, 0xff, 0x7f]);
    form(0x8000, &[3, 0, 0x80, 0]);
    form(227_931, &[3, 0x5b, 0x7a, 3]);
    form(0x80_0000, &[4, 0, 0, 0x80, 0]);
    form(0x8000_0000, &[5, 0, 0, 0, 0x80, 0]);
}

#[test]
fn corrupt_blocks_break_a_rule_or_keep_all() {
    let mut numbers = Random::new(0x0dd_b0d1e5);
    let mut second = spend(1, 3);
    second.inputs[1].witness = vec![vec![5; 70], vec![0xac; 30]];
    second.lock_time = 100;
    let seed = build(vec![coinbase(), second, spend(2, 1)], true).raw;
    let mut bodies = Bodies::new(ManySha256::detect());
    let mut block = Block::default();
    let mut found = std::collections::BTreeMap::new();
    for _ in 0..30_000 {
        block.raw.clone_from(&seed);
        for _ in 0..=numbers.below(3) {
            let at = 80 + numbers.below(block.raw.len() - 80);
            block.raw[at] = match numbers.below(3) {
                0 => block.raw[at] ^ 1 << numbers.below(8),
                1 => block.raw[80 + numbers.below(seed.len() - 80)],
                _ => [0, 1, 0xff][numbers.below(3)],
            };
        }
        if block.decode().is_err() {
            continue;
        }
        // else each change would be found by the merkle root
        let root = plain_root(block.txids.clone());
        block.raw[36..68].copy_from_slice(&root);
        let result = bodies.check(&block, &rules(HEIGHT, true), TIME_PAST);
        let tag = result.map_or_else(|violation| violation.rule.tag(), |_| "none");
        *found.entry(tag).or_insert(0) += 1;
    }
    println!("{found:?}");
    for tag in ["none", "bad-cb-missing", "bad-txns-vout-negative", "bad-witness-merkle-match"] {
        assert!(found.contains_key(tag), "{tag}");
    }
}
