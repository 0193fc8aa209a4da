//! Every way of verifying signatures gives the answers of libsecp256k1, on random signatures and on
//! made ones: equal, opposite and infinite points, numbers at their bounds, flipped bits.

mod made;

use blockmill_crypto::{EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, Variant};
use made::{Made, Random};

/// The lanes; `None` where the CPU has them not, and the test has nothing to compare.
fn lanes() -> Option<Signatures> {
    let lanes = Signatures::with(Variant::Ifma).map(Signatures::at_any_cost);
    if lanes.is_none() {
        println!("skipped: the CPU has no AVX-512 IFMA");
    }
    lanes
}

/// Both answer alike, in batches of many lengths.
fn agree<T: Clone + std::fmt::Debug, U: Clone + Default + PartialEq + std::fmt::Debug>(
    items: &[T],
    run: impl Fn(&Signatures, &[T], &mut [U]),
) -> Vec<U> {
    let mut expected = vec![U::default(); items.len()];
    run(&Signatures::scalar(), items, &mut expected);
    let Some(lanes) = lanes() else { return expected };
    let mut found = vec![U::default(); items.len()];
    run(&lanes, items, &mut found);
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{i}: {:?}", items[i]);
    }
    let (mut at, mut length) = (0, 1);
    while at + length <= items.len() {
        let part = at..at + length;
        let mut found = vec![U::default(); length];
        run(&lanes, &items[part.clone()], &mut found);
        assert_eq!(found, expected[part], "{length} from {at}");
        (at, length) = (at + length, length % 70 + 1);
    }
    expected
}

#[test]
fn random_signatures() {
    let mut made = Made::new(1);
    let checks: Vec<_> = (0..6_000).map(|_| made.random_ecdsa()).collect();
    let valid = agree(&checks, Signatures::ecdsa);
    assert!(valid.iter().all(|valid| *valid));
    let checks: Vec<_> = (0..6_000).map(|_| made.random_schnorr()).collect();
    let valid = agree(&checks, Signatures::schnorr);
    assert!(valid.iter().all(|valid| *valid));
    let (signatures, keys): (Vec<_>, Vec<_>) = (0..6_000).map(|_| made.random_recovery()).unzip();
    assert_eq!(agree(&signatures, Signatures::recover), keys);
}

#[test]
fn ecdsa_of_chosen_multipliers() {
    let mut made = Made::new(2);
    let mut checks = Vec::new();
    while checks.len() < 12_000 {
        checks.extend(made.chosen_ecdsa());
    }
    let valid = agree(&checks, Signatures::ecdsa);
    assert!(valid.iter().all(|valid| *valid));
}

#[test]
fn sums_at_infinity_are_not_valid() {
    let mut made = Made::new(3);
    let checks: Vec<_> = (0..500).map(|_| made.infinite_ecdsa()).collect();
    assert!(agree(&checks, Signatures::ecdsa).iter().all(|valid| !valid));
    let checks: Vec<_> = (0..500).map(|_| made.infinite_schnorr()).collect();
    assert!(agree(&checks, Signatures::schnorr).iter().all(|valid| !valid));
    let signatures: Vec<_> = (0..500).map(|_| made.infinite_recovery()).collect();
    assert!(agree(&signatures, Signatures::recover).iter().all(Option::is_none));
}

#[test]
fn schnorr_of_chosen_keys_and_nonces() {
    let mut made = Made::new(4);
    let checks: Vec<_> = (0..6_000).map(|_| made.chosen_schnorr()).collect();
    assert!(agree(&checks, Signatures::schnorr).iter().all(|valid| *valid));
}

#[test]
fn recovery_of_chosen_points_and_multipliers() {
    let mut made = Made::new(5);
    let signatures: Vec<_> = (0..12_000).map(|_| made.chosen_recovery()).collect();
    let keys = agree(&signatures, Signatures::recover);
    assert!(keys.iter().filter(|key| key.is_some()).count() > 6_000);
}

#[test]
fn numbers_at_their_bounds() {
    let mut made = Made::new(6);
    let checks: Vec<_> = (0..6_000).map(|_| made.edged_ecdsa()).collect();
    agree(&checks, Signatures::ecdsa);
    let checks: Vec<_> = (0..6_000).map(|_| made.edged_schnorr()).collect();
    agree(&checks, Signatures::schnorr);
    let signatures: Vec<_> = (0..6_000).map(|_| made.edged_recovery()).collect();
    agree(&signatures, Signatures::recover);
}

#[test]
fn flipped_bits_and_other_forms_of_keys() {
    let mut random = Random(7);
    let mut made = Made::new(7);
    let checks: Vec<_> = (0..9_000)
        .map(|_| {
            let mut check = made.random_ecdsa();
            match random.below(5) {
                0 => random.flip(&mut check.digest),
                1 => random.flip(&mut check.r),
                2 => random.flip(&mut check.s),
                3 => match &mut check.key {
                    Key::Compressed(bytes) => random.flip(bytes),
                    Key::Uncompressed(bytes) => random.flip(bytes),
                },
                _ => match &mut check.key {
                    Key::Compressed(bytes) => bytes[0] = random.below(9) as u8,
                    Key::Uncompressed(bytes) => bytes[0] = random.below(9) as u8,
                },
            }
            check
        })
        .collect();
    let valid = agree(&checks, Signatures::ecdsa);
    assert!(valid.iter().any(|valid| *valid), "hybrid keys are valid");
    let checks: Vec<_> = (0..6_000)
        .map(|_| {
            let mut check = made.random_schnorr();
            match random.below(3) {
                0 => random.flip(&mut check.message),
                1 => random.flip(&mut check.signature),
                _ => random.flip(&mut check.key),
            }
            check
        })
        .collect();
    assert!(agree(&checks, Signatures::schnorr).iter().all(|valid| !valid));
    let signatures: Vec<_> = (0..6_000)
        .map(|_| {
            let (mut signature, _) = made.random_recovery();
            match random.below(4) {
                0 => random.flip(&mut signature.digest),
                1 => random.flip(&mut signature.r),
                2 => random.flip(&mut signature.s),
                _ => signature.recovery_id = random.below(256) as u8,
            }
            signature
        })
        .collect();
    agree(&signatures, Signatures::recover);
}

#[test]
fn one_bad_among_good_changes_no_other() {
    let Some(lanes) = lanes() else { return };
    let (mut made, mut random) = (Made::new(8), Random(8));
    for length in [2, 8, 31, 32, 70] {
        for _ in 0..40 {
            let bad = random.below(length);
            let mut checks: Vec<EcdsaCheck> = (0..length).map(|_| made.random_ecdsa()).collect();
            checks[bad] = made.edged_ecdsa();
            checks[bad].s = [0; 32];
            let expected: Vec<_> = (0..length).map(|i| i != bad).collect();
            let mut valid = vec![false; length];
            lanes.ecdsa(&checks, &mut valid);
            assert_eq!(valid, expected);

            let mut checks: Vec<SchnorrCheck> =
                (0..length).map(|_| made.random_schnorr()).collect();
            checks[bad] = made.infinite_schnorr();
            lanes.schnorr(&checks, &mut valid);
            assert_eq!(valid, expected);

            let (mut signatures, mut expected): (Vec<Recovery>, Vec<_>) =
                (0..length).map(|_| made.random_recovery()).unzip();
            (signatures[bad], expected[bad]) = (made.infinite_recovery(), None);
            signatures[bad].r = [0; 32];
            let mut keys = vec![None; length];
            lanes.recover(&signatures, &mut keys);
            assert_eq!(keys, expected);
        }
    }
}
