//! The curve secp256k1, `y^2 = x^3 + 7` (SEC 2, section 2.4.1).
//!
//! The formulas use the curve's `a = 0` and not its 7, so they also hold on the curves `y^2 = x^3 +
//! 7 * z^6`.

use secp256k1::{PublicKey, SecretKey};

use super::curve::Curve;
use super::digits::Digits;
use super::field::Field;
use super::generator::Shared;
use super::glv::split_digits;
use super::group::{Affine, Jacobian};
use super::limb::{Limb, Mask, limbs};
use super::montgomery::{Modulus, Montgomery};
use super::multiples::{Tables, entry_of, fill};
use super::secp256k1_prime::K1Prime;

/// The order n of the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct K1Order;

impl Modulus for K1Order {
    const WORDS: [u64; 4] = [
        0xbfd2_5e8c_d036_4141,
        0xbaae_dce6_af48_a03b,
        0xffff_ffff_ffff_fffe,
        0xffff_ffff_ffff_ffff,
    ];
}

/// Bits of a digit of half a number.
const WIDTH: usize = 5;
/// Digits of half a number.
const PLACES: usize = 130 / WIDTH;
/// Number of odd multiples of a point.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// `beta`, a third root of 1.
const BETA: [u64; 4] =
    [0xc139_6c28_7195_01ee, 0x9cf0_4975_12f5_8995, 0x6e64_479e_ac34_34e9, 0x7ae9_6a2b_657c_0710];

/// The curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secp256k1;

impl Curve for Secp256k1 {
    type Prime = K1Prime;
    type Order = K1Order;

    const PRIME_LESS_ORDER: [u64; 5] = limbs([0x402d_a172_2fc9_baee, 0x4551_2319_50b7_5fc4, 1, 0]);

    fn generator() -> &'static Shared {
        static SHARED: Shared = Shared::new();
        &SHARED
    }

    fn power(bit: usize) -> Option<([u8; 32], [u8; 32])> {
        let mut number = [0; 32];
        number[31 - bit / 8] = 1 << (bit % 8);
        let key = PublicKey::from_secret_key(&SecretKey::from_secret_bytes(number).ok()?);
        let [_form, key @ ..] = key.serialize_uncompressed();
        let ([x, y], _) = key.as_chunks() else { return None };
        Some((*x, *y))
    }

    fn right_side<L: Limb>(x: &Field<L, K1Prime>) -> Field<L, K1Prime> {
        let cube = x.square().mul(x);
        x.run(
            #[inline(always)]
            || cube.add(&x.same([7, 0, 0, 0])),
        )
    }

    /// The formula dbl-2009-l of the Explicit-Formulas Database with half its Z, as libsecp256k1
    /// has it, and with its Y of opposite sign, which makes the last two products one sum.
    fn double<L: Limb>(point: &mut Jacobian<L, Self>, times: usize) {
        L::run(
            point.x.proven(),
            #[inline(always)]
            || {
                for _ in 0..times {
                    let slope = point.x.square().three_halves();
                    let yy = point.y.square();
                    let t = point.x.mul(&yy);
                    point.z.mul_assign(&point.y);
                    point.x = slope.square().sub_both(&t, &t);
                    point.y.set_square_add_mul(&yy, &slope, &point.x.sub(&t));
                    point.negated = !point.negated;
                }
            },
        );
    }

    fn double_co_z<L: Limb>(point: &mut Affine<L, Self>) -> Affine<L, Self> {
        L::run(
            point.x.proven(),
            #[inline(always)]
            || {
                let slope = point.x.square().three_halves();
                let yy = point.y.square();
                *point = Affine { x: point.x.mul(&yy), y: yy.square() };
                let x = slope.square().sub_both(&point.x, &point.x);
                let y = slope.mul(&point.x.sub(&x)).sub_tight(&point.y);
                Affine { x, y }
            },
        )
    }

    fn co_z<L: Limb>(point: &Affine<L, Self>) -> Field<L, K1Prime> {
        point.y
    }

    /// The number is split in halves of 130 bits by the curve's endomorphism, `(x, y) -> (beta * x,
    /// y)`. Both take their digits from one table of the odd multiples of the point up to 31.
    fn multiply<L: Limb>(
        point: &Affine<L, Self>,
        number: &Montgomery<L, K1Order>,
    ) -> Jacobian<L, Self> {
        let mut tables: Tables<MULTIPLES> = Tables::new();
        let z = fill(&mut tables, point);
        let halves = L::run(
            point.x.proven(),
            #[inline(always)]
            || split_digits(number),
        );
        let mut sum = multiply_tables(point.x.proven(), &tables, &halves);
        // from the table's curve back to the curve of the point
        sum.z.mul_assign(&z);
        sum
    }
}

fn multiply_tables<L: Limb>(
    proof: L::Proof,
    tables: &Tables<MULTIPLES>,
    halves: &[Digits<L, 3>; 2],
) -> Jacobian<L, Secp256k1> {
    let top = PLACES - 1;
    let (point, negative) = multiple(proof, tables, halves, top, 0);
    let mut sum = L::run(
        proof,
        #[inline(always)]
        || point.to_jacobian(negative),
    );
    let (point, negative) = multiple(proof, tables, halves, top, 1);
    sum.add(&point, negative);
    for place in (0..top).rev() {
        Secp256k1::double(&mut sum, WIDTH);
        for half in 0..2 {
            let (point, negative) = multiple(proof, tables, halves, place, half);
            sum.add(&point, negative);
        }
    }
    sum
}

/// The multiple that a digit of a half selects, and the lanes in which it is negated.
fn multiple<L: Limb>(
    proof: L::Proof,
    tables: &Tables<MULTIPLES>,
    halves: &[Digits<L, 3>; 2],
    place: usize,
    half: usize,
) -> (Affine<L, Secp256k1>, Mask) {
    L::run(
        proof,
        #[inline(always)]
        || {
            let (index, negative) = halves[half].digit::<WIDTH>(place);
            let index = index.numbers();
            let mut point = entry_of(
                proof,
                #[inline(always)]
                |lane| &tables.0[lane][index[lane] as usize % MULTIPLES],
            );
            if half == 1 {
                point.x.mul_assign(&point.x.same(BETA));
            }
            (point, negative)
        },
    )
}
