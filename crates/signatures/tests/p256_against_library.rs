//! Every way of verifying signatures over P-256 gives the answers of AWS-LC, with tables of keys
//! and without, on random signatures and on generated ones: equal, opposite and infinite points,
//! numbers at their bounds, flipped bits.

mod generated_p256;

use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, Width};
use blockmill_testkit::rounds;
use generated_p256::Generator;
use num_bigint::BigUint;

/// Room for a table, but not for two.
const ONE_TABLE: usize = 100_000;

/// The ways in lanes that this CPU has; where it has none, one by one.
fn ways() -> impl Iterator<Item = Signatures> {
    let all = Width::ALL.into_iter().filter_map(Signatures::with);
    let (library, lanes): (Vec<_>, Vec<_>) = all.partition(|way| way.width() == Width::Scalar);
    let ways = if lanes.is_empty() { library } else { lanes };
    ways.into_iter().map(Signatures::at_any_cost)
}

fn verify(signatures: &Signatures, checks: &[EcdsaCheck], tables: &KeyTables) -> Vec<bool> {
    let mut valid = vec![false; checks.len()];
    signatures.p256(checks, tables, &mut valid);
    valid
}

/// All ways answer alike, in batches of many lengths, with tables or without.
fn agree(checks: &[EcdsaCheck]) -> Vec<bool> {
    let expected: Vec<_> = checks.iter().map(generated_p256::by_aws_lc).collect();
    for signatures in ways() {
        for bytes in [0, ONE_TABLE, 5 * ONE_TABLE, 50_000_000] {
            let tables = KeyTables::new(bytes);
            for round in 0..3 {
                let found = verify(&signatures, checks, &tables);
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let width = signatures.width();
                    assert_eq!(found, expected, "{width:?} {bytes} {round} {i}: {:?}", checks[i]);
                }
            }
            let (mut at, mut length) = (0, 1);
            while at + length <= checks.len() {
                let part = at..at + length;
                let found = verify(&signatures, &checks[part.clone()], &tables);
                assert_eq!(found, expected[part], "{length} from {at}");
                (at, length) = (at + length, length % 70 + 1);
            }
            assert!(tables.keys() <= bytes / 80_000);
        }
    }
    expected
}

fn secrets(cases: &mut Generator, count: usize) -> Vec<BigUint> {
    (0..count).map(|_| cases.any()).collect()
}

/// Checks of keys that sign repeatedly, among keys that occur once.
fn mixed(
    cases: &mut Generator,
    secrets: &[BigUint],
    count: usize,
    check: impl Fn(&mut Generator, &BigUint) -> EcdsaCheck,
) -> Vec<EcdsaCheck> {
    (0..count)
        .map(|_| {
            let any = cases.any();
            let pick = cases.random.below(secrets.len() * 3 / 2);
            check(cases, secrets.get(pick).unwrap_or(&any))
        })
        .collect()
}

#[test]
fn random_signatures() {
    let mut cases = Generator::new(1);
    let checks: Vec<_> = (0..rounds(1_500)).map(|_| cases.random()).collect();
    assert!(agree(&checks).iter().all(|valid| *valid));
}

#[test]
fn repeated_keys() {
    let mut cases = Generator::new(2);
    for keys in [1, 7, 60] {
        let secrets = secrets(&mut cases, keys);
        let checks = mixed(&mut cases, &secrets, rounds(1_500), Generator::by);
        assert!(agree(&checks).iter().all(|valid| *valid));
    }
}

#[test]
fn chosen_multipliers() {
    let mut cases = Generator::new(3);
    let (mut checks, random, of_each) = (Vec::new(), rounds(3_000), rounds(150));
    while checks.len() < random {
        let secret = cases.chosen_secret();
        checks.extend(cases.chosen_multipliers(&secret));
    }
    // of keys with tables, small ones first
    for secret in (1u8..20).map(BigUint::from) {
        for _ in 0..of_each {
            checks.extend(cases.chosen_multipliers(&secret));
        }
    }
    assert!(agree(&checks).iter().all(|valid| *valid));
}

