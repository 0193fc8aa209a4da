//! BLS12-381 for contracts: encoding and arithmetic of points.

use std::rc::Rc;

use ark_bls12_381::{Bls12_381, Fq, Fq2, Fq6, Fq12, Fr, G1Affine, G2Affine};
use ark_ec::{AffineRepr, CurveGroup, PrimeGroup, pairing::Pairing};
use ark_ff::{AdditiveGroup, BigInteger, Field, PrimeField};

use super::points::{Form, Point};
use crate::execute::{
    engine::Engine,
    interop::Interop,
    vm::{Fault, Item},
};

/// Bytes of an element of the field.
const ELEMENT: usize = 48;
const G1: usize = ELEMENT;
const G2: usize = 2 * ELEMENT;
const GT: usize = 12 * ELEMENT;

type Answer = Result<Option<Item>, Fault>;

fn give(point: Point) -> Answer {
    Ok(Some(Item::interop(Interop::Point(Box::new(point)))))
}

fn interop_of(item: &Item) -> Result<Rc<Interop>, Fault> {
    match item {
        Item::Interop(interop) if matches!(**interop, Interop::Point(_)) => Ok(Rc::clone(interop)),
        _ => Err(Fault::Rule("not a bls12381 point")),
    }
}

fn point(interop: &Interop) -> Result<&Point, Fault> {
    match interop {
        Interop::Point(point) => Ok(point),
        _ => Err(Fault::Rule("not a bls12381 point")),
    }
}

/// `bls12381Serialize`.
pub(super) fn serialize(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let interop = interop_of(&arguments[0])?;
    Ok(Some(Item::bytes(&encode(point(&interop)?))))
}

/// Encodes a point: compressed, or all its elements.
fn encode(point: &Point) -> Vec<u8> {
    match point {
        Point::G1(point, _) => g1_bytes(&point.into_affine()).to_vec(),
        Point::G2(point, _) => g2_bytes(&point.into_affine()).to_vec(),
        Point::Gt(value) => elements(value).iter().flat_map(bytes_of).collect(),
    }
}

/// The highest element first, as in the reference.
fn elements(value: &Fq12) -> [Fq; 12] {
    let (low, high) = (&value.c0, &value.c1);
    [
        high.c2.c1, high.c2.c0, high.c1.c1, high.c1.c0, high.c0.c1, high.c0.c0, low.c2.c1,
        low.c2.c0, low.c1.c1, low.c1.c0, low.c0.c1, low.c0.c0,
    ]
}

/// Big endian.
fn bytes_of(element: &Fq) -> [u8; ELEMENT] {
    let mut bytes = [0; ELEMENT];
    bytes.copy_from_slice(&element.into_bigint().to_bytes_be());
    bytes
}

/// An element below the field's order.
fn element(bytes: &[u8]) -> Result<Fq, Fault> {
    let element = Fq::from_be_bytes_mod_order(bytes);
    match bytes_of(&element)[..] == *bytes {
        true => Ok(element),
        false => Err(Fault::Rule("no element of the field of BLS12-381")),
    }
}

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const LARGEST: u8 = 0x20;

/// Whether y is the larger of the two roots.
fn is_larger(y: &Fq) -> bool {
    y.into_bigint() > (-*y).into_bigint()
}

fn is_larger_2(y: &Fq2) -> bool {
    if y.c1 == Fq::ZERO { is_larger(&y.c0) } else { is_larger(&y.c1) }
}

fn g1_bytes(point: &G1Affine) -> [u8; G1] {
    let Some((x, y)) = point.xy() else {
        let mut bytes = [0; G1];
        bytes[0] = COMPRESSED | INFINITY;
        return bytes;
    };
    let mut bytes = bytes_of(&x);
    bytes[0] |= COMPRESSED | if is_larger(&y) { LARGEST } else { 0 };
    bytes
}

fn g2_bytes(point: &G2Affine) -> [u8; G2] {
    let mut bytes = [0; G2];
    let Some((x, y)) = point.xy() else {
        bytes[0] = COMPRESSED | INFINITY;
        return bytes;
    };
    bytes[..ELEMENT].copy_from_slice(&bytes_of(&x.c1));
    bytes[ELEMENT..].copy_from_slice(&bytes_of(&x.c0));
    bytes[0] |= COMPRESSED | if is_larger_2(&y) { LARGEST } else { 0 };
    bytes
}

/// The flags of a compressed point, and its bytes without them.
fn unflagged(bytes: &[u8]) -> Result<(u8, Vec<u8>), Fault> {
    let flags = bytes[0] & 0xe0;
    let mut plain = bytes.to_vec();
    plain[0] &= 0x1f;
    let is_infinity = flags & INFINITY != 0;
    let is_zero = plain.iter().all(|byte| *byte == 0);
    let is_plain_infinity = is_zero && flags & LARGEST == 0;
    if flags & COMPRESSED == 0 || is_infinity && !is_plain_infinity {
        return Err(Fault::Rule("no compressed point of BLS12-381"));
    }
    Ok((flags, plain))
}

/// `bls12381Deserialize`.
pub(super) fn deserialize(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    give(arguments[0].with_bytes(decode)??)
}

/// Decodes a point that [`encode`] wrote.
fn decode(bytes: &[u8]) -> Result<Point, Fault> {
    match bytes.len() {
        G1 => g1(bytes).map(|point| Point::G1(point.into_group(), Form::Affine)),
        G2 => g2(bytes).map(|point| Point::G2(point.into_group(), Form::Affine)),
        GT => target(bytes).map(Point::Gt),
        _ => Err(Fault::Rule("invalid bls12381 point length")),
    }
}

const NO_POINT: Fault = Fault::Rule("no point of BLS12-381");

