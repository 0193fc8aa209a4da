//! `coins=multiset`: undo data and unspent coins of a datadir are accepted only if the coin
//! multiset hash is zero. Every forgery is refused, and named by a run with a set of coins.

use crate::generated_chain::{Draft, Maker, coins, pay};
use crate::imports::{options, run_well, with};
use crate::kept::{Kept, Spent, by_multiset, chain};
use crate::naive_connect::{Owned, transactions};
use blockmill_bitcoin::Error;
use blockmill_bitcoin::datadir::Datadir;
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::multiset::{Proof, Unproven};
use blockmill_bitcoin::params::{Params, Repeat};
use blockmill_bitcoin::types::{BlockHash, OutPoint};
use blockmill_testkit::Random;
use blockmill_verdict::Status;

/// The proof of a chain that is as it is said to be.
#[track_caller]
fn proven((run, outcome): (Run, Result<(), Error>)) -> (Run, Proof) {
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert_eq!(run.unproven, None);
    let proof = run.proof.expect("a proof");
    assert_eq!((proof.created, run.coins), (proof.spent + proof.unspent, proof.unspent));
    (run, proof)
}

/// What a datadir is refused for, though its chain is good.
#[track_caller]
fn named((run, outcome): (Run, Result<(), Error>)) -> Unproven {
    assert!(run.proof.is_none() && run.unproven.is_some());
    let error = outcome.expect_err("a refusal");
    assert_eq!(error.status(), Status::Corrupt, "{error}");
    match error {
        Error::Unproven(unproven) => *unproven,
        other => panic!("{other}"),
    }
}

#[test]
fn a_datadir_that_is_right_needs_no_set_of_coins() {
    let kept = chain(61);
    let inputs: usize = kept.spent.iter().flatten().map(Vec::len).sum();
    assert!(inputs > 50);
    let folder = tempfile::tempdir().unwrap();
    let datadir = kept.write(folder.path());
    for threads in [1, 2, 4] {
        let options = Options { threads, ..options(kept.params.clone()) };
        let (run, proof) = proven(by_multiset(&datadir, &datadir, &options));
        assert_eq!(proof.unspent, kept.unspent.len() as u64);
        assert_eq!((proof.spent, run.inputs), (inputs as u64, inputs as u64));
        assert_eq!((run.blocks, run.tip.unwrap().height, run.commits), (140, 140, 0));
        assert_eq!(run.scripts, run.inputs);
    }
    let serial = with(&options(kept.params.clone()), &["stages=serial", "scripts=library"]);
    proven(by_multiset(&datadir, &datadir, &serial));
    // a store of ours has the same
    let store = tempfile::tempdir().unwrap();
    let own = run_well(&datadir, &options(kept.params.clone()), store.path());
    let (run, _) = proven(by_multiset(&datadir, store.path(), &options(kept.params.clone())));
    assert_eq!((run.coins, run.tip, run.inputs), (own.coins, own.tip, own.inputs));
}

#[test]
fn forged_undo_data_is_refused_and_named() {
    let mut random = Random::new_each_run("forged_undo_data");
    let good = chain(62);
    let forgeries: [fn(&mut Owned); 4] = [
        |coin| coin.value += 1,
        |coin| coin.script.push(0x51),
        |coin| coin.coinbase = !coin.coinbase,
        |coin| coin.height = if coin.height > 1 { coin.height - 1 } else { 2 },
    ];
    for forge in forgeries {
        for _ in 0..blockmill_testkit::rounds(4) {
            let mut kept = good.clone();
            let (expected, coin) = kept.some_coin(&mut random);
            forge(coin);
            let unproven = named(kept.verify());
            let Unproven::Undo { height, file, offset, .. } = &unproven else {
                panic!("{unproven}")
            };
            assert_eq!(*height, expected, "{unproven}");
            assert!(file.ends_with("blocks/rev00000.dat") && *offset > 0, "{unproven}");
        }
    }
}

#[test]
fn heights_that_cannot_be_are_refused_before_they_are_used() {
    let mut random = Random::new_each_run("heights_that_cannot_be");
    for height in [0, 141, 1_000_000, u32::MAX >> 1] {
        let mut kept = chain(63);
        let (expected, coin) = kept.some_coin(&mut random);
        coin.height = height;
        let unproven = named(kept.verify());
        let is_it =
            |it: &Unproven| matches!(it, Unproven::Undo { height, .. } if *height == expected);
        assert!(is_it(&unproven), "{unproven}");
    }
}

