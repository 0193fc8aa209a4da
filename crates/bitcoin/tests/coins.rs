//! Coins that are made, spent and put back; statistics against hashes that Bitcoin Core publishes.

use blockmill_bitcoin::types::{Amount, Txid};
use blockmill_verdict::Reversed;
use std::collections::BTreeMap;

use blockmill_bitcoin::{
    Hash,
    coins::{CoinsError, PackedCoin, is_unspendable, key, statistics},
    types::{Coin, OutPoint},
};
use blockmill_hashes::{sha256, sha256d};
use blockmill_store::{CommitPart, Fetched, Store, StoreOptions, Table, TableOptions};

fn open(dir: &tempfile::TempDir) -> (Store, Table, Vec<u8>) {
    let mut opening = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let coins = opening.table("coins", &TableOptions::read_once(1 << 20)).unwrap();
    let (store, state) = opening.finish().unwrap();
    (store, coins, state)
}

/// Puts in a coin as connecting does, unless it is unspendable.
fn add(coins: &mut Table, key: &[u8], coin: &Coin) -> bool {
    let mut packed = Vec::new();
    PackedCoin::pack(coin, &mut packed);
    if !is_unspendable(coin.script) {
        coins.insert(key, &packed).unwrap();
    }
    !is_unspendable(coin.script)
}

/// A number as a script pushes it, below 32,768.
fn push_number(n: u32) -> Vec<u8> {
    match n {
        1..=16 => vec![0x50 + n as u8],
        17..=127 => vec![1, n as u8],
        _ => vec![2, n as u8, (n >> 8) as u8],
    }
}

/// The coinbase of a regtest block whose only other outputs are unspendable, as Bitcoin Core's test
/// code makes it.
fn coinbase(height: u32, script_sig: &[u8], outputs: &[(u64, &[u8])]) -> Vec<u8> {
    let mut out = 2u32.to_le_bytes().to_vec();
    out.push(1);
    out.extend([0; 32]);
    out.extend([255; 4]);
    out.push(script_sig.len() as u8);
    out.extend(script_sig);
    out.extend(0xffff_fffe_u32.to_le_bytes());
    out.push(outputs.len() as u8);
    for (value, script) in outputs {
        out.extend(value.to_le_bytes());
        out.push(script.len() as u8);
        out.extend(*script);
    }
    out.extend((height - 1).to_le_bytes());
    out
}

fn subsidy(height: u32) -> u64 {
    5_000_000_000 >> (height / 150)
}

/// Adds the outputs of a coinbase.
fn connect(coins: &mut Table, height: u32, script_sig: &[u8], outputs: &[(u64, &[u8])]) {
    let txid = sha256d(&coinbase(height, script_sig, outputs));
    for (vout, (value, script)) in (0..).zip(outputs) {
        let coin = Coin { height, coinbase: true, value: Amount::from_sat(*value), script };
        let added = add(coins, &key(&OutPoint { txid: Txid(txid), vout }), &coin);
        assert_eq!(added, !is_unspendable(script));
    }
}

/// `kernel/chainparams.cpp` names this hash for the chain that the target utxo_snapshot makes.
#[test]
fn two_hundred_regtest_coinbases_hash_as_bitcoin_core_says() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, mut coins, _) = open(&dir);
    let script = [&[0, 32][..], &sha256(&[0x51])].concat();
    for height in 1..=200 {
        let script_sig = [push_number(height), vec![0]].concat();
        connect(&mut coins, height, &script_sig, &[(subsidy(height), &script)]);
        if height % 60 == 0 {
            store.commit(&mut [CommitPart::Table(&mut coins)], b"").unwrap();
        }
    }
    let found = statistics(&coins).unwrap();
    let expected = "17dcc016d188d16068907cdeb38b75691a118d43053b8cd6a25969419381d13a";
    assert_eq!(Reversed(&found.hash_serialized).to_string(), expected);
    assert_eq!((found.coins, found.transactions), (200, 200));
    assert_eq!(found.total_amount, 149 * 5_000_000_000 + 51 * 2_500_000_000);
    assert_eq!(found.bogosize(), 200 * (50 + 34));
}

/// The same for the chain of its unit tests, which pays to a key and has witness commitments.
#[test]
fn hundred_and_ten_regtest_blocks_of_unit_tests_hash_as_bitcoin_core_says() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, mut coins, _) = open(&dir);
    let mut script = vec![33, 2];
    // the generator: the public key of the secret key 1
    script.extend([
        0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0, 0x62, 0x95, 0xce, 0x87, 0x0b,
        0x07, 0x02, 0x9b, 0xfc, 0xdb, 0x2d, 0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8,
        0x17, 0x98, 0xac,
    ]);
    let commitment = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &sha256d(&[0; 64])].concat();
    for height in 1..=110 {
        let mut script_sig = push_number(height);
        if height <= 16 {
            script_sig.push(0);
        }
        connect(&mut coins, height, &script_sig, &[(subsidy(height), &script), (0, &commitment)]);
    }
    let found = statistics(&coins).unwrap();
    let expected = "86e9a1205b418b16dde3a18a78c730e30137e28466bda5dbf6b33ab8fc05447c";
    assert_eq!(Reversed(&found.hash_serialized).to_string(), expected);
}

