//! Real blocks with the coins that they spend.

use super::case::{ALL, Case, Coins, Random, hex, verify};
use blockmill_bitcoin::script::{BlockScripts, Counts, Flags, Form, Scripts};
use blockmill_bitcoin::types::{Amount, Block, OutPoint, Txid};
use std::collections::HashMap;
use std::time::Duration;

fn block(raw: &[u8]) -> Block {
    let mut block = Block { raw: raw.to_vec(), ..Block::default() };
    block.decode().unwrap();
    block
}

/// Takes the coins of `block` out of those known, and adds what it makes.
fn connect(block: &Block, known: &mut HashMap<OutPoint, (u64, Vec<u8>)>) -> Coins {
    let mut coins = Coins::default();
    for (transaction, txid) in block.transactions.iter().zip(&block.txids) {
        for input in block.inputs_of(transaction) {
            let outpoint = block.outpoint(input);
            if outpoint.vout != u32::MAX {
                let (value, script) = known.remove(&outpoint).unwrap();
                coins.push(value, &script);
            }
        }
        for (vout, output) in (0..).zip(block.outputs_of(transaction)) {
            let script = output.script.slice(&block.raw).to_vec();
            known.insert(OutPoint { txid: Txid(*txid), vout }, (output.value as u64, script));
        }
    }
    coins
}

/// Coins from a bare list of outputs.
fn coins_of(mut undo: &[u8]) -> Coins {
    let mut coins = Coins::default();
    while let Some((value, rest)) = undo.split_first_chunk::<8>() {
        let (length, rest) = match *rest {
            [0xfd, low, high, ref rest @ ..] => {
                (usize::from(u16::from_le_bytes([low, high])), rest)
            }
            [small, ref rest @ ..] => (usize::from(small), rest),
            [] => panic!("cut"),
        };
        coins.push(u64::from_le_bytes(*value), &rest[..length]);
        undo = &rest[length..];
    }
    coins
}

/// What this thread has computed so far: wall time says little where others compute too.
pub fn thread_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn part<'a>(block: &'a Block, coins: &'a Coins, flags: Flags) -> BlockScripts<'a> {
    let Coins { coins, scripts } = coins;
    BlockScripts { block, transactions: 0..block.transactions.len(), coins, scripts, flags }
}

fn report(name: &str, counts: &Counts) {
    print!("{name}:");
    for (form, count) in Form::ALL.iter().zip(counts.forms).filter(|(_, count)| *count > 0) {
        print!(" {} {count},", form.name());
    }
    println!(" library {}", counts.library);
}

/// Verifies a block both ways and with every transaction as a part of its own.
fn verify_block(name: &str, block: &Block, coins: &Coins, flags: Flags) -> Counts {
    let inputs = block.inputs.len() - 1;
    assert_eq!(coins.coins.len(), inputs);
    let whole = part(block, coins, flags);
    let mut times = Vec::new();
    let mut timed = |scripts| {
        let start = thread_time();
        let verdict = verify(&whole, scripts);
        times.push((thread_time() - start).as_secs_f64() * 1e6 / inputs as f64);
        verdict
    };
    let (library, templates) = (timed(Scripts::Library), timed(Scripts::Templates));
    assert_eq!((library.0, templates.0), (Ok(()), Ok(())), "{name}");
    println!("{name}: {inputs} inputs, library {:.1} us, templates {:.1} us", times[0], times[1]);
    report(name, &templates.1);
    let mut library = 0;
    for transaction in 1..block.transactions.len() {
        let alone = BlockScripts { transactions: transaction..transaction + 1, ..whole.clone() };
        let (verdict, counts) = verify(&alone, Scripts::Templates);
        assert_eq!(verdict, Ok(()));
        library += counts.library;
    }
    assert_eq!(library, templates.1.library);
    templates.1
}

