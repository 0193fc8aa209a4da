//! The sum `u1 * G + u2 * Q` for every lane's own numbers and point Q.
//!
//! u2 is split in halves of 130 bits by the curve's endomorphism. Both take their digits of five
//! bits from one table of the odd multiples of Q up to 31; the second with x times beta. Then each
//! digit of u1 finds its multiple of G ready in a table that all share.

use core::arch::x86_64::__mmask8;

use super::super::avx512::transpose;
use super::field::{Field, join, split, vector, words};
use super::generator::{self, Generator};
use super::group::{Affine, Jacobian};
use super::scalar::{Digits, Scalar, digits, split_digits};

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
type Tables<const W: usize> = [[[Entry; MULTIPLES]; 8]; W];

/// `u1 * G + u2 * Q`; Z is 0 in the lanes where it is not known. Both are below n.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn multiply<const W: usize>(
    generator: &Generator,
    u1: &[Scalar; W],
    u2: &[Scalar; W],
    q: &Affine<W>,
) -> Jacobian<W> {
    let mut tables = [[[Entry::ZERO; MULTIPLES]; 8]; W];
    let z = fill(&mut tables, q);
    let mut sum = multiply_table(&tables, u2);
    // from the table's curve back to that of G
    sum.z = sum.z.mul(&z);
    add_generator(generator, u1, &mut sum);
    sum
}

/// Fills the tables with points of the curve `y^2 = x^3 + 7 * z^6`, and gives z.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn fill<const W: usize>(tables: &mut Tables<W>, q: &Affine<W>) -> Field<W> {
    let mut multiples = [*q; MULTIPLES];
    let mut factors = [q.y; MULTIPLES];
    odd_multiples(&mut multiples, &mut factors);
    // all are brought to the Z of the last
    let ([rest @ .., last], [factors @ .., z]) = (&multiples, &factors);
    put(last, |w, lane, entry| tables[w][lane][MULTIPLES - 1] = entry);
    rescale(rest, factors, z, |i, point| {
        put(point, |w, lane, entry| tables[w][lane][i] = entry);
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn multiply_table<const W: usize>(tables: &Tables<W>, u2: &[Scalar; W]) -> Jacobian<W> {
    let mut halves = [split_digits(&u2[0]); W];
    for (halves, u2) in halves.iter_mut().zip(u2) {
        *halves = split_digits(u2);
    }
    let top = PLACES - 1;
    let (point, negative) = multiple(tables, &halves, top, 0);
    let mut sum = Jacobian::from_affine(&point, negative);
    let (point, negative) = multiple(tables, &halves, top, 1);
    sum.add(&point, negative);
    for place in (0..top).rev() {
        for _ in 0..WIDTH {
            sum.double();
        }
        for half in 0..2 {
            let (point, negative) = multiple(tables, &halves, place, half);
            sum.add(&point, negative);
        }
    }
    sum
}

/// What a digit of a half stands for, and the lanes in which it is to be negated.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn multiple<const W: usize>(
    tables: &Tables<W>,
    halves: &[[Digits<3>; 2]; W],
    place: usize,
    half: usize,
) -> (Affine<W>, [__mmask8; W]) {
    let (mut index, mut negative) = ([[0; 8]; W], [0; W]);
    for w in 0..W {
        let (digit, below) = halves[w][half].digit::<WIDTH>(place);
        (index[w], negative[w]) = (words(digit), below);
    }
    let mut point = gather(|w, lane| &tables[w][lane][index[w][lane] as usize % MULTIPLES]);
    if half == 1 {
        point.x = point.x.mul(&Field::splat(BETA));
    }
    (point, negative)
}

#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn add_generator<const W: usize>(
    generator: &Generator,
    u1: &[Scalar; W],
    sum: &mut Jacobian<W>,
) {
    let mut all = [digits(&u1[0]); W];
    for (all, u1) in all.iter_mut().zip(u1) {
        *all = digits(u1);
    }
    let (mut index, mut negative) = ([[0; 8]; W], [0; W]);
    for (place, multiples) in generator.places().iter().enumerate() {
        for w in 0..W {
            let (digit, below) = all[w].digit::<{ generator::WIDTH }>(place);
            (index[w], negative[w]) = (words(digit), below);
        }
        let multiple = |w: usize, lane: usize| {
            &multiples[index[w][lane] as usize % generator::MULTIPLES]
        };
        sum.add(&gather(multiple), negative);
    }
}