/// A coin that follows from a number.
fn coin(n: u64, script: &mut Vec<u8>) -> Coin<'_> {
    let hash = sha256(&n.to_le_bytes());
    script.clear();
    match n % 4 {
        0 => script.extend([&[0, 20][..], &hash[..20]].concat()),
        1 => script.extend([&[0x76, 0xa9, 20][..], &hash[..20], &[0x88, 0xac]].concat()),
        2 => script.extend([&[0x51, 32][..], &hash].concat()),
        _ => script.extend([&[0x52][..], &hash, &[n as u8; 300][..n as usize % 290]].concat()),
    }
    Coin {
        height: n as u32 % 900_000,
        coinbase: n.is_multiple_of(5),
        value: Amount::from_sat(n * n * 1000),
        script,
    }
}

/// The hash by its definition, from a list.
fn naive_hash(coins: &BTreeMap<(Txid, u32), u64>) -> Hash {
    let mut all = Vec::new();
    for ((txid, vout), n) in coins {
        let (mut script, script_len) = (Vec::new(), |len: usize| match len {
            0..253 => vec![len as u8],
            _ => vec![253, len as u8, (len >> 8) as u8],
        });
        let coin = coin(*n, &mut script);
        all.extend(txid.0);
        all.extend(vout.to_le_bytes());
        all.extend((coin.height * 2 + u32::from(coin.coinbase)).to_le_bytes());
        all.extend(coin.value.to_sat().to_le_bytes());
        all.extend(script_len(coin.script.len()));
        all.extend(coin.script);
    }
    sha256d(&all)
}

#[test]
fn spending_fetching_ahead_and_undoing_keep_the_set_right() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, mut coins, state) = open(&dir);
    assert!(state.is_empty());
    let (mut expected, mut script) = (BTreeMap::new(), Vec::new());
    let outpoint =
        |n: u64| OutPoint { txid: Txid(sha256(&(n / 300).to_le_bytes())), vout: n as u32 % 300 };
    for n in 0..6000 {
        assert!(add(&mut coins, &key(&outpoint(n)), &coin(n, &mut script)));
        expected.insert((outpoint(n).txid, outpoint(n).vout), n);
    }
    store.commit(&mut [CommitPart::Table(&mut coins)], b"six thousand").unwrap();
    let before = statistics(&coins).unwrap();
    assert_eq!((before.coins, before.transactions), (6000, 20));
    assert_eq!(before.hash_serialized, naive_hash(&expected));

    let spent: Vec<u64> = (0..6000).filter(|n| n % 7 < 3).collect();
    let keys: Vec<_> = spent.iter().map(|n| key(&outpoint(*n))).collect();
    let (mut fetched, mut undo) = (Fetched::default(), Vec::new());
    coins.snapshot().fetch(&keys, &mut fetched).unwrap();
    for (at, n) in spent.iter().enumerate() {
        let start = undo.len();
        assert!(coins.take(&keys[at], fetched.hint(at), &mut undo).unwrap());
        assert!(!coins.take(&keys[at], fetched.hint(at), &mut undo).unwrap());
        let packed = PackedCoin::unpack(&undo[start..]).unwrap();
        assert_eq!(packed.coin(&mut Vec::new()), coin(*n, &mut script));
        expected.remove(&(outpoint(*n).txid, outpoint(*n).vout));
        if at == spent.len() / 2 {
            store.commit(&mut [CommitPart::Table(&mut coins)], b"half").unwrap();
        }
    }
    let after = statistics(&coins).unwrap();
    assert_eq!(after.coins, expected.len() as u64);
    assert_eq!(after.hash_serialized, naive_hash(&expected));

    for (n, key) in spent.iter().zip(&keys) {
        let mut packed = Vec::new();
        PackedCoin::pack(&coin(*n, &mut script), &mut packed);
        coins.insert(key, &packed).unwrap();
    }
    assert_eq!(statistics(&coins).unwrap(), before);
    drop((store, coins));
    assert_eq!(open(&dir).2, b"half");
}

#[test]
fn unspendable_outputs_are_not_added_and_broken_coins_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, mut coins, _) = open(&dir);
    let long = vec![0x51; 10_001];
    for script in [&[0x6a][..], &[0x6a, 1, 2], &long] {
        let coin = Coin { height: 1, coinbase: false, value: Amount::from_sat(0), script };
        assert!(!add(&mut coins, &[1; 36], &coin));
    }
    let coin = Coin { height: 1, coinbase: false, value: Amount::from_sat(5), script: &long[1..] };
    assert!(add(&mut coins, &[1; 36], &coin));
    assert_eq!(coins.len(), 1);
    coins.insert(&[2; 36], &[255]).unwrap();
    let error = statistics(&coins).unwrap_err();
    assert!(matches!(&error, CoinsError::Malformed { key, .. } if *key == [2; 36]), "{error}");
}