#[test]
fn sums_at_infinity_are_not_valid() {
    let mut cases = Generator::new(4);
    let secrets = secrets(&mut cases, 3);
    let mut checks = mixed(&mut cases, &secrets, rounds(400), Generator::by);
    let valid = checks.len();
    checks.extend(mixed(&mut cases, &secrets, rounds(400), Generator::infinite));
    let found = agree(&checks);
    assert!(found[..valid].iter().all(|valid| *valid));
    assert!(found[valid..].iter().all(|valid| !valid));
}

#[test]
fn numbers_at_their_bounds() {
    let mut cases = Generator::new(5);
    let secrets = secrets(&mut cases, 3);
    let mut checks = mixed(&mut cases, &secrets, rounds(300), Generator::by);
    checks.extend(mixed(&mut cases, &secrets, rounds(2_500), Generator::edged));
    agree(&checks);
}

#[test]
fn flipped_bits_and_other_forms_of_keys() {
    let mut cases = Generator::new(6);
    let secrets = secrets(&mut cases, 3);
    let mut checks = mixed(&mut cases, &secrets, rounds(300), Generator::by);
    checks.extend(mixed(&mut cases, &secrets, rounds(3_000), Generator::spoilt));
    agree(&checks);
}

#[test]
fn x_above_the_order() {
    let mut cases = Generator::new(7);
    let checks: Vec<_> = (0..rounds(300)).map(|_| cases.small_r()).collect();
    assert!(agree(&checks).iter().all(|valid| *valid));
}

#[test]
fn a_hash_above_the_order_is_taken_modulo_it() {
    let mut cases = Generator::new(8);
    let secret = cases.any();
    let mut checks = Vec::new();
    while checks.len() < 64 {
        let check = cases.by(&secret);
        let digest = BigUint::from_bytes_be(&check.digest) + &cases.n;
        // about one in 2^32 digests has room for another n; a digest of 0 always has
        let check = if digest.bits() > 256 { cases.small_r() } else { check };
        checks.push(EcdsaCheck { digest: generated_p256::bytes(&cases.n), ..check });
    }
    assert!(agree(&checks).iter().all(|valid| *valid));
}

#[test]
fn one_bad_among_good_changes_no_other() {
    let mut cases = Generator::new(9);
    let secrets = secrets(&mut cases, 2);
    for signatures in ways() {
        let tables = KeyTables::new(50 * ONE_TABLE);
        for length in [2, 8, 31, 32, 70, 256] {
            for _ in 0..rounds(6) {
                let bad = cases.random.below(length);
                let mut checks = mixed(&mut cases, &secrets, length, Generator::by);
                checks[bad] = cases.edged(&secrets[0]);
                checks[bad].s = [0; 32];
                let expected: Vec<_> = (0..length).map(|i| i != bad).collect();
                assert_eq!(verify(&signatures, &checks, &tables), expected);
            }
        }
    }
}

/// The fastest way of this CPU, and whether it is one in lanes: the library makes no tables.
fn fastest() -> (Signatures, bool) {
    let fastest = Signatures::detect();
    let in_lanes = fastest.width() != Width::Scalar;
    println!("by {}", fastest.width().name());
    (fastest, in_lanes)
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "no vectors for signatures there")]
#[test]
fn tables_are_made_for_the_keys_that_come_often_and_stay_within_their_bytes() {
    let (fastest, in_lanes) = fastest();
    let mut cases = Generator::new(10);
    let secrets = secrets(&mut cases, 48);
    let one_each: Vec<_> = secrets.iter().map(|secret| cases.by(secret)).collect();
    for bytes in [0, 80_000, ONE_TABLE, 10 * ONE_TABLE, 100 * ONE_TABLE] {
        let tables = KeyTables::new(bytes);
        let room = if bytes < ONE_TABLE { 0 } else { (bytes / 88_064).min(48) };
        let most = if in_lanes { room } else { 0 };
        for _ in 0..if in_lanes { 31 } else { rounds(31) } {
            verify(&fastest, &one_each, &tables);
        }
        // not before a key was used 32 times
        assert_eq!(tables.keys(), 0);
        // 16 tables are made at once; a few keys that are left may go to the library, without any
        for _ in 0..if in_lanes { 300 } else { rounds(300) } {
            assert!(verify(&fastest, &one_each, &tables).iter().all(|valid| *valid));
        }
        assert_eq!(tables.keys(), most, "{bytes} bytes");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "no vectors for signatures there")]
