//! ECDSA signatures over P-256, by the maker of `generated_p256`.

use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, Width};
use num_bigint::BigUint;
use std::sync::LazyLock;

use super::generated_p256;
use super::{Generator, Kind, random, structured};

type Case = (EcdsaCheck, Option<bool>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<EcdsaCheck, bool>; 11] = [
    random("signatures", |cases| (cases.p256.maker.random(), Some(true))),
    random("one number replaced by a random one", replaced),
    structured("chosen multipliers", |cases| {
        let key = cases.p256.maker.chosen_secret();
        cases.p256.multipliers(&key)
    }),
    structured("chosen multipliers of repeated keys", |cases| {
        let key = cases.p256.regular();
        cases.p256.multipliers(&key)
    }),
    structured("sums at infinity", |cases| {
        let key = cases.p256.maker.chosen_secret();
        (cases.p256.maker.infinite(&key), Some(false))
    }),
    structured("sums at infinity of repeated keys", |cases| {
        let key = cases.p256.regular();
        (cases.p256.maker.infinite(&key), Some(false))
    }),
    structured("numbers at their bounds", |cases| {
        let key = cases.p256.any_key();
        (cases.p256.maker.edged(&key), None)
    }),
    structured("a flipped bit or another form", |cases| {
        let key = cases.p256.any_key();
        (cases.p256.maker.spoilt(&key), None)
    }),
    structured("r or r + n", |cases| (cases.p256.maker.small_r(), Some(true))),
    structured("a digest of n", |cases| {
        let check = cases.p256.maker.small_r();
        let digest = generated_p256::bytes(&cases.p256.maker.n);
        (EcdsaCheck { digest, ..check }, Some(true))
    }),
    structured("repeated keys", |cases| {
        let key = cases.p256.regular();
        (cases.p256.maker.by(&key), Some(true))
    }),
];

/// The generator, and keys that sign repeatedly.
pub struct P256 {
    maker: generated_p256::Generator,
    regulars: Vec<BigUint>,
}

impl P256 {
    pub fn new(seed: u64) -> Self {
        let mut maker = generated_p256::Generator::new(seed);
        // small ones meet their own multiples
        let small = (1u8..4).map(BigUint::from);
        let regulars = (0..12).map(|_| maker.any()).chain(small).collect();
        P256 { maker, regulars }
    }

    fn regular(&mut self) -> BigUint {
        let i = self.maker.random.below(self.regulars.len());
        self.regulars[i].clone()
    }

    fn any_key(&mut self) -> BigUint {
        if self.maker.random.below(2) == 0 { self.regular() } else { self.maker.any() }
    }

    fn multipliers(&mut self, key: &BigUint) -> Case {
        loop {
            if let Some(check) = self.maker.chosen_multipliers(key) {
                return (check, Some(true));
            }
        }
    }
}

fn replaced(cases: &mut Generator) -> Case {
    let mut check = cases.p256.maker.random();
    let bytes = cases.p256.maker.random.bytes();
    match cases.p256.maker.random.below(4) {
        0 => check.digest = bytes,
        1 => check.r = bytes,
        2 => check.s = bytes,
        _ => match &mut check.key {
            Key::Compressed(key) => key[1..].copy_from_slice(&bytes),
            Key::Uncompressed(key) => key[1..33].copy_from_slice(&bytes),
        },
    }
    (check, Some(false))
}

/// With no table, with few, or with one for each key, as the length of the batch has it; AWS-LC's
/// answers in place of those one by one, which have to be the same.
pub fn verify(signatures: &Signatures, checks: &[EcdsaCheck], valid: &mut [bool]) {
    static TABLES: LazyLock<[KeyTables; 3]> =
        LazyLock::new(|| [0, 300_000, 50_000_000].map(KeyTables::new));
    if signatures.width() == Width::Scalar {
        for (check, valid) in checks.iter().zip(valid) {
            *valid = generated_p256::by_aws_lc(check);
        }
        return;
    }
    signatures.p256(checks, &TABLES[checks.len() % TABLES.len()], valid);
}
