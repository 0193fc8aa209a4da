//! Signature checks against a plain count, and relative lock times.

use crate::real_blocks;
use blockmill_bitcoin::body::locks::SequenceLock;
use blockmill_bitcoin::body::sigops;
use blockmill_bitcoin::types::Witness;
use blockmill_testkit::Random;

/// Instructions, each with what it pushes.
type Instructions = Vec<(u8, Vec<u8>)>;

/// The instructions of a script by the book; `Err` holds those before a push that is cut short.
fn instructions(script: &[u8]) -> Result<Instructions, Instructions> {
    let mut list = Vec::new();
    let mut at = 0;
    while at < script.len() {
        let code = script[at];
        at += 1;
        let width = match code {
            0x4c => 1,
            0x4d => 2,
            0x4e => 4,
            _ => 0,
        };
        let mut length = if code < 0x4c { usize::from(code) } else { 0 };
        if at + width > script.len() {
            return Err(list);
        }
        for i in 0..width {
            length |= usize::from(script[at + i]) << (8 * i);
        }
        at += width;
        if at + length > script.len() {
            return Err(list);
        }
        list.push((code, script[at..at + length].to_vec()));
        at += length;
    }
    Ok(list)
}

fn plain_count(script: &[u8], accurate: bool) -> u32 {
    let list = instructions(script).unwrap_or_else(|before| before);
    let mut sum = 0;
    for (i, (code, _)) in list.iter().enumerate() {
        let before = if i == 0 { 0xff } else { list[i - 1].0 };
        sum += match code {
            0xac | 0xad => 1,
            0xae | 0xaf if accurate && (0x51..=0x60).contains(&before) => u32::from(before) - 0x50,
            0xae | 0xaf => 20,
            _ => 0,
        };
    }
    sum
}

