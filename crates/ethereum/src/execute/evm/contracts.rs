//! Tests of P256VERIFY (EIP-7951), which `signatures` answers: against the crate `p256`, the lanes
//! of `signatures`, and published cases.

use super::{rules::spec_of, signatures};
use crate::params::Fork;
use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, Width};
use blockmill_testkit::Random;
use blockmill_testkit::hex;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::elliptic_curve::ops::Reduce;
use p256::elliptic_curve::point::{AffineCoordinates, DecompressPoint};
use p256::elliptic_curve::sec1::ToEncodedPoint;
use p256::elliptic_curve::subtle::Choice;
use p256::{AffinePoint, EncodedPoint, ProjectivePoint, Scalar};
use revm::handler::EthPrecompiles;
use revm::precompile::{Precompile, u64_to_address};

const GAS: u64 = 6_900;
/// The group's order, the field's prime, and how much larger that is.
const N: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
const P: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
const P_LESS_N: &str = "000000000000000000000000000000004319055358e8617b0c46353d039cdaae";

type Word = [u8; 32];

/// Digest, r, s, and x and y of the key.
type Input = [Word; 5];

/// The contract of a fork that has it.
fn contract() -> &'static Precompile {
    signatures::install();
    EthPrecompiles::new(spec_of(Fork::Osaka))
        .precompiles
        .get(&u64_to_address(0x100))
        .expect("the contract")
}

/// Whether the contract says that it is a signature; what it costs is always the same.
fn verify(input: &[u8]) -> bool {
    let output = contract().execute(input, GAS, 0).expect("no fatal error");
    assert!(output.status.is_success());
    assert_eq!(output.gas_used, GAS);
    match &output.bytes[..] {
        [] => false,
        [zeros @ .., 1] if *zeros == [0; 31] => true,
        other => panic!("{other:02x?}"),
    }
}

/// The same by a library in Rust, whose arithmetic is its own.
fn naive(input: &Input) -> bool {
    let [digest, r, s, x, y] = input;
    let key = EncodedPoint::from_affine_coordinates(x.into(), y.into(), false);
    let key = VerifyingKey::from_encoded_point(&key);
    let signature = Signature::from_scalars(*r, *s);
    key.and_then(|key| key.verify_prehash(digest, &signature?)).is_ok()
}

fn number(random: &mut Random) -> Scalar {
    loop {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        let number = Scalar::reduce_bytes(&bytes.into());
        if number != Scalar::ZERO {
            return number;
        }
    }
}

/// One that may meet others: small or opposite, or any.
fn chosen(random: &mut Random) -> Scalar {
    let number = match random.below(3_u8) {
        0 => number(random),
        _ => Scalar::from(1 + random.below(40_u64)),
    };
    if random.coin() { -number } else { number }
}

/// What `secret` signed such that the sum of the check is `u1 * G + u2 * Q`; `None` if that has no
/// usable x.
fn signed(secret: Scalar, u1: Scalar, u2: Scalar) -> Option<Input> {
    let key = ProjectivePoint::GENERATOR * secret;
    let sum = (ProjectivePoint::GENERATOR * u1 + key * u2).to_affine();
    of_sum(sum, u1, u2, key.to_affine())
}

/// A signature of `key` with this sum.
fn of_sum(sum: AffinePoint, u1: Scalar, u2: Scalar, key: AffinePoint) -> Option<Input> {
    let r = Scalar::reduce_bytes(&sum.x());
    let s = r * Option::<Scalar>::from(u2.invert())?;
    let key = key.to_encoded_point(false);
    let (x, y) = (*key.x()?, *key.y()?);
    let is_sum = sum != AffinePoint::IDENTITY && r != Scalar::ZERO;
    let words = [(u1 * s).to_bytes(), r.to_bytes(), s.to_bytes(), x, y];
    is_sum.then_some(words.map(Into::into))
}

/// Valid: x of the sum is `r + n`, which is below the prime only for one x in 2^128.
fn wrapped(random: &mut Random) -> Input {
    let n: Word = hex::array(N);
    loop {
        let mut x = n;
        let low = u64::from_be_bytes(n[24..].try_into().expect("8 bytes"));
        let low = low.wrapping_add(random.below(1_u64 << 40));
        x[24..].copy_from_slice(&low.to_be_bytes());
        let odd = Choice::from(random.below(2_u8));
        let sum = Option::<AffinePoint>::from(AffinePoint::decompress(&x.into(), odd));
        let Some(sum) = sum.filter(|_| x > n) else { continue };
        let (u1, u2) = (chosen(random), chosen(random));
        let inverse = Option::<Scalar>::from(u2.invert()).expect("not 0");
        let key = (ProjectivePoint::from(sum) - ProjectivePoint::GENERATOR * u1) * inverse;
        if let Some(input) = of_sum(sum, u1, u2, key.to_affine()) {
            return input;
        }
    }
}

/// A number at a bound.
fn edge(random: &mut Random) -> Word {
    let mut edge = match random.below(6_u8) {
        0 => [0; 32],
        1 => [0xff; 32],
        2 => hex::array(N),
        3 => hex::array(P_LESS_N),
        4 => (-Scalar::from(2u64).invert().unwrap()).to_bytes().into(),
        _ => hex::array(P),
    };
    edge[31] = edge[31].wrapping_add(random.below(5_u8)).wrapping_sub(2);
    edge
}