#[test]
fn undo_data_of_another_block_is_refused_and_named() {
    let kept = chain(64);
    let same = |a: &Spent, b: &Spent| !a.is_empty() && a.len() == b.len() && a != b;
    let mut tried = 0;
    for a in 0..kept.spent.len() {
        let Some(b) = (a + 1..kept.spent.len()).find(|b| same(&kept.spent[a], &kept.spent[*b]))
        else {
            continue;
        };
        let mut kept = kept.clone();
        kept.spent.swap(a, b);
        let unproven = named(kept.verify());
        let Unproven::Undo { height, .. } = unproven else { panic!("{unproven}") };
        assert_eq!(height, a as u32 + 1);
        tried += 1;
        if tried == 3 {
            break;
        }
    }
    assert_eq!(tried, 3);
}

#[test]
fn a_coin_too_many_or_too_few_is_refused_and_named() {
    let mut random = Random::new_each_run("a_coin_too_many");
    let good = chain(65);
    for _ in 0..blockmill_testkit::rounds(4) {
        let at = random.below(good.unspent.len());
        let outpoint = good.unspent[at].0;
        let mut fewer = good.clone();
        fewer.unspent.remove(at);
        let mut more = good.clone();
        let mut own = more.unspent[at].clone();
        own.0.vout += 1_000;
        let added = own.0;
        more.unspent.insert(at + 1, own);
        let mut other = good.clone();
        other.unspent[at].1.value += 1;
        let mut older = good.clone();
        older.unspent[at].1.height ^= 1;
        for (kept, outpoint) in
            [(fewer, outpoint), (more, added), (other, outpoint), (older, outpoint)]
        {
            let unproven = named(kept.verify());
            let is_it = matches!(&unproven, Unproven::Coin { coin, .. } if *coin == outpoint);
            assert!(is_it, "{unproven}");
        }
    }
}

/// A chain whose last block a `change` makes bad, with undo data that agrees with the block.
fn with_bad_end(change: fn(&mut Maker) -> (Draft, Vec<Owned>)) -> Kept {
    let mut maker = Maker::of(&Params::regtest(), 66, 130);
    let (draft, spent) = change(&mut maker);
    let mut kept = Kept::of(&maker.params, &maker.blocks);
    maker.push(draft);
    kept.blocks = maker.blocks;
    kept.spent.push(spent.into_iter().map(|coin| vec![coin]).collect());
    kept
}

/// The coins that the last block would leave: what a liar puts into the chainstate.
fn add_created(kept: &mut Kept) {
    let height = kept.spent.len() as u32;
    for (number, transaction) in transactions(&kept.blocks[height as usize]).iter().enumerate() {
        kept.unspent.retain(|(outpoint, _)| !transaction.inputs.contains(outpoint));
        for (vout, (value, script)) in (0..).zip(&transaction.outputs) {
            if script.first() != Some(&0x6a) {
                let (coinbase, value, script) = (number == 0, *value, script.clone());
                let outpoint = OutPoint { txid: transaction.txid, vout };
                kept.unspent.push((outpoint, Owned { height, coinbase, value, script }));
            }
        }
    }
    kept.unspent.sort_by_key(|(outpoint, _)| (outpoint.txid, outpoint.vout.to_le_bytes()));
}

/// The rule that the last block is refused by, at level `execution` with a set of coins.
#[track_caller]
fn fault_of(mut kept: Kept) -> String {
    add_created(&mut kept);
    let (run, outcome) = kept.verify();
    assert!(run.proof.is_none() && run.unproven.is_some());
    let error = outcome.expect_err("a fault");
    assert_eq!(error.status(), Status::Invalid, "{error}");
    error.report().rule.expect("a rule")
}