/// A witness in the encoding of a block.
fn witness(items: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![items.len() as u8];
    for item in items {
        assert!(item.len() < 0xfd);
        bytes.push(item.len() as u8);
        bytes.extend_from_slice(item);
    }
    bytes
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn counts_real_scripts_as_the_plain_count_does() {
    let mut counted = 0;
    for source in real_blocks::all() {
        for raw in &source.blocks {
            let block = real_blocks::decoded(raw);
            for transaction in &block.transactions {
                let inputs = block.inputs_of(transaction).iter().map(|input| input.script);
                let outputs = block.outputs_of(transaction).iter().map(|output| output.script);
                let scripts = inputs.chain(outputs).map(|script| script.slice(raw));
                let plain: u32 = scripts
                    .map(|script| {
                        let accurate = plain_count(script, true);
                        assert_eq!(sigops::count(script, true), accurate, "{script:02x?}");
                        plain_count(script, false)
                    })
                    .sum();
                assert_eq!(sigops::legacy(&block, transaction), plain, "{}", source.name);
                counted += plain;
            }
        }
    }
    assert!(counted > 10_000, "{counted} operations");
}

#[test]
fn counts_random_scripts_as_the_plain_count_does() {
    const TELLING: [u8; 14] =
        [0, 1, 2, 20, 0x4b, 0x4c, 0x4d, 0x4e, 0x51, 0x60, 0x61, 0xac, 0xae, 0xaf];
    let mut numbers = Random::new(0x0005_1609_5eed);
    for _ in 0..100_000 {
        let script: Vec<u8> = (0..numbers.below(40))
            .map(|_| match numbers.below(4) {
                0 => numbers.below(256) as u8,
                _ => TELLING[numbers.below(TELLING.len())],
            })
            .collect();
        for accurate in [false, true] {
            let plain = plain_count(&script, accurate);
            assert_eq!(sigops::count(&script, accurate), plain, "{script:02x?}");
        }
        // a redeem script: the last push counts if all are pushes
        let to_script_hash = [&[0xa9, 0x14][..], &[0; 20], &[0x87]].concat();
        let expected = match instructions(&script) {
            Ok(list) if list.iter().all(|(code, _)| *code <= 0x60) => {
                list.last().map_or(0, |(_, data)| 4 * plain_count(data, true))
            }
            _ => 0,
        };
        let cost = sigops::spent_cost(&script, Witness::new(&[]), &to_script_hash, true, false);
        assert_eq!(cost, expected, "{script:02x?}");
    }
}

#[test]
fn costs_of_redeem_and_witness_scripts() {
    let to_script_hash = [&[0xa9, 0x14][..], &[0; 20], &[0x87]].concat();
    let to_witness_key = [&[0, 0x14][..], &[0; 20]].concat();
    let to_witness_script = [&[0, 0x20][..], &[0; 32]].concat();
    let to_taproot = [&[0x51, 0x20][..], &[0; 32]].concat();
    let two_of_three = [0x52, 0x53, 0xae];
    let stack = witness(&[&[], &[1], &two_of_three]);
    let cost = |input: &[u8], spent: &[u8], p2sh, segwit| {
        sigops::spent_cost(input, Witness::new(&stack), spent, p2sh, segwit)
    };
    assert_eq!(cost(&[], &to_witness_key, true, true), 1);
    assert_eq!(cost(&[], &to_witness_key, true, false), 0);
    assert_eq!(cost(&[], &to_witness_script, true, true), 3);
    assert_eq!(cost(&[], &to_taproot, true, true), 0);
    assert_eq!(sigops::spent_cost(&[], Witness::new(&[]), &to_witness_script, true, true), 0);
    // a redeem script
    let pushed = |script: &[u8]| [&[script.len() as u8], script].concat();
    assert_eq!(cost(&pushed(&two_of_three), &to_script_hash, true, true), 12);
    assert_eq!(cost(&pushed(&two_of_three), &to_script_hash, false, false), 0);
    assert_eq!(cost(&pushed(&to_witness_script), &to_script_hash, true, true), 3);
    assert_eq!(cost(&pushed(&to_witness_key), &to_script_hash, true, true), 1);
    assert_eq!(cost(&pushed(&to_witness_key), &to_script_hash, true, false), 0);
    assert_eq!(
        cost(&[&pushed(&two_of_three)[..], &[0x61]].concat(), &to_script_hash, true, true),
        0
    );
    // a number pushes nothing
    assert_eq!(
        cost(&[&pushed(&two_of_three)[..], &[0x51]].concat(), &to_script_hash, true, true),
        0
    );
    // a plain script was counted where it was made
    assert_eq!(cost(&[0x51], &[0xac], true, true), 0);
}

/// The cost of an input by the book, from what it pushes and what it spends.
fn plain_spent_cost(input: &[u8], items: &[&[u8]], spent: &[u8]) -> u32 {
    let witness_cost = |program: &[u8]| match (program.first(), program.len()) {
        (Some(0), 22) if program[1] == 20 => 1,
        (Some(0), 34) if program[1] == 32 => {
            items.last().map_or(0, |script| plain_count(script, true))
        }
        _ => 0,
    };
    if spent.len() == 23 && spent[..2] == [0xa9, 0x14] && spent[22] == 0x87 {
        match instructions(input) {
            Ok(list) if list.iter().all(|(code, _)| *code <= 0x60) => {
                let script = list.last().map_or(&[][..], |(_, data)| data);
                4 * plain_count(script, true) + witness_cost(script)
            }
            _ => 0,
        }
    } else {
        witness_cost(spent)
    }
}

/// The spent outputs of a real block, in the order of its inputs: value, length, script.
fn spent_scripts(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let (length, rest) = match head[8] {
            0xfd => (usize::from(u16::from_le_bytes([rest[0], rest[1]])), &rest[2..]),
            length => (usize::from(length), rest),
        };
        scripts.push(rest[..length].to_vec());
        bytes = &rest[length..];
    }
    scripts
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn costs_of_real_spends_are_those_of_the_plain_count() {
    for name in ["bcoin-block300025", "bcoin-block928816"] {
        let path = blockmill_testkit::fixture(format!("bitcoin/undo/{name}-undo.raw"));
        let spent = spent_scripts(&std::fs::read(path).unwrap());
        let path = blockmill_testkit::fixture(format!("bitcoin/blocks/{name}.raw"));
        let block = real_blocks::decoded(&std::fs::read(path).unwrap());
        assert_eq!(block.inputs.len() - 1, spent.len());
        let mut total = 0;
        for (input, spent) in block.inputs[1..].iter().zip(&spent) {
            let script = input.script.slice(&block.raw);
            let items: Vec<_> = block.witness(input).collect();
            let cost = sigops::spent_cost(script, block.witness(input), spent, true, true);
            assert_eq!(cost, plain_spent_cost(script, &items, spent));
            total += cost;
        }
        let legacy: u32 = block.transactions.iter().map(|each| sigops::legacy(&block, each)).sum();
        println!("{name}: 4 x {legacy} in own scripts, {total} in what is spent");
        // block 300,025 spends no script hash, and there was no witness yet
        assert_eq!(total > 0, name == "bcoin-block928816");
        assert!(4 * legacy + total <= sigops::MAX_SIGOP_COST);
    }
}

/// The lock of inputs `(sequence, height of the coin)`, where block h has the time past 1000 h.
fn lock(version: i32, inputs: &[(u32, u32)]) -> SequenceLock {
    let time = |height: u32| Ok::<_, ()>(1_000 * height);
    SequenceLock::new(version, inputs.iter().copied(), time).unwrap()
}

#[test]
fn relative_locks_count_blocks_or_units_of_512_seconds() {
    const TIME: u32 = 1 << 22;
    assert_eq!(lock(2, &[]), SequenceLock::NONE);
    assert_eq!(lock(1, &[(10, 100)]), SequenceLock::NONE);
    assert_eq!(lock(2, &[(10 | 1 << 31, 100)]), SequenceLock::NONE);
    assert_eq!(lock(2, &[(0, 100)]), SequenceLock { height: 99, time: -1 });
    assert_eq!(lock(2, &[(10, 100)]), SequenceLock { height: 109, time: -1 });
    // a version is compared without its sign
    assert_eq!(lock(-1, &[(10, 100)]), SequenceLock { height: 109, time: -1 });
    // bits above the distance mean nothing
    assert_eq!(lock(2, &[(10 | 0x3f << 16, 100)]), SequenceLock { height: 109, time: -1 });
    // time counts from the block before the coin's
    assert_eq!(lock(2, &[(3 | TIME, 100)]), SequenceLock { height: -1, time: 99_000 + 1_536 - 1 });
    assert_eq!(lock(2, &[(TIME, 0)]), SequenceLock { height: -1, time: -1 });
    let all = lock(2, &[(10, 100), (5, 104), (3 | TIME, 100), (u32::MAX, 9_999)]);
    assert_eq!(all, SequenceLock { height: 109, time: 100_535 });
    assert!(all.allows(110, 100_536));
    assert!(!all.allows(109, 100_536) && !all.allows(110, 100_535));
    let missing = SequenceLock::new(2, [(TIME, 5)].into_iter(), Err);
    assert_eq!(missing, Err(4));
}