/// Replaces all but the first of the multiples, which is Q, by 3Q, 5Q and so on, in Jacobian
/// coordinates. Z of each is the product of the factors up to its own.
///
/// 2Q and the multiple have one Z all along, so a step needs no Z (Meloni 2007: "Co-Z" addition,
/// ZADDU), only what it grows by: the difference of the x coordinates. Q has a large prime order,
/// so none of its small multiples is ±2Q.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn odd_multiples<const W: usize>(
    multiples: &mut [Affine<W>],
    factors: &mut [Field<W>],
) {
    let [first, rest @ ..] = multiples else { return };
    let [z, factors @ ..] = factors else { return };
    *z = first.y;
    let (mut multiple, mut twice) = double_co_z(first);
    *first = multiple;
    for (place, factor) in rest.iter_mut().zip(factors) {
        *factor = add_co_z(&mut multiple, &mut twice);
        *place = multiple;
    }
}

/// Gives `put` the multiples, the last first, each with its coordinates multiplied by powers of a
/// number: the last by those of `z`, the one before by those of `z` times the last's factor, and
/// so on. Returns the number that would follow.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn rescale<const W: usize>(
    multiples: &[Affine<W>],
    factors: &[Field<W>],
    z: &Field<W>,
    mut put: impl FnMut(usize, &Affine<W>),
) -> Field<W> {
    let mut z = *z;
    for (i, (point, factor)) in multiples.iter().zip(factors).enumerate().rev() {
        let zz = z.square();
        put(i, &Affine { x: point.x.mul(&zz), y: point.y.mul(&zz.mul(&z)) });
        z = z.mul(factor);
    }
    z
}

/// `q` and its double with the same Z, which is the y of `q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn double_co_z<const W: usize>(q: &Affine<W>) -> (Affine<W>, Affine<W>) {
    let slope = q.x.square().three_halves();
    let yy = q.y.square();
    let t = q.x.mul(&yy);
    let x = slope.square().sub_twice(&t);
    let yyyy = yy.square();
    let y = slope.mul(&t.sub(&x)).sub(&yyyy);
    (Affine { x: t, y: yyyy }, Affine { x, y })
}

/// Adds `twice` to `multiple`, gives both the Z of the sum, and returns by what that grew.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn add_co_z<const W: usize>(multiple: &mut Affine<W>, twice: &mut Affine<W>) -> Field<W> {
    let factor = twice.x.sub(&multiple.x);
    let dy = twice.y.sub(&multiple.y);
    let square = factor.square();
    let x1 = twice.x.mul(&square);
    let x2 = multiple.x.mul(&square);
    let y1 = twice.y.mul(&x1.sub(&x2));
    let x = dy.square().sub_both(&x1, &x2);
    let y = dy.mul(&x1.sub(&x)).sub(&y1);
    *twice = Affine { x: x1, y: y1 };
    *multiple = Affine { x, y };
    factor
}

/// The point of an entry for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn gather<'a, const W: usize>(entry: impl Fn(usize, usize) -> &'a Entry) -> Affine<W> {
    let zero = Field::splat([0; 4]);
    let mut point = Affine { x: zero, y: zero };
    for w in 0..W {
        let row = |lane| vector(&entry(w, lane).0);
        let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        let [x0, x1, x2, x3, y0, y1, y2, y3] = transpose(rows);
        point.x.0[w] = split([x0, x1, x2, x3]);
        point.y.0[w] = split([y0, y1, y2, y3]);
    }
    point
}

/// Gives `entry` the point of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn put<const W: usize>(
    point: &Affine<W>,
    mut entry: impl FnMut(usize, usize, Entry),
) {
    let (x, y) = (point.x.canonical(), point.y.canonical());
    for w in 0..W {
        let ([x0, x1, x2, x3], [y0, y1, y2, y3]) = (join(&x.0[w]), join(&y.0[w]));
        let rows = transpose([x0, x1, x2, x3, y0, y1, y2, y3]);
        for (lane, row) in rows.into_iter().enumerate() {
            entry(w, lane, Entry(words(row)));
        }
    }
}