#[test]
fn a_key_that_stays_away_makes_room() {
    let (fastest, in_lanes) = fastest();
    let mut cases = Generator::new(11);
    let tables = KeyTables::new(ONE_TABLE);
    for _ in 0..5 {
        let secret = cases.any();
        let checks: Vec<_> = (0..200).map(|_| cases.by(&secret)).collect();
        for checks in checks.chunks(20) {
            assert!(verify(&fastest, checks, &tables).iter().all(|valid| *valid));
        }
        assert_eq!(tables.keys(), usize::from(in_lanes));
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "no vectors for signatures there")]
#[test]
fn invalid_signatures_earn_no_table() {
    let (fastest, _) = fastest();
    let (mut cases, tables) = (Generator::new(12), KeyTables::new(ONE_TABLE));
    let secret = cases.any();
    let mut check = cases.by(&secret);
    check.digest[0] ^= 1;
    for _ in 0..10 {
        assert!(verify(&fastest, &[check; 100], &tables).iter().all(|valid| !valid));
    }
    assert_eq!(tables.keys(), 0);
}

#[test]
fn many_threads_share_the_tables() {
    let mut cases = Generator::new(13);
    let secrets = secrets(&mut cases, 24);
    let half = rounds(1_000);
    let mut checks = mixed(&mut cases, &secrets, 2 * half, Generator::by);
    for check in checks.iter_mut().step_by(13) {
        cases.random.flip(&mut check.s);
    }
    let expected: Vec<_> = checks.iter().map(generated_p256::by_aws_lc).collect();
    for bytes in [2 * ONE_TABLE, 100 * ONE_TABLE] {
        let tables = KeyTables::new(bytes);
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (checks, expected, tables) = (&checks, &expected, &tables);
                scope.spawn(move || {
                    let signatures = Signatures::detect();
                    for round in 0..rounds(8) {
                        let from = (thread * 97 + round * 31) % half;
                        let found = verify(&signatures, &checks[from..], tables);
                        assert_eq!(found, expected[from..]);
                    }
                });
            }
        });
        assert!(tables.keys() <= bytes / 88_064);
    }
}

#[test]
fn keys_off_the_curve_are_not_taken_for_their_mirror_images() {
    let mut cases = Generator::new(14);
    let secret = cases.any();
    let mut checks: Vec<_> = (0..200).map(|_| cases.by(&secret)).collect();
    for check in checks.iter_mut().skip(100) {
        match &mut check.key {
            // the opposite key, or another y with the same x
            Key::Compressed(bytes) => bytes[0] ^= 1,
            Key::Uncompressed(bytes) => bytes[64] ^= 2,
        }
    }
    let valid = agree(&checks);
    assert!(valid[..100].iter().all(|valid| *valid));
    assert!(valid[100..].iter().all(|valid| !valid));
}

/// On a CPU that can do more, a test that saw only the library would have seen nothing.
#[cfg(target_arch = "x86_64")]
#[test]
fn lanes_are_among_the_ways_where_the_cpu_has_them() {
    let lanes: Vec<_> =
        ways().map(|way| way.width()).filter(|width| *width != Width::Scalar).collect();
    let has_vectors =
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    assert_eq!(!lanes.is_empty(), has_vectors, "{lanes:?}");
    assert!(ways().count() > 0);
}
