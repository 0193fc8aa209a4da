//! Published signatures: those of project Wycheproof for ECDSA and of BIP340. They are read from
//! the copy of libsecp256k1 in the source of Bitcoin Core, whose folder `src` the variable
//! `BLOCKMILL_CORE_SOURCE` names.

use std::path::PathBuf;

use blockmill_crypto::{EcdsaCheck, Key, SchnorrCheck, Signatures, Variant, sha256};
use secp256k1::ecdsa::Signature;
use serde_json::Value;

fn read(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("BLOCKMILL_CORE_SOURCE") else {
        println!("skipped: BLOCKMILL_CORE_SOURCE is not set");
        return None;
    };
    let path = PathBuf::from(folder).join("secp256k1/src").join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}")))
}

fn every_variant() -> impl Iterator<Item = Signatures> {
    let each = Variant::ALL.into_iter().filter_map(Signatures::with);
    each.map(Signatures::at_any_cost)
}

fn unhex(digits: &Value) -> Vec<u8> {
    let digits = digits.as_str().unwrap().as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[test]
fn ecdsa_of_wycheproof() {
    let Some(text) = read("wycheproof/ecdsa_secp256k1_sha256_bitcoin_test.json") else { return };
    let file: Value = serde_json::from_str(&text).unwrap();
    let (mut checks, mut expected) = (Vec::new(), Vec::new());
    for group in file["testGroups"].as_array().unwrap() {
        let key = unhex(&group["publicKey"]["uncompressed"]).try_into().unwrap();
        for test in group["tests"].as_array().unwrap() {
            let Ok(signature) = Signature::from_der(&unhex(&test["sig"])) else {
                assert_eq!(test["result"], "invalid", "{test}");
                continue;
            };
            let mut low = signature;
            low.normalize_s();
            if low != signature {
                // this file calls every large s invalid; that is for our callers to do
                assert_eq!(test["result"], "invalid", "{test}");
                continue;
            }
            let compact = signature.serialize_compact();
            let (r, s) = compact.split_at(32);
            let (r, s) = (r.try_into().unwrap(), s.try_into().unwrap());
            let digest = sha256(&unhex(&test["msg"]));
            checks.push(EcdsaCheck { digest, r, s, key: Key::Uncompressed(key) });
            expected.push(test["result"] == "valid");
        }
    }
    assert!(checks.len() > 250, "{} signatures", checks.len());
    for signatures in every_variant() {
        let mut valid = vec![false; checks.len()];
        signatures.ecdsa(&checks, &mut valid);
        assert_eq!(valid, expected, "{:?}", signatures.variant());
    }
}

/// The bytes of `const unsigned char name[...] = { ... }` in a block of C.
fn array<const L: usize>(block: &str, name: &str) -> Option<[u8; L]> {
    let (_, rest) = block.split_once(&format!("const unsigned char {name}[{L}] = {{"))?;
    let (body, _) = rest.split_once('}')?;
    let bytes = body.split(',').map(|byte| byte.trim().trim_start_matches("0x"));
    let bytes: Option<Vec<u8>> = bytes.map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[test]
fn schnorr_of_bip340() {
    let Some(text) = read("modules/schnorrsig/tests_impl.h") else { return };
    let (mut checks, mut expected) = (Vec::new(), Vec::new());
    for block in text.split("/* Test vector ").skip(1) {
        // messages of other lengths are not for us
        let (Some(key), Some(message), Some(signature)) =
            (array(block, "pk"), array(block, "msg"), array(block, "sig"))
        else {
            continue;
        };
        let verdicts = ["sig, 0)", "sig, 1)"].map(|verdict| block.contains(verdict));
        let [is_invalid, is_valid] = verdicts;
        assert!(is_invalid != is_valid);
        checks.push(SchnorrCheck { message, signature, key });
        expected.push(is_valid);
    }
    assert!(checks.len() >= 12, "{} signatures", checks.len());
    for signatures in every_variant() {
        let mut valid = vec![false; checks.len()];
        signatures.schnorr(&checks, &mut valid);
        assert_eq!(valid, expected, "{:?}", signatures.variant());
    }
}
