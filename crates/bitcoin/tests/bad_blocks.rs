//! Blocks that break a rule, each in one way: the import names block, file, place and rule, stops
//! before it, and keeps what it has connected.

use crate::generated_chain::{
    Coin, Draft, FEE, Lock, Maker, coins, locked, mine, pay, root, spend, txid,
};
use crate::imports::{End, options, run, run_well, with, write};
use crate::naive::{Plain, Tx, TxOut};
use crate::real_blocks;
use blockmill_bitcoin::import::Options;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;

/// Height of the bad block.
const BAD: u32 = 116;
/// A sequence number that lets lock times count and asks for no distance.
const LOCKABLE: u32 = 0xffff_fffe;
/// A distance in time (BIP68), in units of 512 seconds.
const TIME: u32 = 1 << 22;

/// A way to be bad: the words by which it is reported, and what makes a good block so.
struct Case(&'static str, fn(&mut Draft, &mut Maker));

/// The blocks before the bad one.
fn start(params: &Params) -> Maker {
    Maker::of(params, 5, BAD - 1)
}

/// A good block of four transactions, the third of which spends an output of the second.
fn good_draft(maker: &mut Maker) -> Draft {
    let first = pay(&[rich(maker)], 3);
    let second = pay(&coins(&first)[..1], 2);
    let third = pay(&[rich(maker)], 2);
    maker.draft_of(vec![first, second, third])
}

/// A coin that is worth something.
fn rich(maker: &mut Maker) -> Coin {
    let at = maker.pool.iter().position(|coin| coin.value > 10_000_000).unwrap();
    maker.pool.swap_remove(at)
}

/// The transaction on which no other one depends.
fn last(draft: &mut Draft) -> &mut Tx {
    &mut draft.transactions[3]
}

/// The coin of the coinbase `back` blocks before the next block.
fn coinbase(maker: &Maker, back: usize) -> Coin {
    let block = Plain::decode(&maker.blocks[maker.blocks.len() - back]).unwrap();
    coins(&block.transactions[0]).remove(0)
}

/// An output that nobody can spend, with a script of so many bytes.
fn padding(bytes: usize) -> TxOut {
    TxOut { value: 0, script: [vec![0x6a], vec![0x51; bytes - 1]].concat() }
}

/// An output whose script counts so many checks of signatures.
fn checks(count: usize) -> TxOut {
    TxOut { value: 0, script: vec![0xac; count] }
}

/// Two transactions: one makes coins whose scripts count `count` checks of signatures each and run
/// none, the other spends them.
fn costly(draft: &mut Draft, maker: &mut Maker, lock: Lock, coins: usize, count: usize) {
    let script = [&[0x00, 0x63][..], &vec![0xac; count], &[0x68, 0x51]].concat();
    let rich = rich(maker);
    let value = ((rich.value - FEE) / coins as u64) as i64;
    let outputs = vec![TxOut { value, script: locked(lock, &script) }; coins];
    let inputs = vec![spend(&rich, u32::MAX)];
    let maker = Tx { version: 2, inputs, outputs, lock_time: 0 };
    let id = txid(&maker);
    let input = |vout: usize| {
        let outpoint = [&id[..], &(vout as u32).to_le_bytes()].concat();
        let mut input = spend(&Coin { outpoint, value: 0, lock }, u32::MAX);
        match lock {
            Lock::Script => input.script = [&[0x4c, script.len() as u8][..], &script].concat(),
            Lock::Witness => input.witness = vec![script.clone()],
            Lock::Plain => {}
        }
        input
    };
    let inputs = (0..coins).map(input).collect();
    let taker = Tx { version: 2, inputs, outputs: vec![padding(1)], lock_time: 0 };
    draft.transactions.extend([maker, taker]);
}

/// Makes the block as heavy as `4 * stripped + witnesses` may be without going over 4,000,000.
fn fill(draft: &mut Draft) {
    last(draft).outputs.push(padding(900_000));
    let plain = Plain::decode(&draft.clone().seal()).unwrap();
    let weight = 3 * plain.encode(false).len() + plain.encode(true).len();
    last(draft).outputs.pop();
    last(draft).outputs.push(padding(900_000 + (4_000_000 - weight) / 4));
}

/// The last median time past that counts for the bad block.
fn median(maker: &Maker) -> u32 {
    let time = &maker.blocks[maker.blocks.len() - 6][68..72];
    u32::from_le_bytes(time.try_into().unwrap())
}

/// What the files alone tell.
const BY_ITSELF: &[Case] = &[
    Case("bad-txnmrklroot", |draft, _| draft.wrong_root = true),
    Case("bad-witness-merkle-match", |draft, _| draft.wrong_commitment = true),
    Case("bad-witness-nonce-size", |draft, _| {
        draft.transactions[0].inputs[0].witness[0].pop();
    }),
    Case("unexpected-witness", |draft, _| draft.commits = false),
    Case("bad-txns-duplicate", |draft, _| {
        draft.transactions.pop();
        draft.repeated = 1;
    }),
    Case("bad-txns-inputs-duplicate", |draft, _| {
        let input = last(draft).inputs[0].clone();
        last(draft).inputs.push(input);
    }),
    Case("bad-txns-vout-negative", |draft, _| last(draft).outputs[1].value = -1),
    Case("bad-txns-vout-toolarge", |draft, _| {
        last(draft).outputs[1].value = 2_100_000_000_000_001;
    }),
    Case("bad-txns-txouttotal-toolarge", |draft, _| {
        last(draft).outputs[0].value = 2_100_000_000_000_000;
    }),
    Case("bad-txns-vout-empty", |draft, _| last(draft).outputs.clear()),
    Case("bad-txns-prevout-null", |draft, maker| {
        let mut input = spend(&rich(maker), u32::MAX);
        input.outpoint = draft.transactions[0].inputs[0].outpoint.clone();
        last(draft).inputs.push(input);
    }),
    Case("bad-cb-multiple", |draft, _| {
        let mut second = draft.transactions[0].clone();
        second.inputs[0].witness.clear();
        draft.transactions.push(second);
    }),
    Case("bad-cb-missing", |draft, _| {
        draft.transactions.remove(0);
        draft.commits = false;
    }),
    Case("bad-cb-length", |draft, _| {
        draft.transactions[0].inputs[0].script.resize(101, 0);
    }),
    Case("bad-cb-height", |draft, _| draft.transactions[0].inputs[0].script[1] += 1),
    Case("bad-txns-nonfinal (BIP113)", |draft, _| {
        last(draft).inputs[0].sequence = LOCKABLE;
        last(draft).lock_time = BAD;
    }),
    Case("bad-txns-nonfinal (BIP113)", |draft, maker| {
        last(draft).inputs[0].sequence = LOCKABLE;
        last(draft).lock_time = median(maker);
    }),
    Case("bad-blk-sigops", |draft, _| last(draft).outputs.push(checks(20_001))),
    Case("bad-blk-weight", |draft, _| {
        fill(draft);
        last(draft).outputs.last_mut().unwrap().script.push(0);
    }),
    Case("bad-blk-length", |draft, _| last(draft).outputs.push(padding(1_000_000))),
];

/// What only the coins tell.
const BY_COINS: &[Case] = &[
    Case("bad-txns-inputs-missingorspent", |draft, _| last(draft).inputs[0].outpoint[0] ^= 1),
    Case("bad-txns-inputs-missingorspent", |draft, _| last(draft).inputs[0].outpoint[32] += 99),
    Case("bad-txns-inputs-missingorspent", |draft, maker| {
        // what an earlier block spent
        let spent = maker.blocks.iter().rev().filter_map(|block| Plain::decode(block));
        let mut spent = spent.filter_map(|block| block.transactions.get(1).cloned());
        last(draft).inputs[0] = spent.next().unwrap().inputs[0].clone();
    }),
    Case("bad-txns-inputs-missingorspent", |draft, _| {
        // what another transaction of the block spends
        let input = draft.transactions[1].inputs[0].clone();
        last(draft).inputs.push(input);
    }),
    Case("bad-txns-inputs-missingorspent", |draft, _| draft.transactions.swap(1, 2)),
    Case("bad-txns-inputs-missingorspent", |draft, _| {
        // an output of the coinbase that nobody can spend
        draft.transactions[0].outputs.push(padding(4));
        let id = txid(&draft.transactions[0]);
        last(draft).inputs[0].outpoint = [&id[..], &[1, 0, 0, 0]].concat();
    }),
    Case("bad-cb-amount", |draft, _| draft.transactions[0].outputs[0].value += 1),
    Case("bad-txns-in-belowout", |draft, _| {
        last(draft).outputs[0].value += FEE as i64 + 1;
    }),
    Case("bad-txns-premature-spend-of-coinbase", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 99)], 2);
    }),
    Case("bad-txns-nonfinal (BIP68)", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 100)], 2);
        last(draft).inputs[0].sequence = 101;
    }),
    Case("bad-txns-nonfinal (BIP68)", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 100)], 2);
        last(draft).inputs[0].sequence = TIME | 118;
    }),
    Case("bad-blk-sigops", |draft, maker| {
        costly(draft, maker, Lock::Script, 100, 199);
        costly(draft, maker, Lock::Witness, 1, 1);
        last(draft).outputs.push(checks(100));
    }),
    Case("block-script-verify-flag-failed", |draft, maker| {
        let at = maker.pool.iter().position(|coin| coin.lock == Lock::Witness).unwrap();
        *last(draft) = pay(&[maker.pool[at].clone()], 1);
        last(draft).inputs[0].witness = vec![vec![0x00]];
    }),
    Case("block-script-verify-flag-failed", |draft, maker| {
        let at = maker.pool.iter().position(|coin| coin.lock == Lock::Script).unwrap();
        *last(draft) = pay(&[maker.pool[at].clone()], 1);
        last(draft).inputs[0].script = vec![1, 0];
    }),
];

