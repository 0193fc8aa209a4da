//! Public keys and signatures over P-256, and the scripts of their accounts.

use std::sync::LazyLock;

use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures};

use super::syscalls::number;
use crate::{
    execute::vm::{Fault, opcode},
    types::{PublicKey, UInt160, UInt256, point},
};

/// Memory for tables of keys that sign often.
const TABLE_BYTES: usize = 8 << 20;

static TABLES: LazyLock<KeyTables> = LazyLock::new(|| KeyTables::new(TABLE_BYTES));

/// A compressed point of P-256.
///
/// # Errors
///
/// Returns a fault with neo-go's message if the bytes are no key.
pub fn public_key(bytes: &[u8]) -> Result<PublicKey, Fault> {
    point::compressed(bytes).ok_or_else(|| Fault::Message(refusal(bytes, point::compressed)))
}

/// neo-go's message about an invalid key (`keys.PublicKey.DecodeBytes`). `read` decodes a key in
/// either form.
#[must_use]
pub fn refusal<T>(bytes: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> String {
    let end = |found: usize| if found == 0 { "EOF" } else { "unexpected EOF" };
    let (coordinates, off_curve) = match bytes.first() {
        None => return end(0).into(),
        Some(0) => return "point at infinity is not a valid key".into(),
        Some(2 | 3) => (1, "error computing Y for compressed point"),
        Some(4) => (2, "encoded point is not on the P256 curve"),
        Some(prefix) => return format!("invalid prefix {prefix}"),
    };
    match bytes.get(..=32 * coordinates) {
        // coordinates are read one after the other
        None => end((bytes.len() - 1) % 32),
        Some(key) if read(key).is_some() => "extra data",
        Some(_) => off_curve,
    }
    .into()
}

/// Reports whether a key signed a digest.
#[must_use]
pub fn verify(key: &PublicKey, digest: [u8; 32], signature: &[u8]) -> bool {
    let Ok(signature) = <&[u8; 64]>::try_from(signature) else { return false };
    let mut check = EcdsaCheck { digest, r: [0; 32], s: [0; 32], key: Key::Compressed(*key) };
    check.r.copy_from_slice(&signature[..32]);
    check.s.copy_from_slice(&signature[32..]);
    let mut valid = [false];
    Signatures::detect().p256(&[check], &TABLES, &mut valid);
    valid[0]
}

/// The signed digest of a transaction or block: SHA-256 of the network's magic and the hash.
#[must_use]
pub fn signed_digest(magic: u32, hash: &UInt256) -> [u8; 32] {
    let mut message = [0; 36];
    message[..4].copy_from_slice(&magic.to_le_bytes());
    message[4..].copy_from_slice(&hash.0);
    sha256(&message)
}

/// The account of a key.
#[must_use]
pub fn account(key: &PublicKey) -> [u8; 20] {
    let mut script = vec![opcode::PUSHDATA1, 33];
    script.extend_from_slice(key);
    script.push(opcode::SYSCALL);
    script.extend_from_slice(&number("System.Crypto.CheckSig").to_le_bytes());
    UInt160::of_script(&script).0
}

/// Sorts keys by their points.
pub fn sort(keys: &mut [PublicKey]) {
    keys.sort_by(point::compare);
}

/// The account that `needed` of the keys sign for.
///
/// # Errors
///
/// Returns a fault if `needed` is zero, exceeds the number of keys, or exceeds 1,024.
pub fn multisig_account(needed: usize, keys: &[PublicKey]) -> Result<[u8; 20], Fault> {
    let refused = match needed {
        0 => "param m cannot be smaller than 1, got 0".into(),
        _ if needed > keys.len() => {
            format!("length of the signatures ({needed}) is higher then the number of public keys")
        }
        _ if needed > 1_024 => "public key count exceeds maximum of length 1024".into(),
        _ => String::new(),
    };
    if !refused.is_empty() {
        return Err(Fault::Message(refused));
    }
    let mut keys = keys.to_vec();
    sort(&mut keys);
    let mut script = Vec::with_capacity(keys.len() * 35 + 11);
    push_number(&mut script, needed);
    for key in &keys {
        script.extend([opcode::PUSHDATA1, 33]);
        script.extend_from_slice(key);
    }
    push_number(&mut script, keys.len());
    script.push(opcode::SYSCALL);
    script.extend_from_slice(&number("System.Crypto.CheckMultisig").to_le_bytes());
    Ok(UInt160::of_script(&script).0)
}

/// The account of more than half of the keys.
///
/// # Errors
///
/// Returns a fault if there are no keys.
pub fn majority_account(keys: &[PublicKey]) -> Result<[u8; 20], Fault> {
    multisig_account(keys.len() - keys.len().saturating_sub(1) / 2, keys)
}

/// The account of the consensus nodes: `n - (n - 1) / 3` keys must sign.
///
/// # Errors
///
/// Returns a fault if there are no keys.
pub fn consensus_account(keys: &[PublicKey]) -> Result<[u8; 20], Fault> {
    multisig_account(keys.len() - keys.len().saturating_sub(1) / 3, keys)
}

fn push_number(script: &mut Vec<u8>, number: usize) {
    match number {
        0..=16 => script.push(opcode::PUSH0 + number as u8),
        17..=0x7f => script.extend([opcode::PUSHINT8, number as u8]),
        _ => {
            script.push(opcode::PUSHINT16);
            script.extend_from_slice(&(number as u16).to_le_bytes());
        }
    }
}
