//! The sum `u1 * G + u2 * Q` for every lane's own numbers and point Q.
//!
//! u2 is split in halves of 130 bits by the curve's endomorphism. Both take their digits of five
//! bits from one table of the odd multiples of Q up to 31; the second with x times beta. Then each
//! digit of u1 finds its multiple of G ready in a table that all share.

use super::super::avx512::transpose;
use super::digits::{Digits, digits, split_digits};
use super::field::Field;
use super::generator::{self, Generator};
use super::group::{Affine, Jacobian};
use super::limb::{LANES, Lanes, Mask, join, split};
use super::scalar::Scalar;

/// x and y of an affine point in words of 64 bits, the lowest first: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Entry(pub(super) [u64; 8]);

impl Entry {
    pub(super) const ZERO: Self = Entry([0; 8]);
}

/// Bits of a digit of u2.
const WIDTH: usize = 5;
/// Digits of half of u2.
const PLACES: usize = 130 / WIDTH;
/// How many odd multiples of Q there are.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// `beta`, a third root of 1.
const BETA: [u64; 4] =
    [0xc139_6c28_7195_01ee, 0x9cf0_4975_12f5_8995, 0x6e64_479e_ac34_34e9, 0x7ae9_6a2b_657c_0710];

/// The odd multiples of each lane's Q.
type Tables = [[Entry; MULTIPLES]; LANES];

/// `u1 * G + u2 * Q`; Z is 0 in the lanes where it is not known. Both are below 2^256.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn multiply(generator: &Generator, u1: Scalar, u2: Scalar, q: &Affine) -> Jacobian {
    let lanes = generator.lanes();
    let mut tables = [[Entry::ZERO; MULTIPLES]; LANES];
    let z = fill(lanes, &mut tables, q);
    let mut sum = multiply_table(lanes, &tables, u2);
    // from the table's curve back to that of G
    sum.z.mul_assign(&z);
    let digits = digits(u1);
    for (place, multiples) in generator.places().iter().enumerate() {
        let (index, negative) = digits.digit::<{ generator::WIDTH }>(place);
        let index = index.numbers();
        let multiple = |lane: usize| &multiples[index[lane] as usize % generator::MULTIPLES];
        sum.add(&gather(lanes, multiple), negative);
    }
    sum
}

/// Fills the tables with points of the curve `y^2 = x^3 + 7 * z^6`, and gives z.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn fill(lanes: Lanes, tables: &mut Tables, q: &Affine) -> Field {
    let mut multiples = [*q; MULTIPLES];
    let mut factors = [q.y; MULTIPLES];
    odd_multiples(&mut multiples, &mut factors);
    // all are brought to the Z of the last
    let ([rest @ .., last], [factors @ .., z]) = (&multiples, &factors);
    put(lanes, last, |lane, entry| tables[lane][MULTIPLES - 1] = entry);
    rescale(rest, factors, *z, |i, point| put(lanes, point, |lane, entry| tables[lane][i] = entry))
}

#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn multiply_table(lanes: Lanes, tables: &Tables, u2: Scalar) -> Jacobian {
    let halves = split_digits(u2);
    let top = PLACES - 1;
    let (point, negative) = multiple(lanes, tables, &halves, top, 0);
    let mut sum = point.to_jacobian(negative);
    let (point, negative) = multiple(lanes, tables, &halves, top, 1);
    sum.add(&point, negative);
    for place in (0..top).rev() {
        sum.double(WIDTH);
        for half in 0..2 {
            let (point, negative) = multiple(lanes, tables, &halves, place, half);
            sum.add(&point, negative);
        }
    }
    sum
}

/// What a digit of a half stands for, and the lanes in which it is to be negated.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn multiple(
    lanes: Lanes,
    tables: &Tables,
    halves: &[Digits<3>; 2],
    place: usize,
    half: usize,
) -> (Affine, Mask) {
    let (index, negative) = halves[half].digit::<WIDTH>(place);
    let index = index.numbers();
    let mut point = gather(lanes, |lane| &tables[lane][index[lane] as usize % MULTIPLES]);
    if half == 1 {
        point.x.mul_assign(&point.x.same(BETA));
    }
    (point, negative)
}