/// Single bits of transactions and coins are changed: both ways keep saying the same.
fn change_bits(block: &Block, coins: &Coins, flags: Flags, times: usize, seed: u64) {
    let mut random = Random::new(seed);
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..times {
        let number = 1 + random.below(block.transactions.len() - 1);
        let transaction = &block.transactions[number];
        // the work is quadratic
        if transaction.inputs.len() > 20 {
            continue;
        }
        let mut own = Coins::default();
        for coin in
            &coins.coins[transaction.inputs.start as usize - 1..][..transaction.inputs.len()]
        {
            own.push(coin.value.to_sat(), coin.script.slice(&coins.scripts));
        }
        let mut bytes = transaction.span.slice(&block.raw).to_vec();
        match random.below(4) {
            0 => {
                let coin = random.below(own.coins.len());
                let value = &mut own.coins[coin].value;
                *value = Amount::from_sat(value.to_sat() ^ 1 << random.below(50));
            }
            1 => {
                let at = random.below(own.scripts.len());
                own.scripts[at] ^= 1 << random.below(8);
            }
            _ => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        let inputs = own.coins.len();
        let Some(case) = Case::new(&bytes, own) else { continue };
        if case.block.inputs.len() != 1 + inputs {
            continue;
        }
        match case.verdict(flags).0 {
            Ok(()) => accepted += 1,
            Err(_) => refused += 1,
        }
    }
    println!("changed: {refused} refused, {accepted} accepted");
    assert!(refused > times / 3);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn regtest_1_to_206() {
    let text = std::fs::read_to_string(blockmill_testkit::fixture("bitcoin/regtest-1-206.hex.txt"))
        .unwrap();
    let mut known = HashMap::new();
    let mut total = 0;
    for (height, line) in (1..).zip(text.lines()) {
        let block = block(&hex(line.trim()));
        let coins = connect(&block, &mut known);
        if !coins.coins.is_empty() {
            total += coins.coins.len();
            let counts = verify_block(&format!("regtest {height}"), &block, &coins, ALL);
            assert_eq!(counts.library, 0);
            change_bits(&block, &coins, ALL, 100, height);
        }
    }
    assert!(total > 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mainnet_0_to_4521() {
    let file = blockmill_testkit::read("bitcoin/mainnet-0-4521.dat");
    let mut rest = &file[..];
    let (mut blocks, mut known) = (Vec::new(), HashMap::new());
    while let Some(([0xf9, 0xbe, 0xb4, 0xd9, size @ ..], after)) = rest.split_first_chunk::<8>() {
        let size = u32::from_le_bytes(*size) as usize;
        let Some(raw) = after.get(..size) else { break };
        let block = block(raw);
        let coins = connect(&block, &mut known);
        blocks.push((block, coins));
        rest = &after[size..];
    }
    let flags = Flags::P2SH.with(Flags::WITNESS).with(Flags::TAPROOT);
    let parts: Vec<_> = blocks.iter().map(|(block, coins)| part(block, coins, flags)).collect();
    for scripts in [Scripts::Library, Scripts::Templates] {
        let mut batch = blockmill_bitcoin::script::ScriptBatch::default();
        let start = thread_time();
        assert_eq!(
            batch.verify(&parts, scripts, &blockmill_signatures::Signatures::detect()),
            Ok(())
        );
        println!("{} blocks in {:?}", parts.len(), thread_time() - start);
        report("mainnet 0 to 4521", batch.counts());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mainnet_300025() {
    with_undo("blocks/bcoin-block300025.raw", "undo/bcoin-block300025-undo.raw", |block, coins| {
        let flags = Flags::P2SH.with(Flags::WITNESS).with(Flags::TAPROOT);
        verify_block("mainnet 300025", block, coins, flags);
        change_bits(block, coins, flags, 300, 300_025);
        // nothing but signatures of later rules
        change_bits(block, coins, ALL, 200, 1);
    });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mainnet_928816() {
    with_undo("blocks/bcoin-block928816.raw", "undo/bcoin-block928816-undo.raw", |block, coins| {
        verify_block("mainnet 928816", block, coins, ALL);
        change_bits(block, coins, ALL, 800, 928_816);
    });
}

fn with_undo(block_file: &str, undo_file: &str, check: impl Fn(&Block, &Coins)) {
    let read = |name: &str| blockmill_testkit::read(format!("bitcoin/{name}"));
    check(&block(&read(block_file)), &coins_of(&read(undo_file)));
}