/// What headers tell.
const BY_HEADER: &[Case] = &[
    Case("difficulty", |draft, _| draft.bits = 0x207f_fffe),
    Case("median time past", |draft, maker| draft.time = median(maker)),
    Case("version", |draft, _| draft.version = 3),
    Case("target", |draft, _| draft.bits = 0x2100_ffff),
    Case("future", |draft, _| draft.time = 1_800_007_201),
];

/// What is just within the rules.
const GOOD: &[Case] = &[
    Case("nothing", |_, _| {}),
    Case("lock time of the block before", |draft, _| {
        last(draft).inputs[0].sequence = LOCKABLE;
        last(draft).lock_time = BAD - 1;
    }),
    Case("lock time that no input asks for", |draft, _| last(draft).lock_time = BAD + 1000),
    Case("lock time before the median", |draft, maker| {
        last(draft).inputs[0].sequence = LOCKABLE;
        last(draft).lock_time = median(maker) - 1;
    }),
    Case("ripe coinbase with relative locks", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 100)], 2);
        last(draft).inputs[0].sequence = 100;
    }),
    Case("relative time", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 100)], 2);
        last(draft).inputs[0].sequence = TIME | 117;
    }),
    Case("relative lock in version 1", |draft, maker| {
        *last(draft) = pay(&[coinbase(maker, 100)], 2);
        last(draft).inputs[0].sequence = 101;
        last(draft).version = 1;
    }),
    Case("80,000 units of signature checks", |draft, maker| {
        costly(draft, maker, Lock::Script, 100, 199);
        last(draft).outputs.push(checks(100));
    }),
    Case("weight", |draft, _| fill(draft)),
    Case("no fee", |draft, _| {
        last(draft).outputs[0].value += FEE as i64;
        draft.transactions[0].outputs[0].value -= FEE as i64;
    }),
    Case("a coinbase that takes less", |draft, _| draft.transactions[0].outputs[0].value -= 1),
];

