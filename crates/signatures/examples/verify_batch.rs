//! Verifies a batch of ECDSA signatures, one of them wrong, in the widest lanes of this CPU.

use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key, Signatures};
use secp256k1::{Message, PublicKey, SecretKey, ecdsa};
use std::time::Instant;

fn main() -> Result<(), secp256k1::Error> {
    let secret = SecretKey::from_secret_bytes([7; 32])?;
    let key = Key::Compressed(PublicKey::from_secret_key(&secret).serialize());
    let check = |i: u32| {
        let digest = sha256(&i.to_le_bytes());
        let numbers = ecdsa::sign(Message::from_digest(digest), &secret).serialize_compact();
        let (mut r, mut s) = ([0; 32], [0; 32]);
        r.copy_from_slice(&numbers[..32]);
        s.copy_from_slice(&numbers[32..]);
        EcdsaCheck { digest, r, s, key }
    };
    let mut checks: Vec<_> = (0..10_000).map(check).collect();
    checks[4_321].digest[0] ^= 1;

    let mut valid = vec![false; checks.len()];
    let start = Instant::now();
    Signatures::detect().ecdsa(&checks, &mut valid);
    println!("{} signatures in {:?}", checks.len(), start.elapsed());
    assert_eq!(valid.iter().position(|valid| !valid), Some(4_321));
    Ok(())
}
