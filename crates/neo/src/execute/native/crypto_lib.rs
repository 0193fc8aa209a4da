//! CryptoLib: hashes and signatures.

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use ripemd::{Digest, Ripemd160};

use super::{Definition, Method, no_state, nothing, points_arithmetic as points};
use crate::execute::{
    contract::ParamType,
    engine::{Engine, flags::NONE},
    interop::{keys, murmur::murmur32},
    vm::{Fault, Item},
};
use crate::params::Hardfork;
use blockmill_hashes::{keccak256, sha256};
use blockmill_signatures::{EcdsaCheck, Key, Signatures, is_public_key, recover};

const ID: i32 = -3;
const BIG: u64 = 1 << 15;

use Hardfork::{Cockatrice, Echidna, Gorgon};
use ParamType::{Boolean, ByteArray, Integer, InteropInterface};

type Parameters = &'static [(&'static str, ParamType)];
type Answer = Result<Option<Item>, Fault>;

const DATA: Parameters = &[("data", ByteArray)];
const SEEDED: Parameters = &[("data", ByteArray), ("seed", Integer)];
const ECDSA: Parameters =
    &[("message", ByteArray), ("pubkey", ByteArray), ("signature", ByteArray), ("curve", Integer)];
const ECDSA_HASH: Parameters = &[
    ("message", ByteArray),
    ("pubkey", ByteArray),
    ("signature", ByteArray),
    ("curveHash", Integer),
];
const ED25519: Parameters =
    &[("message", ByteArray), ("pubkey", ByteArray), ("signature", ByteArray)];
const RECOVER: Parameters = &[("messageHash", ByteArray), ("signature", ByteArray)];
const POINT: Parameters = &[("g", InteropInterface)];
const TWO: Parameters = &[("x", InteropInterface), ("y", InteropInterface)];
const MUL: Parameters = &[("x", InteropInterface), ("mul", ByteArray), ("neg", Boolean)];
const PAIR: Parameters = &[("g1", InteropInterface), ("g2", InteropInterface)];

static METHODS: [Method; 16] = [
    Method::new("sha256", DATA, ByteArray, BIG, NONE, sha_256),
    Method::new("ripemd160", DATA, ByteArray, BIG, NONE, ripemd_160),
    Method::new("murmur32", SEEDED, ByteArray, 1 << 13, NONE, murmur),
    Method::new("keccak256", DATA, ByteArray, BIG, NONE, keccak_256).from(Cockatrice),
    Method::new("verifyWithECDsa", ECDSA, Boolean, BIG, NONE, verify_ecdsa).till(Cockatrice),
    Method::new("verifyWithECDsa", ECDSA_HASH, Boolean, BIG, NONE, verify_ecdsa)
        .from(Cockatrice)
        .till(Gorgon),
    Method::new("verifyWithECDsa", ECDSA_HASH, Boolean, BIG, NONE, verify_ecdsa).from(Gorgon),
    Method::new("verifyWithEd25519", ED25519, Boolean, BIG, NONE, verify_ed25519)
        .from(Echidna)
        .till(Gorgon),
    Method::new("verifyWithEd25519", ED25519, Boolean, BIG, NONE, verify_ed25519).from(Gorgon),
    Method::new("recoverSecp256K1", RECOVER, ByteArray, BIG, NONE, recover_key).from(Echidna),
    Method::new("bls12381Serialize", POINT, ByteArray, 1 << 19, NONE, points::serialize),
    Method::new("bls12381Deserialize", DATA, InteropInterface, 1 << 19, NONE, points::deserialize),
    Method::new("bls12381Equal", TWO, Boolean, 1 << 5, NONE, points::equal),
    Method::new("bls12381Add", TWO, InteropInterface, 1 << 19, NONE, points::add),
    Method::new("bls12381Mul", MUL, InteropInterface, 1 << 21, NONE, points::multiply),
    Method::new("bls12381Pairing", PAIR, InteropInterface, 1 << 23, NONE, points::pair),
];

pub(super) static DEFINITION: Definition = Definition {
    name: "CryptoLib",
    id: ID,
    active_in: None,
    methods: &[&METHODS],
    events: &[],
    standards: &[],
    initialize: no_state,
    on_persist: nothing,
    post_persist: nothing,
};

fn sha_256(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    Ok(Some(Item::bytes(&arguments[0].with_bytes(sha256)?)))
}

fn ripemd_160(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    Ok(Some(Item::bytes(&arguments[0].with_bytes(|bytes| Ripemd160::digest(bytes))?)))
}

fn keccak_256(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    Ok(Some(Item::bytes(&arguments[0].with_bytes(keccak256)?)))
}

fn murmur(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let seed = u32::try_from(arguments[1].to_i64()?)
        .map_err(|_| Fault::Rule("invalid value: bigint is not in uint32 range"))?;
    let hash = arguments[0].with_bytes(|bytes| murmur32(bytes, seed))?;
    Ok(Some(Item::bytes(&hash.to_le_bytes())))
}

const UNKNOWN_CURVE: &str =
    "invalid curveHash stackitem: unsupported operation: unknown curve/hash";