fn g1(bytes: &[u8]) -> Result<G1Affine, Fault> {
    let (flags, bytes) = unflagged(bytes)?;
    if flags & INFINITY != 0 {
        return Ok(G1Affine::zero());
    }
    let x = element(&bytes)?;
    let (a, b) = G1Affine::get_ys_from_x_unchecked(x).ok_or(NO_POINT)?;
    let y = if is_larger(&a) == (flags & LARGEST != 0) { a } else { b };
    let point = G1Affine::new_unchecked(x, y);
    if point.is_in_correct_subgroup_assuming_on_curve() { Ok(point) } else { Err(NO_POINT) }
}

fn g2(bytes: &[u8]) -> Result<G2Affine, Fault> {
    let (flags, bytes) = unflagged(bytes)?;
    if flags & INFINITY != 0 {
        return Ok(G2Affine::zero());
    }
    let x = Fq2::new(element(&bytes[ELEMENT..])?, element(&bytes[..ELEMENT])?);
    let (a, b) = G2Affine::get_ys_from_x_unchecked(x).ok_or(NO_POINT)?;
    let y = if is_larger_2(&a) == (flags & LARGEST != 0) { a } else { b };
    let point = G2Affine::new_unchecked(x, y);
    if point.is_in_correct_subgroup_assuming_on_curve() { Ok(point) } else { Err(NO_POINT) }
}

fn target(bytes: &[u8]) -> Result<Fq12, Fault> {
    let elements: Vec<Fq> = bytes.chunks(ELEMENT).rev().map(element).collect::<Result<_, _>>()?;
    let pair = |index: usize| Fq2::new(elements[index], elements[index + 1]);
    let low = Fq6::new(pair(0), pair(2), pair(4));
    Ok(Fq12::new(low, Fq6::new(pair(6), pair(8), pair(10))))
}

/// `bls12381Equal`: points of different forms have no answer.
pub(super) fn equal(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let (a, b) = (interop_of(&arguments[0])?, interop_of(&arguments[1])?);
    let (a, b) = (point(&a)?, point(&b)?);
    if a.type_name() != b.type_name() {
        let x = a.type_name();
        return Err(Fault::Message(format!(
            "equal: unexpected y bls12381 point type: *bls12381.{x} vs {x}"
        )));
    }
    Ok(Some(Item::Bool(a == b)))
}

/// `bls12381Add`.
pub(super) fn add(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let (a, b) = (interop_of(&arguments[0])?, interop_of(&arguments[1])?);
    give(match (point(&a)?, point(&b)?) {
        (Point::G1(a, _), Point::G1(b, _)) => Point::G1(*a + b, Form::Jacobian),
        (Point::G2(a, _), Point::G2(b, _)) => Point::G2(*a + b, Form::Jacobian),
        (Point::Gt(a), Point::Gt(b)) => Point::Gt(*a * b),
        _ => return Err(Fault::Rule("bls12381 points of different types")),
    })
}

/// `bls12381Mul`.
pub(super) fn multiply(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let interop = interop_of(&arguments[0])?;
    let bytes: [u8; 32] = arguments[1].to_array()?;
    let mut factor = Fr::from_le_bytes_mod_order(&bytes);
    if factor.into_bigint().to_bytes_le() != bytes {
        return Err(Fault::Rule("invalid multiplier"));
    }
    if arguments[2].to_bool()? {
        factor = -factor;
    }
    let factor = factor.into_bigint();
    give(match point(&interop)? {
        Point::G1(point, _) => Point::G1(point.mul_bigint(factor), Form::Jacobian),
        Point::G2(point, _) => Point::G2(point.mul_bigint(factor), Form::Jacobian),
        Point::Gt(value) => Point::Gt(value.pow(factor)),
    })
}

/// `bls12381Pairing`.
pub(super) fn pair(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let (a, b) = (interop_of(&arguments[0])?, interop_of(&arguments[1])?);
    match (point(&a)?, point(&b)?) {
        (Point::G1(a, _), Point::G2(b, _)) => give(Point::Gt(Bls12_381::pairing(a, b).0)),
        _ => Err(Fault::Rule("bls12381 pairing of other points than G1 and G2")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ark_bls12_381::{G1Projective, G2Projective};

    #[test]
    fn the_pairing_of_the_generators_is_that_of_the_reference() {
        let generators = (G1Projective::generator(), G2Projective::generator());
        let pairing = Point::Gt(Bls12_381::pairing(generators.0, generators.1).0);
        let bytes = encode(&pairing);
        assert_eq!(decode(&bytes), Ok(pairing));
        // neo-go, `TestCryptolib_TestBls12381Pairing_Compat`: SHA-256 of the 576 bytes there
        let expected = "300e47c99502f3af33ad2080847d528cabd90365a90ab98bc174565c27928591";
        assert_eq!(blockmill_testkit::hex::encode(blockmill_hashes::sha256(&bytes)), expected);
    }

    #[test]
    fn generators_have_their_published_bytes() {
        let bytes = encode(&Point::G1(G1Projective::generator(), Form::Affine));
        let expected = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58\
                        6c55e83ff97a1aeffb3af00adb22c6bb";
        assert_eq!(blockmill_testkit::hex::encode(&bytes), expected);
        assert_eq!(decode(&bytes), Ok(Point::G1(G1Projective::generator(), Form::Affine)));
        let bytes = encode(&Point::G2(G2Projective::generator(), Form::Affine));
        assert_eq!(blockmill_testkit::hex::encode(&bytes[..4]), "93e02b60");
        assert_eq!(decode(&bytes), Ok(Point::G2(G2Projective::generator(), Form::Affine)));
        for bad in [[0x81; 48], [0; 48], [0xff; 48]] {
            assert!(decode(&bad).is_err());
        }
    }
}
