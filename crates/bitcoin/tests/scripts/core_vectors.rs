//! Bitcoin Core's own vectors.

use super::assembly::{Assembler, Draft, DraftInput, compact_size};
use super::case::{ALL, Case, Coins, hex, vectors};
use blockmill_bitcoin::script::{Flags, LegacyHashes, SegwitHashes, Spend, TaprootHashes};
use blockmill_hashes::{sha256, sha256d};
use secp256k1::{Scalar, XOnlyPublicKey};
use serde_json::Value;

/// The rules of blocks among the named flags, and whether those are all of them.
fn flags(names: &str) -> (Flags, bool) {
    let (mut flags, mut known) = (Flags::NONE, true);
    for name in names.split(',') {
        flags = flags.with(match name {
            "" | "NONE" => Flags::NONE,
            "P2SH" => Flags::P2SH,
            "DERSIG" => Flags::DERSIG,
            "NULLDUMMY" => Flags::NULLDUMMY,
            "CHECKLOCKTIMEVERIFY" => Flags::CLTV,
            "CHECKSEQUENCEVERIFY" => Flags::CSV,
            "WITNESS" => Flags::WITNESS,
            "TAPROOT" => Flags::TAPROOT,
            _ => {
                known = false;
                Flags::NONE
            }
        });
    }
    (flags, known)
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn signature_hashes_of_random_transactions() {
    let rows = vectors("sighash.json");
    let mut checked = 0;
    for row in rows.iter().skip(1) {
        let script = hex(row[1].as_str().unwrap());
        let index = row[2].as_u64().unwrap() as usize;
        let hash_type = row[3].as_i64().unwrap() as i32 as u32;
        let mut expected = hex(row[4].as_str().unwrap());
        expected.reverse();
        let mut case = Case::new(&hex(row[0].as_str().unwrap()), Coins::default()).unwrap();
        for _ in &case.block.inputs[1..] {
            case.coins.push(0, &[]);
        }
        let coins = &case.coins.coins;
        let spend = Spend::new(&case.block, 1, coins, &case.coins.scripts).unwrap();
        let mut hashes = LegacyHashes::default();
        assert_eq!(hashes.hash(&spend, index, &script, hash_type)[..], expected, "{row}");
        // whatever was hashed before
        for i in [coins.len() - 1, 0] {
            let _ = hashes.hash(&spend, i, &script, 1);
        }
        assert_eq!(hashes.hash(&spend, index, &script, hash_type)[..], expected, "{row}");
        checked += 1;
    }
    assert!(checked >= 500);
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn script_tests() {
    let rows = vectors("script_tests.json");
    let assembler = Assembler::new(&blockmill_testkit::path_of("core_source"));
    let (mut exact, mut all, mut recognised) = (0, 0, 0);
    for row in rows.iter().map(|row| row.as_array().unwrap()).filter(|row| row.len() > 1) {
        let (witness, row) = match row.split_first().unwrap() {
            (Value::Array(witness), rest) => (&witness[..], rest),
            _ => (&[][..], &row[..]),
        };
        let text = |i: usize| row[i].as_str().unwrap();
        let mut value = 0;
        let mut items = Vec::new();
        let mut output = text(1).to_string();
        for item in witness {
            match item {
                Value::Number(amount) => {
                    value = (amount.as_f64().unwrap() * 1e8).round() as u64;
                }
                item => items.push(tapscript(&assembler, item.as_str().unwrap())),
            }
        }
        if let Some(at) = items.iter().position(|item| item == b"#CONTROLBLOCK#") {
            let script = items[at - 1].clone();
            let (key, control) = commit(&script);
            items[at] = control;
            let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            output = output.replace("#TAPROOTOUTPUT#", &format!("0x{key}"));
        }
        let (input, output) = (assembler.script(text(0)), assembler.script(&output));
        let case = credit_and_spend(value, &output, input, items);
        let (flags, known) = flags(text(2));
        let (verdict, counts) = case.verdict(flags);
        recognised += counts.forms.iter().sum::<u64>();
        let ok = text(3) == "OK";
        if known {
            assert_eq!(verdict.is_ok(), ok, "{row:?}");
            exact += 1;
        } else if ok {
            // other flags only forbid more
            assert!(verdict.is_ok(), "{row:?}");
        }
        for other in [Flags::NONE, Flags::P2SH, ALL, ALL.without(Flags::TAPROOT)] {
            case.accepts(other);
        }
        all += 1;
    }
    println!("{all} script tests, {exact} with rules of blocks only, {recognised} recognised");
    assert!(all > 1200 && exact > 200 && recognised > 20);
}

/// A witness item: hex, or a script to be committed to.
fn tapscript(assembler: &Assembler, item: &str) -> Vec<u8> {
    match item.strip_prefix("#SCRIPT#") {
        Some(script) => assembler.script(script),
        None if item == "#CONTROLBLOCK#" => item.as_bytes().to_vec(),
        None => hex(item),
    }
}

/// An output key that commits to `script` alone, and the proof.
pub fn commit(script: &[u8]) -> ([u8; 32], Vec<u8>) {
    let tagged = |tag: &[u8], message: &[u8]| {
        let tag = sha256(tag);
        sha256(&[&tag[..], &tag, message].concat())
    };
    let internal = secp256k1::constants::GENERATOR_X;
    let leaf = [&[0xc0][..], &compact_size(script.len()), script].concat();
    let root = tagged(b"TapLeaf", &leaf);
    let tweak = tagged(b"TapTweak", &[&internal[..], &root].concat());
    let key = XOnlyPublicKey::from_byte_array(internal).unwrap();
    let (output, parity) = key.add_tweak(&Scalar::from_be_bytes(tweak).unwrap()).unwrap();
    let control = [&[0xc0 + parity.to_u8()][..], &internal].concat();
    (output.to_byte_array(), control)
}

/// The spending transaction of script_tests.json.
fn credit_and_spend(value: u64, output: &[u8], script: Vec<u8>, witness: Vec<Vec<u8>>) -> Case {
    let credit = Draft {
        version: 1,
        inputs: vec![DraftInput {
            vout: u32::MAX,
            script: vec![0, 0],
            sequence: u32::MAX,
            ..DraftInput::default()
        }],
        outputs: vec![(value, output.to_vec())],
        lock_time: 0,
    };
    let txid = sha256d(&credit.encode());
    let input = DraftInput { txid, vout: 0, script, sequence: u32::MAX, witness };
    let outputs = vec![(value, Vec::new())];
    let spend = Draft { version: 1, inputs: vec![input], outputs, lock_time: 0 };
    let mut coins = Coins::default();
    coins.push(value, output);
    Case::new(&spend.encode(), coins).unwrap()
}

/// The transaction of a row of tx_valid.json or tx_invalid.json, and its coins in order.
fn transaction_of(assembler: &Assembler, row: &[Value]) -> Option<Case> {
    let bytes = hex(row[1].as_str().unwrap());
    let probe = Case::new(&bytes, Coins::default())?;
    let mut coins = Coins::default();
    for input in &probe.block.inputs[1..] {
        let outpoint = probe.block.outpoint(input);
        let spent = row[0].as_array().unwrap().iter().find(|coin| {
            let mut txid = hex(coin[0].as_str().unwrap());
            txid.reverse();
            txid == outpoint.txid.0 && coin[1].as_i64().unwrap() as u32 == outpoint.vout
        })?;
        let value = spent.get(3).map_or(0, |value| value.as_u64().unwrap());
        coins.push(value, &assembler.script(spent[2].as_str().unwrap()));
    }
    Case::new(&bytes, coins)
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn valid_transactions() {
    let rows = vectors("tx_valid.json");
    let assembler = Assembler::new(&blockmill_testkit::path_of("core_source"));
    let (mut checked, mut recognised) = (0, 0);
    for row in rows.iter().map(|row| row.as_array().unwrap()).filter(|row| row.len() > 1) {
        let case = transaction_of(&assembler, row).unwrap();
        // the flags under which it is not valid
        let excluded = flags(row[2].as_str().unwrap()).0;
        let (verdict, counts) = case.verdict(ALL.without(excluded));
        recognised += counts.forms.iter().sum::<u64>();
        assert_eq!(verdict, Ok(()), "{row:?}");
        checked += 1;
    }
    println!("{checked} valid transactions, {recognised} inputs recognised");
    assert!(checked > 100 && recognised > 40);
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn invalid_transactions() {
    let rows = vectors("tx_invalid.json");
    let assembler = Assembler::new(&blockmill_testkit::path_of("core_source"));
    let mut checked = 0;
    for row in rows.iter().map(|row| row.as_array().unwrap()).filter(|row| row.len() > 1) {
        let (flags, known) = flags(row[2].as_str().unwrap());
        let Some(case) = transaction_of(&assembler, row) else { continue };
        let accepted = case.accepts(flags);
        // others are no faults of scripts (BADTX), or of rules that blocks do not have
        if known {
            assert!(!accepted, "{row:?}");
            checked += 1;
        }
    }
    println!("{checked} invalid transactions");
    assert!(checked > 60);
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn taproot_hashes_and_signatures_of_wallets() {
    let folder = blockmill_testkit::path_of("core_source");
    let path = folder.join("test/data/bip341_wallet_vectors.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for vector in all["keyPathSpending"].as_array().unwrap() {
        let mut coins = Coins::default();
        for coin in vector["given"]["utxosSpent"].as_array().unwrap() {
            let script = hex(coin["scriptPubKey"].as_str().unwrap());
            coins.push(coin["amountSats"].as_u64().unwrap(), &script);
        }
        let unsigned = hex(vector["given"]["rawUnsignedTx"].as_str().unwrap());
        let case = Case::new(&unsigned, coins.clone()).unwrap();
        let spend = Spend::new(&case.block, 1, &coins.coins, &coins.scripts).unwrap();
        let (mut segwit, mut taproot) = (SegwitHashes::default(), TaprootHashes::default());
        for input in vector["inputSpending"].as_array().unwrap() {
            let index = input["given"]["txinIndex"].as_u64().unwrap() as usize;
            let hash_type = input["given"]["hashType"].as_u64().unwrap() as u8;
            let hash = taproot.hash(&mut segwit, &spend, index, None, hash_type);
            let expected = hex(input["intermediary"]["sigHash"].as_str().unwrap());
            assert_eq!(hash.unwrap()[..], expected);
        }
        let signed = hex(vector["auxiliary"]["fullySignedTx"].as_str().unwrap());
        let (verdict, counts) = Case::new(&signed, coins).unwrap().verdict(ALL);
        assert_eq!(verdict, Ok(()));
        assert_eq!(counts.library, 0, "every input has a standard form");
        assert_eq!(counts.forms.iter().sum::<u64>(), 9);
    }
}