/// The chain with the bad block, and four blocks after it.
fn made(case: &Case) -> Maker {
    let mut maker = start(&Params::regtest());
    let mut draft = good_draft(&mut maker);
    case.1(&mut draft, &mut maker);
    maker.push(draft);
    // they are never connected, so what they spend does not matter
    maker.extend(4);
    maker
}

/// Imports the chain twice; both runs report the same, and keep the good part.
fn refuse(case: &Case, options: &Options) {
    let maker = made(case);
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let places = write(folder.path(), &options.params, &maker.blocks, 50_000, true);
    let expected = End::naive(&maker.blocks[..BAD as usize]);
    for _ in 0..2 {
        let (run, outcome) = run(folder.path(), options, data.path());
        let text = match outcome {
            Err(error) => error.to_string(),
            // headers are refused before anything is connected
            Ok(()) => run.notes.join("\n"),
        };
        let (file, offset) = &places[BAD as usize];
        let id = BlockHash(blockmill_hashes::sha256d(&maker.blocks[BAD as usize][..80]));
        let words = [case.0, file, &format!("byte {offset}"), &format!("block {BAD} ({id})")];
        for word in words {
            assert!(text.contains(word), "{}: no {word:?} in {text:?}", case.0);
        }
        End::of(data.path(), options).assert_same(&expected, case.0);
        assert_eq!(run.tip.map(|tip| tip.height), Some(BAD - 1));
    }
}

