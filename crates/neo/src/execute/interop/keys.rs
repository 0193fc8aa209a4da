//! Public keys and signatures over P-256, and the scripts of their accounts.

use std::cmp::Ordering;
use std::sync::LazyLock;

use crypto::{EcdsaCheck, Key, KeyTables, Signatures, is_p256_key, sha256};

use num_bigint::BigUint;

use super::syscalls::number;
use crate::{
    execute::vm::{Fault, opcode},
    types::{PublicKey, UInt160, UInt256},
};

/// Memory for tables of keys that sign often.
const TABLE_BYTES: usize = 8 << 20;

static TABLES: LazyLock<KeyTables> = LazyLock::new(|| KeyTables::new(TABLE_BYTES));

/// A compressed point of P-256.
///
/// # Errors
///
/// The bytes are none.
pub fn public_key(bytes: &[u8]) -> Result<PublicKey, Fault> {
    let key = match *bytes {
        [4, ..] if bytes.len() == 65 => {
            if !is_on_curve(&bytes[1..33], &bytes[33..]) {
                return Err(Fault::Rule("not a point of P-256"));
            }
            let mut key = [0; 33];
            key[0] = 2 + (bytes[64] & 1);
            key[1..].copy_from_slice(&bytes[1..33]);
            key
        }
        _ => bytes.try_into().map_err(|_| Fault::Length { expected: 33, found: bytes.len() })?,
    };
    if is_p256_key(&key) { Ok(key) } else { Err(Fault::Rule("not a key of P-256")) }
}

fn hex(digits: &[u8]) -> BigUint {
    BigUint::parse_bytes(digits, 16).unwrap_or_default()
}

/// The prime of P-256.
fn prime() -> BigUint {
    hex(b"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
}

/// `x^3 - 3x + b`, which is `y^2` of a point (FIPS 186-4, D.1.2.3).
fn square_of_y(x: &BigUint, p: &BigUint) -> BigUint {
    let b = hex(b"5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b");
    // minus 3 is p - 3
    (x * x * x + (p - 3u8) * x + b) % p
}

fn is_on_curve(x: &[u8], y: &[u8]) -> bool {
    let (p, x, y) = (prime(), BigUint::from_bytes_be(x), BigUint::from_bytes_be(y));
    x < p && y < p && &y * &y % &p == square_of_y(&x, &p)
}

/// The `y` of a key's point.
fn y_of(key: &PublicKey) -> BigUint {
    let p = prime();
    let square = square_of_y(&BigUint::from_bytes_be(&key[1..]), &p);
    // p is 3 modulo 4
    let root = square.modpow(&((&p + 1u8) >> 2), &p);
    match root.bit(0) == (key[0] & 1 == 1) {
        true => root,
        false => p - root,
    }
}

/// The order of points (`PublicKey.Cmp`): by x; the two points that have the same by y.
#[must_use]
pub fn compare(a: &PublicKey, b: &PublicKey) -> Ordering {
    a[1..].cmp(&b[1..]).then_with(|| match a[0] == b[0] {
        true => Ordering::Equal,
        false => y_of(a).cmp(&y_of(b)),
    })
}

/// Whether a key signed a digest.
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

/// What is signed of a transaction or a block: the network's number and the hash.
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
    keys.sort_by(compare);
}

/// The account for which `needed` of the keys sign.
///
/// # Errors
///
/// Fewer than one, more than keys, or more than 1,024.
pub fn multisig_account(needed: usize, keys: &[PublicKey]) -> Result<[u8; 20], Fault> {
    if needed < 1 || needed > keys.len() || needed > 1_024 {
        return Err(Fault::Range("number of signatures"));
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
/// No keys.
pub fn majority_account(keys: &[PublicKey]) -> Result<[u8; 20], Fault> {
    multisig_account(keys.len() - keys.len().saturating_sub(1) / 2, keys)
}

/// The account of so many keys that no third part of them can do without the others.
///
/// # Errors
///
/// No keys.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_by_x_and_then_by_y() {
        // the generator: its y begins with 0x4f, so that of its negative is the larger one
        let x = hex(b"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296");
        let y = hex(b"4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
        let key = |odd: u8| {
            let mut key = [2 + odd; 33];
            key[1..].copy_from_slice(&x.to_bytes_be());
            key
        };
        assert_eq!((y_of(&key(1)), y_of(&key(0))), (y.clone(), prime() - y));
        assert_eq!(compare(&key(1), &key(0)), Ordering::Less);
        assert_eq!(compare(&key(0), &key(0)), Ordering::Equal);
        let mut next = key(1);
        next[32] += 1;
        assert_eq!(compare(&next, &key(0)), Ordering::Greater);
    }
}