#[test]
fn what_is_spent_twice_or_before_it_is_there_is_a_fault_of_the_block() {
    // the second spend of an output of the block before
    let kept = with_bad_end(|maker| {
        let coin = maker.take_coin();
        let first = pay(std::slice::from_ref(&coin), 2);
        let draft = maker.draft_of(vec![first]);
        maker.push(draft);
        let spent = Kept::of(&maker.params, &maker.blocks).spent.pop().unwrap();
        (maker.draft_of(vec![pay(&[coin], 3)]), spent.concat())
    });
    assert_eq!(fault_of(kept), "bad-txns-inputs-missingorspent");
    // twice in one block
    let kept = with_bad_end(|maker| {
        let coin = maker.take_coin();
        let mut branch = maker.clone();
        let draft = branch.draft_of(vec![pay(std::slice::from_ref(&coin), 2)]);
        branch.push(draft);
        let spent = Kept::of(&branch.params, &branch.blocks).spent.pop().unwrap().concat();
        let both = vec![pay(std::slice::from_ref(&coin), 2), pay(&[coin], 3)];
        (maker.draft_of(both), [spent.clone(), spent].concat())
    });
    assert_eq!(fault_of(kept), "bad-txns-inputs-missingorspent");
    // an output of a later transaction
    let kept = with_bad_end(|maker| {
        let coin = maker.take_coin();
        let first = pay(std::slice::from_ref(&coin), 1);
        let (made, second) = (coins(&first).remove(0), pay(&coins(&first)[..1], 1));
        let mut branch = maker.clone();
        let draft = branch.draft_of(vec![first.clone(), second.clone()]);
        branch.push(draft);
        let mut spent = Kept::of(&branch.params, &branch.blocks).spent.pop().unwrap().concat();
        assert_eq!(spent[1].value, made.value);
        spent.swap(0, 1);
        (maker.draft_of(vec![second, first]), spent)
    });
    assert_eq!(fault_of(kept), "bad-txns-inputs-missingorspent");
}

#[test]
fn a_coinbase_in_two_blocks_is_an_exception_or_a_fault() {
    let params = Params { bip34_height: 1_000, ..Params::regtest() };
    let mut maker = Maker::of(&params, 67, 104);
    let mut first = maker.draft_of(vec![]);
    first.commits = false;
    first.transactions[0].inputs[0].witness.clear();
    maker.push(first.clone());
    let mut second = maker.draft_of(vec![]);
    (second.commits, second.transactions) = (false, first.transactions);
    maker.push(second);
    maker.extend(3);
    let hash = BlockHash(blockmill_hashes::sha256d(&maker.blocks[106][..80]));
    let kept = Kept::of(&params, &maker.blocks);
    let (run, outcome) = kept.verify();
    assert!(run.unproven.unwrap().contains("again"));
    assert_eq!(outcome.unwrap_err().report().rule.as_deref(), Some("bad-txns-BIP30"));
    let repeat = Repeat { height: 106, hash, first: 105 };
    let excepted = Params { bip30_repeats: Box::leak(Box::new([repeat])), ..params };
    let (_, proof) = proven_but_for(Kept { params: excepted, ..kept }.verify(), 1);
    assert!(proof.unspent > 0);
}

/// A proof of a chain in which so many coins were replaced by others.
#[track_caller]
fn proven_but_for((run, outcome): (Run, Result<(), Error>), replaced: u64) -> (Run, Proof) {
    outcome.unwrap();
    assert_eq!(run.unproven, None);
    let proof = run.proof.unwrap();
    assert_eq!(proof.created, proof.spent + proof.unspent);
    assert_eq!(proof.spent, run.inputs + replaced);
    (run, proof)
}

#[test]
fn coins_of_another_block_prove_nothing_and_a_set_of_coins_does() {
    let (all, part) = (chain(68), {
        let kept = chain(68);
        Kept::of(&kept.params, &kept.blocks[..100])
    });
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (all, part) = (all.write(folder.path()), part.write(other.path()));
    let options = options(Params::regtest());
    let (run, outcome) = by_multiset(&all, &part, &options);
    outcome.unwrap();
    assert!(run.unproven.unwrap().contains("expected those of block"), "a note");
    assert_eq!(run.tip.unwrap().height, 140);
    // up to their block they do
    proven(by_multiset(&all, &part, &Options { until: Some(99), ..options }));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_multiset_hash_of_cores_datadir_is_zero() {
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", folder.path());
    let options = options(Params::mainnet());
    let (run, proof) = proven(by_multiset(folder.path(), folder.path(), &options));
    println!("{proof:?}");
    let store = tempfile::tempdir().unwrap();
    let own = run_well(folder.path(), &options, store.path());
    assert_eq!((run.coins, run.tip, run.inputs), (own.coins, own.tip, own.inputs));
    let mut coins = Datadir::open(folder.path()).unwrap().coins().unwrap();
    let mut count = 0;
    while coins.next_coin().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(proof.unspent, count);
}