#[test]
fn each_bad_block_is_named_and_what_came_before_it_stays() {
    let options = options(Params::regtest());
    for case in [BY_ITSELF, BY_COINS, BY_HEADER].into_iter().flatten() {
        refuse(case, &options);
    }
}

#[test]
fn each_bad_block_is_refused_with_one_thread_and_little_memory_too() {
    let options = options(Params::regtest());
    let options = Options { threads: 1, memory: 1 << 20, ..options };
    let slow = ["stages=serial", "scripts=library", "coins=when-spent", "signatures=scalar"];
    for case in [BY_ITSELF, BY_COINS].into_iter().flatten() {
        refuse(case, &with(&options, &slow));
    }
}

#[test]
fn what_is_just_within_the_rules_is_accepted() {
    for case in GOOD {
        let mut maker = start(&Params::regtest());
        let mut draft = good_draft(&mut maker);
        case.1(&mut draft, &mut maker);
        maker.push(draft);
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = options(Params::regtest());
        write(folder.path(), &options.params, &maker.blocks, 50_000, false);
        let (_, outcome) = run(folder.path(), &options, data.path());
        assert!(outcome.is_ok(), "{}: {}", case.0, outcome.unwrap_err());
        End::of(data.path(), &options).assert_same(&End::naive(&maker.blocks), case.0);
    }
}

#[test]
fn rules_of_bodies_are_asked_at_the_level_of_bodies() {
    let mut options = options(Params::regtest());
    options.level = blockmill_bitcoin::Level::Bodies;
    for case in BY_ITSELF.iter().chain(BY_COINS) {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let blocks = made(case).blocks;
        write(folder.path(), &options.params, &blocks, 50_000, false);
        let (run, outcome) = run(folder.path(), &options, data.path());
        let height = run.tip.unwrap().height;
        let by_itself = BY_ITSELF.iter().any(|other| std::ptr::eq(other, case));
        match outcome {
            Err(error) if by_itself => assert!(error.to_string().contains(case.0), "{error}"),
            outcome => assert!(outcome.is_ok() && !by_itself, "{}: {outcome:?}", case.0),
        }
        let expected = if by_itself { BAD - 1 } else { blocks.len() as u32 - 1 };
        assert_eq!((height, run.blocks), (expected, expected.into()), "{}", case.0);
    }
}

