//! The curve P-256, `y^2 = x^3 - 3 * x + b` (FIPS 186-4, D.1.2.3; secp256r1 of SEC 2).

use super::curve::Curve;
use super::digits::{Digits, digits};
use super::field::sums::{five, loose};
use super::field::{Field, Loose, Prime};
use super::generator::Shared;
use super::group::{Affine, Jacobian};
use super::limb::{Limb, Mask, limbs};
use super::montgomery::{Modulus, Montgomery};
use super::multiples::{Tables, entry_of, fill};
use super::p256_prime::{R1Prime, montgomery};
use crate::p256::power_of_generator;

/// The order n of the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct R1Order;

impl Modulus for R1Order {
    const WORDS: [u64; 4] = [
        0xf3b9_cac2_fc63_2551,
        0xbce6_faad_a717_9e84,
        0xffff_ffff_ffff_ffff,
        0xffff_ffff_0000_0000,
    ];
}

const THREE: [u64; 4] = montgomery([3, 0, 0, 0]);
const B: [u64; 4] = montgomery([
    0x3bce_3c3e_27d2_604b,
    0x651d_06b0_cc53_b0f6,
    0xb3eb_bd55_7698_86bc,
    0x5ac6_35d8_aa3a_93e7,
]);

/// Bits of a digit.
const WIDTH: usize = 5;
/// Number of digits of a number.
const PLACES: usize = 260 / WIDTH;
/// Number of odd multiples of a point.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct P256;

impl Curve for P256 {
    type Prime = R1Prime;
    type Order = R1Order;

    const PRIME_LESS_ORDER: [u64; 5] = limbs([0x0c46_353d_039c_daae, 0x4319_0553_58e8_617b, 0, 0]);

    fn generator() -> &'static Shared {
        static SHARED: Shared = Shared::new();
        &SHARED
    }

    fn power(bit: usize) -> Option<([u8; 32], [u8; 32])> {
        power_of_generator(bit)
    }

    fn right_side<L: Limb>(x: &Field<L, R1Prime>) -> Field<L, R1Prime> {
        x.run(
            #[inline(always)]
            || x.square().sub(&x.same(THREE)).mul(x).add(&x.same(B)),
        )
    }

    /// The formula dbl-2001-b of the Explicit-Formulas Database with half its Z, and with its Y of
    /// opposite sign, which makes the last two products one sum.
    fn double<L: Limb>(point: &mut Jacobian<L, Self>, times: usize) {
        let mut zz = point.z.square();
        double(point, &mut zz, times);
    }

    fn double_co_z<L: Limb>(point: &mut Affine<L, Self>) -> Affine<L, Self> {
        L::run(
            point.x.proven(),
            #[inline(always)]
            || {
                let one = point.x.same(R1Prime::ONE);
                let slope = point.x.square().sub_tight(&one).three_halves();
                let yy = point.y.square();
                *point = Affine { x: point.x.mul(&yy), y: yy.square() };
                let x = slope.square().sub_both(&point.x, &point.x);
                let y = slope.mul(&point.x.sub(&x)).sub_tight(&point.y);
                Affine { x, y }
            },
        )
    }

    fn co_z<L: Limb>(point: &Affine<L, Self>) -> Field<L, R1Prime> {
        point.y
    }

    fn multiply<L: Limb>(
        point: &Affine<L, Self>,
        number: &Montgomery<L, R1Order>,
    ) -> Jacobian<L, Self> {
        let mut tables: Tables<MULTIPLES> = Tables::new();
        let z = fill(&mut tables, point);
        let digits = L::run(
            point.x.proven(),
            #[inline(always)]
            || digits::<{ WIDTH * PLACES }, _, _>(number),
        );
        let mut sum = multiply_table(point.x.proven(), &tables, &digits, &z);
        // from the table's curve back to the curve of the point
        sum.z.mul_assign(&z);
        sum
    }
}

/// Twice the point, `times` times, on the curve with `a = -3 * z^4`; `zz` is `(z * Z)^2`.
fn double<L: Limb>(point: &mut Jacobian<L, P256>, zz: &mut Field<L, R1Prime>, times: usize) {
    L::run(
        point.x.proven(),
        #[inline(always)]
        || {
            for _ in 0..times {
                let slope = point.x.sub(zz).mul(&sum(&point.x, zz)).three_halves();
                let yy = point.y.square();
                let t = point.x.mul(&yy);
                point.z.mul_assign(&point.y);
                zz.mul_assign(&yy);
                point.x = slope.square().sub_both(&t, &t);
                point.y.set_square_add_mul(&yy, &slope, &point.x.sub(&t));
                point.negated = !point.negated;
            }
        },
    );
}

/// `a + b`, with limb 4 up to 3 times 2^48.
#[inline(always)]
pub(super) fn sum<L: Limb>(a: &Field<L, R1Prime>, b: &Field<L, R1Prime>) -> Loose<L, R1Prime> {
    loose(
        [a, b],
        0,
        #[inline(always)]
        |[a, b], _| {
            five(
                #[inline(always)]
                |k| a[k] + b[k],
            )
        },
    )
}

/// The points of the table have Z = 1 on the curve with `a = -3 * z^4`.
fn multiply_table<L: Limb>(
    proof: L::Proof,
    tables: &Tables<MULTIPLES>,
    digits: &Digits<L, 5>,
    z: &Field<L, R1Prime>,
) -> Jacobian<L, P256> {
    let top = PLACES - 1;
    let (point, negative) = multiple(proof, tables, digits, top);
    let mut sum = L::run(
        proof,
        #[inline(always)]
        || point.to_jacobian(negative),
    );
    let mut zz = z.square();
    for place in (0..top).rev() {
        double(&mut sum, &mut zz, WIDTH);
        let (point, negative) = multiple(proof, tables, digits, place);
        let grown = sum.add(&point, negative);
        zz.mul_assign(&grown);
    }
    sum
}

/// The multiple that a digit selects, and the lanes in which it is negated.
fn multiple<L: Limb>(
    proof: L::Proof,
    tables: &Tables<MULTIPLES>,
    digits: &Digits<L, 5>,
    place: usize,
) -> (Affine<L, P256>, Mask) {
    L::run(
        proof,
        #[inline(always)]
        || {
            let (index, negative) = digits.digit::<WIDTH>(place);
            let index = index.numbers();
            let point = entry_of(
                proof,
                #[inline(always)]
                |lane| &tables.0[lane][index[lane] as usize % MULTIPLES],
            );
            (point, negative)
        },
    )
}