/// Replaces all but the first of the multiples, which is Q, by 3Q, 5Q and so on, in Jacobian
/// coordinates. Z of each is the product of the factors up to its own.
///
/// 2Q and the multiple have one Z all along, so a step needs no Z (Meloni 2007: "Co-Z" addition,
/// ZADDU), only what it grows by: the difference of the x coordinates. Q has a large prime order,
/// so none of its small multiples is ±2Q.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn odd_multiples(multiples: &mut [Affine], factors: &mut [Field]) {
    let (Some(first), Some(z)) = (multiples.first_mut(), factors.first_mut()) else { return };
    *z = first.y;
    let mut twice = double_co_z(first);
    for i in 1..multiples.len() {
        let (before, multiple) = multiples.split_at_mut(i);
        add_co_z(&mut twice, &before[i - 1], &mut multiple[0], &mut factors[i]);
    }
}

/// Gives `put` the multiples, the last first, each with its coordinates multiplied by powers of a
/// number: the last by those of `z`, the one before by those of `z` times the last's factor, and
/// so on. Returns the number that would follow.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn rescale(
    multiples: &[Affine],
    factors: &[Field],
    mut z: Field,
    mut put: impl FnMut(usize, &Affine),
) -> Field {
    for (i, (point, factor)) in multiples.iter().zip(factors).enumerate().rev() {
        let zz = z.square();
        put(i, &Affine { x: point.x.mul(&zz), y: point.y.mul(&zz.mul(&z)) });
        z.mul_assign(factor);
    }
    z
}

/// Twice the point, which takes on the same Z: its former y.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn double_co_z(point: &mut Affine) -> Affine {
    let slope = point.x.square().three_halves();
    let yy = point.y.square();
    *point = Affine { x: point.x.mul(&yy), y: yy.square() };
    let x = slope.square().sub_both(&point.x, &point.x);
    let y = slope.mul(&point.x.sub(&x)).sub_tight(&point.y);
    Affine { x, y }
}

/// Writes the sum of `twice` and `multiple`, whose Z grew by the factor, and gives `twice` that Z.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn add_co_z(twice: &mut Affine, multiple: &Affine, sum: &mut Affine, factor: &mut Field) {
    *factor = twice.x.sub_tight(&multiple.x);
    let slope = twice.y.sub(&multiple.y);
    let square = factor.square();
    let x = multiple.x.mul(&square);
    twice.x.mul_assign(&square);
    twice.y.mul_assign(&twice.x.sub(&x));
    sum.x = slope.square().sub_both(&twice.x, &x);
    sum.y = slope.mul(&twice.x.sub(&sum.x)).sub_tight(&twice.y);
}

/// The point of an entry for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn gather<'a>(lanes: Lanes, entry: impl Fn(usize) -> &'a Entry) -> Affine {
    let rows = |first: usize| {
        let row = |i: usize| lanes.register(&entry(first + i).0);
        transpose([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)])
    };
    let (low, high) = (rows(0), rows(8));
    let word = |i: usize| lanes.of_registers([low[i], high[i]]);
    Affine {
        x: Field::new(split([word(0), word(1), word(2), word(3)])),
        y: Field::new(split([word(4), word(5), word(6), word(7)])),
    }
}

/// Gives `entry` the point of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn put(lanes: Lanes, point: &Affine, mut entry: impl FnMut(usize, Entry)) {
    let (x, y) = (join(point.x.below_2_256().limbs()), join(point.y.below_2_256().limbs()));
    for half in 0..2 {
        let [x0, x1, x2, x3] = x.map(|word| word.registers()[half]);
        let [y0, y1, y2, y3] = y.map(|word| word.registers()[half]);
        let rows = transpose([x0, x1, x2, x3, y0, y1, y2, y3]);
        for (lane, row) in rows.into_iter().enumerate() {
            entry(8 * half + lane, Entry(lanes.numbers(row)));
        }
    }
}