/// BIP30 matters only where coinbases do not say their height.
#[test]
fn a_coinbase_that_repeats_an_unspent_one_is_refused() {
    let params = Params { bip34_height: 1_000, ..Params::regtest() };
    let mut maker = start(&params);
    // without a commitment, so that the id of the coinbase does not depend on the other blocks
    let mut draft = maker.draft_of(vec![]);
    draft.commits = false;
    draft.transactions[0].inputs[0].witness.clear();
    maker.push(draft.clone());
    let mut again = maker.draft_of(vec![]);
    again.commits = false;
    again.transactions = draft.transactions;
    let good = maker.blocks.clone();
    maker.push(again);
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = options(params);
    write(folder.path(), &options.params, &maker.blocks, 50_000, false);
    let (_, outcome) = run(folder.path(), &options, data.path());
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("bad-txns-BIP30"), "{text}");
    End::of(data.path(), &options).assert_same(&End::naive(&good), &text);
}

/// A byte of a signature of each kind of the real chain, with the roots and the work made good.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn bad_signatures_of_real_blocks_are_found() {
    let mut sources = real_blocks::all();
    let params = Params::regtest();
    let mut blocks = sources.swap_remove(2).blocks;
    blocks.insert(0, params.genesis.clone());
    // a taproot key signs alone, a P2WPKH key follows its signature
    for items in 1..5 {
        let signed = |block: &Vec<u8>| {
            let plain = Plain::decode(block).unwrap();
            let mut places = (1..plain.transactions.len()).flat_map(|number| {
                let inputs = plain.transactions[number].inputs.len();
                (0..inputs).map(move |input| (number, input))
            });
            places.find(|(number, input)| {
                plain.transactions[*number].inputs[*input].witness.len() == items
            })
        };
        let found = blocks.iter().map(signed).enumerate();
        let mut found = found.filter_map(|(height, place)| Some((height, place?)));
        let Some((height, (number, input))) = found.next() else { continue };
        println!("block {height}: {items} items in a witness");
        let mut plain = Plain::decode(&blocks[height]).unwrap();
        plain.transactions[number].inputs[input].witness[0][20] ^= 1;
        let mut bad = blocks[..height].to_vec();
        bad.push(sealed_again(plain));
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for scripts in ["scripts=library", "scripts=templates"] {
            let options = with(&options(params.clone()), &[scripts]);
            if scripts == "scripts=library" {
                write(folder.path(), &options.params, &bad, 50_000, false);
            }
            let (_, outcome) = run(folder.path(), &options, data.path());
            let text = outcome.unwrap_err().to_string();
            assert!(text.contains("block-script-verify-flag-failed"), "{text}");
            assert!(text.contains(&format!("block {height} ")), "{text}");
            End::of(data.path(), &options).assert_same(&End::naive(&blocks[..height]), &text);
        }
        // assumed valid, nobody looks at signatures
        let mut options = options(params.clone());
        options.assume_valid = Some(BlockHash(blockmill_hashes::sha256d(&bad[height][..80])));
        run_well(folder.path(), &options, data.path());
        End::of(data.path(), &options).assert_same(&End::naive(&bad), "assumed valid");
    }
}

/// The block with a commitment, a merkle root and a nonce that fit.
fn sealed_again(mut plain: Plain) -> Vec<u8> {
    let wtxid = |each: &Tx| blockmill_hashes::sha256d(&each.encode(true));
    let wtxids = plain.transactions[1..].iter().map(wtxid);
    let wtxids = root(std::iter::once([0; 32]).chain(wtxids).collect());
    let commitment = blockmill_hashes::sha256d(&[&wtxids[..], &[0; 32]].concat());
    let marked = |output: &&mut TxOut| output.script.starts_with(&[0x6a, 0x24, 0xaa, 0x21]);
    let output = plain.transactions[0].outputs.iter_mut().find(marked).unwrap();
    output.script[6..38].copy_from_slice(&commitment);
    let root = root(plain.transactions.iter().map(txid).collect());
    plain.header[36..68].copy_from_slice(&root);
    let mut raw = plain.encode(true);
    mine(&mut raw);
    raw
}