fn verify_ecdsa(engine: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let [message, key, signature] = signed(arguments)?;
    let keccak = engine.is_active(Cockatrice);
    let (koblitz, digest) = match arguments[3].to_i64()? {
        22 => (true, sha256(&message)),
        23 => (false, sha256(&message)),
        122 if keccak => (true, keccak256(&message)),
        123 if keccak => (false, keccak256(&message)),
        _ => return Err(Fault::Rule(UNKNOWN_CURVE)),
    };
    let key = match koblitz {
        true => Err(koblitz_key(&key)?),
        false => Ok(keys::public_key(&key).map_err(|fault| undecoded(&fault.to_string()))?),
    };
    if engine.is_active(Gorgon) {
        check_length("signature", 64, &signature)?;
    }
    Ok(Some(Item::Bool(match key {
        Ok(key) => keys::verify(&key, digest, &signature),
        Err(key) => verify_koblitz(key, digest, &signature),
    })))
}

/// Message, key and signature.
fn signed(arguments: &[Item]) -> Result<[Vec<u8>; 3], Fault> {
    let named = |at: usize, what| named_bytes(&arguments[at], what);
    Ok([named(0, "message")?, named(1, "pubkey")?, named(2, "signature")?])
}

fn named_bytes(item: &Item, what: &str) -> Result<Vec<u8>, Fault> {
    let named = |fault| Fault::Message(format!("invalid {what} stackitem: {fault}"));
    item.to_bytes().map_err(named)
}

fn check_length(what: &str, expected: usize, bytes: &[u8]) -> Result<(), Fault> {
    let found = bytes.len();
    let text = || format!("invalid {what} length: expected {expected}, got {found}");
    if expected == found { Ok(()) } else { Err(Fault::Message(text())) }
}

fn undecoded(why: &str) -> Fault {
    Fault::Message(format!("failed to decode pubkey: {why}"))
}

/// A point of secp256k1.
fn koblitz_key(bytes: &[u8]) -> Result<Key, Fault> {
    let read = |bytes: &[u8]| {
        if let Ok(key) = <[u8; 65]>::try_from(bytes) {
            return (key[0] == 4 && is_public_key(&key)).then_some(Key::Uncompressed(key));
        }
        let key: [u8; 33] = bytes.try_into().ok()?;
        let mut x = [0; 32];
        x.copy_from_slice(&key[1..]);
        let valid = matches!(key[0], 2 | 3)
            && blockmill_signatures::uncompress_public_key(&x, key[0] == 3).is_some();
        valid.then_some(Key::Compressed(key))
    };
    read(bytes).ok_or_else(|| undecoded(&keys::refusal(bytes, read)))
}

fn verify_koblitz(key: Key, digest: [u8; 32], signature: &[u8]) -> bool {
    let Ok(signature) = <&[u8; 64]>::try_from(signature) else { return false };
    let mut check = EcdsaCheck { digest, r: [0; 32], s: [0; 32], key };
    check.r.copy_from_slice(&signature[..32]);
    check.s.copy_from_slice(&signature[32..]);
    let mut valid = [false];
    Signatures::detect().ecdsa(&[check], &mut valid);
    valid[0]
}

fn verify_ed25519(engine: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let [message, key, signature] = signed(arguments)?;
    let lengths =
        check_length("signature", 64, &signature).and_then(|()| check_length("pubkey", 32, &key));
    match lengths {
        Err(fault) if engine.is_active(Gorgon) => return Err(fault),
        Err(_) => return Ok(Some(Item::Bool(false))),
        Ok(()) => {}
    }
    Ok(Some(Item::Bool(signed_by_ed25519(&key, &message, &signature))))
}

/// Verifies an Ed25519 signature as Go's `crypto/ed25519` and the C# node's library do:
/// non-canonical keys and keys of small order are valid.
fn signed_by_ed25519(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = key.try_into().ok().and_then(|key| VerifyingKey::from_bytes(key).ok());
    let signature = Signature::from_slice(signature).ok();
    key.zip(signature).is_some_and(|(key, signature)| key.verify(message, &signature).is_ok())
}

/// The compressed key that signed a digest; null if there is none.
fn recover_key(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let digest = named_bytes(&arguments[0], "message hash")?;
    let Ok(digest) = <[u8; 32]>::try_from(digest) else { return Ok(Some(Item::Null)) };
    let signature = named_bytes(&arguments[1], "signature")?;
    Ok(Some(key_of(&digest, &signature).map_or(Item::Null, |key| Item::bytes(&key))))
}

fn key_of(digest: &[u8; 32], signature: &[u8]) -> Option<[u8; 33]> {
    let (mut s, mut r) = ([0; 32], [0; 32]);
    r.copy_from_slice(signature.get(..32)?);
    s.copy_from_slice(signature.get(32..64)?);
    let id = match signature.len() {
        // EIP-2098: the highest bit of s is the recovery id
        64 => {
            let odd = s[0] >> 7;
            s[0] &= 0x7f;
            odd
        }
        65 if signature[64] < 27 => signature[64],
        65 => signature[64] - 27,
        _ => return None,
    };
    let key = match id {
        0 | 1 => recover(digest, &r, &s, id == 1).ok()?,
        2 | 3 => {
            let wanted =
                [blockmill_signatures::Recovery { digest: *digest, r, s, recovery_id: id }];
            let mut keys = [None];
            Signatures::detect().recover(&wanted, &mut keys);
            keys[0]?
        }
        _ => return None,
    };
    let mut compressed = [0; 33];
    compressed[0] = 2 + (key[63] & 1);
    compressed[1..].copy_from_slice(&key[..32]);
    Some(compressed)
}
