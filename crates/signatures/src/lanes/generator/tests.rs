//! The table against libsecp256k1.

use super::*;
use crate::lanes::big::for_all_limbs;
use crate::lanes::secp256k1::Secp256k1;
use core::ptr;
use num_bigint::BigUint;
use secp256k1::{PublicKey, SecretKey};

fn entries<L: Limb>(proof: L::Proof) {
    let table = make::<L, Secp256k1>(proof).unwrap();
    for (place, multiples) in table.iter().enumerate() {
        for i in [0, 1, 2, 3, 100, MULTIPLES / 2, MULTIPLES - 1] {
            let number = BigUint::from(2 * i + 1) << (WIDTH * place);
            let Some(padding) = 32usize.checked_sub(number.to_bytes_be().len()) else { continue };
            let mut bytes = [0; 32];
            bytes[padding..].copy_from_slice(&number.to_bytes_be());
            let Ok(secret) = SecretKey::from_secret_bytes(bytes) else { continue };
            let [_form, key @ ..] = PublicKey::from_secret_key(&secret).serialize_uncompressed();
            let (words, _) = key.as_chunks::<8>();
            let word = |at: usize| u64::from_be_bytes(words[at]);
            // x and then y, the lowest word first
            let expected = [3, 2, 1, 0, 7, 6, 5, 4].map(word);
            assert_eq!(multiples[i].0, expected, "place {place}, multiple {}", 2 * i + 1);
        }
    }
}

#[test]
fn entries_are_the_odd_multiples_of_powers() {
    for_all_limbs!(entries);
}

fn shared<L: Limb>(proof: L::Proof) {
    let table = || Generator::shared::<L, Secp256k1>(proof).unwrap();
    std::thread::scope(|scope| {
        let threads: [_; 4] =
            core::array::from_fn(|_| scope.spawn(move || ptr::from_ref(table()) as usize));
        let [first, rest @ ..] = threads.map(|thread| thread.join().unwrap());
        assert!(rest.iter().all(|other| *other == first));
    });
}

#[test]
fn threads_share_one_table() {
    for_all_limbs!(shared);
}
