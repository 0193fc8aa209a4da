//! Published signatures: those of project Wycheproof for ECDSA, of BIP340, and the edge cases of
//! libsecp256k1's tests of recovery. They are read from the copy of libsecp256k1 in the source of
//! Bitcoin Core.

use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, Width};
use secp256k1::ecdsa::Signature;
use serde_json::Value;

/// Batches: one at a time, about a vector or two, about the most that share an inversion, and all.
const BATCHES: [usize; 14] = [1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 255, 256, 257, 100_000];

fn read(name: &str) -> String {
    let path = blockmill_testkit::path_of("core_source").join("secp256k1/src").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// All answers are the expected ones, in every way and in batches of every size.
fn hold<T, U: Clone + Default + PartialEq + std::fmt::Debug>(
    what: &str,
    items: &[T],
    expected: &[U],
    run: fn(&Signatures, &[T], &mut [U]),
) {
    assert_eq!(items.len(), expected.len());
    let each = Width::ALL.into_iter().filter_map(Signatures::with);
    for signatures in each.flat_map(|signatures| [signatures, signatures.at_any_cost()]) {
        for batch in BATCHES {
            let mut found = vec![U::default(); items.len()];
            for (items, found) in items.chunks(batch).zip(found.chunks_mut(batch)) {
                run(&signatures, items, found);
            }
            assert_eq!(found, expected, "{what}, {signatures:?}, batches of {batch}");
        }
        println!("{what}: {} by {}", items.len(), signatures.width().name());
    }
}

fn unhex(digits: &Value) -> Vec<u8> {
    blockmill_testkit::hex::decode(digits.as_str().unwrap())
}

fn numbers(compact: &[u8; 64]) -> ([u8; 32], [u8; 32]) {
    let (r, s) = compact.split_at(32);
    (r.try_into().unwrap(), s.try_into().unwrap())
}

/// A published signature that is well formed, and whether it is valid.
struct Published {
    digest: [u8; 32],
    r: [u8; 32],
    s: [u8; 32],
    key: [u8; 65],
    is_valid: bool,
}

/// Those of Wycheproof with a small s; how many are in the file, and how many are not well formed.
fn wycheproof() -> Vec<Published> {
    let text = read("wycheproof/ecdsa_secp256k1_sha256_bitcoin_test.json");
    let file: Value = serde_json::from_str(&text).unwrap();
    let (mut published, mut malformed, mut large) = (vec![], 0, 0);
    for group in file["testGroups"].as_array().unwrap() {
        let key = unhex(&group["publicKey"]["uncompressed"]).try_into().unwrap();
        for test in group["tests"].as_array().unwrap() {
            let Ok(signature) = Signature::from_der(&unhex(&test["sig"])) else {
                assert_eq!(test["result"], "invalid", "{test}");
                malformed += 1;
                continue;
            };
            let mut low = signature;
            low.normalize_s();
            if low != signature {
                // this file calls every large s invalid; that is for our callers to do
                assert_eq!(test["result"], "invalid", "{test}");
                large += 1;
                continue;
            }
            let (r, s) = numbers(&signature.serialize_compact());
            let digest = sha256(&unhex(&test["msg"]));
            published.push(Published { digest, r, s, key, is_valid: test["result"] == "valid" });
        }
    }
    let (used, valid) = (published.len(), published.iter().filter(|one| one.is_valid).count());
    println!(
        "Wycheproof: {used} used, of which {valid} are valid; {malformed} malformed, {large} with \
         a large s"
    );
    assert_eq!(file["numberOfTests"], used + malformed + large);
    assert!(used > 250 && valid > 100);
    published
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn ecdsa_of_wycheproof() {
    let published = wycheproof();
    let check = |one: &Published| EcdsaCheck {
        digest: one.digest,
        r: one.r,
        s: one.s,
        key: Key::Uncompressed(one.key),
    };
    let mut checks: Vec<_> = published.iter().map(check).collect();
    let mut expected: Vec<_> = published.iter().map(|one| one.is_valid).collect();
    for one in &published {
        let mut key = [2 + (one.key[64] & 1); 33];
        key[1..].copy_from_slice(&one.key[1..33]);
        checks.push(EcdsaCheck { key: Key::Compressed(key), ..check(one) });
        expected.push(one.is_valid);
    }
    hold("Wycheproof, ECDSA, with long and short keys", &checks, &expected, Signatures::ecdsa);
}

/// A signature is valid for the keys that can be recovered from it and for no other.
#[blockmill_testkit::needs(core_source)]
#[test]
fn recovery_of_wycheproof() {
    let published = wycheproof();
    let recoveries: Vec<_> = published
        .iter()
        .flat_map(|one| {
            let Published { digest, r, s, .. } = *one;
            (0..4).map(move |recovery_id| Recovery { digest, r, s, recovery_id })
        })
        .collect();
    let mut keys = vec![None; recoveries.len()];
    Signatures::scalar().recover(&recoveries, &mut keys);
    for (one, keys) in published.iter().zip(keys.chunks(4)) {
        let key = one.key[1..].try_into().unwrap();
        assert_eq!(keys.contains(&Some(key)), one.is_valid);
    }
    hold("Wycheproof, recovery with every id", &recoveries, &keys, Signatures::recover);
}

/// The bytes of `const unsigned char name[...] = { ... }` in a block of C.
fn array<const L: usize>(block: &str, name: &str) -> Option<[u8; L]> {
    let (_, rest) = block.split_once(&format!("const unsigned char {name}[{L}] = {{"))?;
    let (body, _) = rest.split_once('}')?;
    let mut digits = body.to_string();
    while let Some((before, rest)) = digits.split_once("/*") {
        digits = format!("{before}{}", rest.split_once("*/")?.1);
    }
    let bytes = digits.split(',').map(str::trim).filter(|byte| !byte.is_empty());
    let byte = |byte: &str| match byte.as_bytes() {
        [b'\'', letter, b'\''] => Some(*letter),
        _ => u8::from_str_radix(byte.trim_start_matches("0x"), 16).ok(),
    };
    bytes.map(byte).collect::<Option<Vec<u8>>>()?.try_into().ok()
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn schnorr_of_bip340() {
    let text = read("modules/schnorrsig/tests_impl.h");
    let (mut checks, mut expected): (Vec<SchnorrCheck>, _) = (vec![], vec![]);
    let (mut bad_keys, mut other_lengths) = (vec![], 0);
    for block in text.split("/* Test vector ").skip(1) {
        let key: [u8; 32] = array(block, "pk").expect("every vector has a key");
        let Some(signature) = array(block, "sig") else {
            assert!(block.contains("!secp256k1_xonly_pubkey_parse"));
            bad_keys.push(key);
            continue;
        };
        let Some(message) = array(block, "msg") else {
            // messages of other lengths are not for us
            other_lengths += 1;
            continue;
        };
        let verdicts = ["sig, 0)", "sig, 1)"].map(|verdict| block.contains(verdict));
        let [is_invalid, is_valid] = verdicts;
        assert!(is_invalid != is_valid);
        checks.push(SchnorrCheck { message, signature, key });
        expected.push(is_valid);
    }
    println!("BIP340: {other_lengths} vectors with messages of other lengths are left out");
    assert_eq!((checks.len(), bad_keys.len(), other_lengths), (13, 2, 4));
    for key in bad_keys {
        checks.push(SchnorrCheck { key, ..checks[0] });
        expected.push(false);
    }
    hold("BIP340", &checks, &expected, Signatures::schnorr);
}

/// A signature of no key but with one id, and r = s = 4, from which each id recovers a key.
#[blockmill_testkit::needs(core_source)]
#[test]
fn edge_cases_of_recovery() {
    let text = read("modules/recovery/tests_impl.h");
    let (_, block) = text.split_once("static void test_ecdsa_recovery_edge_cases(void) {").unwrap();
    let digest = array(block, "msg32").unwrap();
    let of = |name| {
        let (r, s) = numbers(&array(block, name).unwrap());
        (0..4).map(move |recovery_id| Recovery { digest, r, s, recovery_id })
    };
    let recoveries: Vec<_> = of("sig64").chain(of("sigb64")).collect();
    let mut keys = vec![None; recoveries.len()];
    Signatures::scalar().recover(&recoveries, &mut keys);
    let has_key: Vec<_> = keys.iter().map(Option::is_some).collect();
    assert_eq!(has_key, [false, true, false, false, true, true, true, true]);
    hold("libsecp256k1, edge cases of recovery", &recoveries, &keys, Signatures::recover);

    let check = |(of, key): (&Recovery, &Option<[u8; 64]>)| {
        let mut long = [4; 65];
        long[1..].copy_from_slice(&(*key)?);
        Some(EcdsaCheck { digest, r: of.r, s: of.s, key: Key::Uncompressed(long) })
    };
    let checks: Vec<_> = recoveries.iter().zip(&keys).filter_map(check).collect();
    hold("the same with their keys", &checks, &[true; 5], Signatures::ecdsa);
}