/// Of one of several kinds, most of them such as only their maker wants.
fn made(random: &mut Random) -> Input {
    let secret = if random.coin() { number(random) } else { chosen(random) };
    let any = loop {
        let (u1, u2) = (number(random), number(random));
        if let Some(input) = signed(secret, u1, u2) {
            break input;
        }
    };
    let mut input = any;
    match random.below(8_u8) {
        0 => {}
        // as good
        1 => input[2] = (-Scalar::reduce_bytes(&input[2].into())).to_bytes().into(),
        2 => input[random.below(5_usize)] = edge(random),
        3 => {
            let bit = random.below(8 * 160_usize);
            input[bit / 256][bit % 256 / 8] ^= 1 << (bit % 8);
        }
        // sums whose parts meet or end at infinity, and digests of 0
        4 => {
            let u2 = chosen(random);
            let (same, none) = (u2 * secret, Scalar::ZERO);
            let u1 = [same, none, chosen(random)][random.below(3_usize)];
            input = signed(secret, u1, u2).unwrap_or(any);
        }
        5 => {
            let (r, s) = (chosen(random), chosen(random));
            let digest = -(r * secret);
            input[0] = digest.to_bytes().into();
            (input[1], input[2]) = (r.to_bytes().into(), s.to_bytes().into());
        }
        6 => input = wrapped(random),
        // the digest counts modulo n; r does not
        _ => {
            input = wrapped(random);
            let (at, bound) = [(0, N), (1, N), (3, P), (4, P)][random.below(4_usize)];
            if let Some(sum) = plus(&input[at], &hex::array(bound)) {
                input[at] = sum;
            }
        }
    }
    input
}

/// The sum, if it fits.
fn plus(a: &Word, b: &Word) -> Option<Word> {
    let [a, b] = [a, b].map(|word| crate::U256::from_be_bytes(*word));
    a.checked_add(b).map(|sum| sum.to_be_bytes())
}

#[test]
fn p256verify_has_the_verdicts_of_another_library_and_of_the_lanes() {
    let mut random = Random::new(7_951);
    let mut counts = [0; 2];
    let lanes: Vec<_> = Width::ALL.into_iter().filter_map(Signatures::with).collect();
    for _ in 0..16 {
        let inputs: Vec<Input> = (0..256).map(|_| made(&mut random)).collect();
        let expected: Vec<bool> = inputs.iter().map(naive).collect();
        for (input, expected) in inputs.iter().zip(&expected) {
            assert_eq!(verify(input.as_flattened()), *expected, "{input:02x?}");
            counts[usize::from(*expected)] += 1;
        }
        let checks: Vec<_> = inputs.iter().map(check).collect();
        for lanes in &lanes {
            let mut valid = vec![false; checks.len()];
            lanes.at_any_cost().p256(&checks, &KeyTables::new(0), &mut valid);
            assert_eq!(valid, expected, "{:?}", lanes.width());
        }
    }
    assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
}

fn check(input: &Input) -> EcdsaCheck {
    let [digest, r, s, x, y] = *input;
    let mut key = [4; 65];
    key[1..33].copy_from_slice(&x);
    key[33..].copy_from_slice(&y);
    EcdsaCheck { digest, r, s, key: Key::Uncompressed(key) }
}

#[test]
fn p256verify_takes_160_bytes_and_its_gas() {
    let input = signed(Scalar::from(3u64), Scalar::from(5u64), Scalar::from(7u64)).expect("one");
    let input = input.as_flattened();
    assert!(verify(input));
    let longer = [input, &[0; 33]].concat();
    for length in (0..=193).filter(|length| *length != 160) {
        assert!(!verify(&longer[..length]), "{length} bytes");
    }
    let output = contract().execute(input, GAS - 1, 0).expect("no fatal error");
    assert!(output.status.is_halt(), "{output:?}");
    let before = EthPrecompiles::new(spec_of(Fork::Prague));
    assert!(!before.precompiles.contains(&u64_to_address(0x100)));
}

#[test]
fn p256verify_knows_no_key_at_infinity_and_takes_r_that_wrapped() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let mut input = wrapped(&mut random);
        assert!(verify(input.as_flattened()), "{input:02x?}");
        // r itself has to be below n
        input[1] = plus(&input[1], &hex::array(N)).expect("below the prime");
        assert!(!verify(input.as_flattened()), "{input:02x?}");
    }
    let [digest, r, s, ..] = wrapped(&mut random);
    assert!(!verify([digest, r, s, [0; 32], [0; 32]].as_flattened()));
}

/// Signatures of NIST and of BoringSSL, by the words of the latter's file.
#[blockmill_testkit::needs(ring_source)]
#[test]
fn p256verify_has_the_published_verdicts() {
    let name = "crypto/fipsmodule/ecdsa/ecdsa_verify_tests.txt";
    let path = blockmill_testkit::path_of("ring_source").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut counts = [0; 2];
    for block in text.split("\n\n").filter(|block| block.contains("Curve = P-256")) {
        let field = |name: &str| -> Vec<u8> {
            let find = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(" = ")?.to_owned());
            hex::decode(block.lines().find_map(find).expect("a field").trim())
        };
        let is_valid = !block.contains("Invalid = Y");
        let padded = |number: &[u8]| -> Option<Word> {
            let zeros = number.iter().take_while(|byte| **byte == 0).count();
            let mut word = [0; 32];
            word[(32 + zeros).checked_sub(number.len())?..].copy_from_slice(&number[zeros..]);
            Some(word)
        };
        let digest = field("Digest");
        let numbers = [&digest[..digest.len().min(32)], &field("R"), &field("S")];
        let key = [field("X"), field("Y")];
        let words = numbers.into_iter().chain(key.iter().map(|number| &number[..])).map(padded);
        let Some(input) = words.collect::<Option<Vec<Word>>>() else {
            assert!(!is_valid, "{block}");
            continue;
        };
        assert_eq!(verify(input.as_flattened()), is_valid, "{block}");
        counts[usize::from(is_valid)] += 1;
    }
    assert!(counts[0] > 10 && counts[1] > 20, "{counts:?}");
}
