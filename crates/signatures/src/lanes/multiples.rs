//! Tables of the odd multiples of points.

use super::curve::Curve;
use super::field::Field;
use super::group::Affine;
use super::limb::{Entry, LANES, Limb, join, split};

/// The odd multiples of each lane's point.
pub(super) struct Tables<const MULTIPLES: usize>(pub(super) [[Entry; MULTIPLES]; LANES]);

impl<const MULTIPLES: usize> Tables<MULTIPLES> {
    pub(super) fn new() -> Self {
        Tables([[Entry::ZERO; MULTIPLES]; LANES])
    }
}

/// Fills the tables with points that all have the same Z, and gives it.
///
/// They are points of another curve, whose coefficients are those of the curve times `Z^4` and
/// `Z^6`.
pub(super) fn fill<L: Limb, C: Curve, const MULTIPLES: usize>(
    tables: &mut Tables<MULTIPLES>,
    point: &Affine<L, C>,
) -> Field<L, C::Prime> {
    let mut multiples = [*point; MULTIPLES];
    let mut factors = [point.y; MULTIPLES];
    odd_multiples(&mut multiples, &mut factors);
    // all are brought to the Z of the last
    let ([rest @ .., last], [factors @ .., z]) = (&multiples[..], &factors[..]) else {
        return point.y;
    };
    put(last, |lane, entry| tables.0[lane][MULTIPLES - 1] = entry);
    rescale(rest, factors, *z, |i, point| put(point, |lane, entry| tables.0[lane][i] = entry))
}

/// Replaces all but the first of the multiples, which is Q, by 3Q, 5Q and so on, in Jacobian
/// coordinates. Z of each is the product of the factors up to its own.
///
/// 2Q and the multiple have one Z all along, so a step needs no Z (Meloni 2007: "Co-Z" addition,
/// ZADDU), only what it grows by: the difference of the x coordinates. Q has a large prime order,
/// so none of its small multiples is ±2Q.
pub(super) fn odd_multiples<L: Limb, C: Curve>(
    multiples: &mut [Affine<L, C>],
    factors: &mut [Field<L, C::Prime>],
) {
    let (Some(first), Some(z)) = (multiples.first_mut(), factors.first_mut()) else { return };
    *z = C::co_z(first);
    let mut twice = C::double_co_z(first);
    for i in 1..multiples.len() {
        let (before, multiple) = multiples.split_at_mut(i);
        add_co_z(&mut twice, &before[i - 1], &mut multiple[0], &mut factors[i]);
    }
}

/// Gives `put` the multiples, the last first, each with its coordinates multiplied by powers of a
/// number: the last by those of `z`, the one before by those of `z` times the last's factor, and
/// so on. Returns the number that would follow.
pub(super) fn rescale<L: Limb, C: Curve>(
    multiples: &[Affine<L, C>],
    factors: &[Field<L, C::Prime>],
    mut z: Field<L, C::Prime>,
    mut put: impl FnMut(usize, &Affine<L, C>),
) -> Field<L, C::Prime> {
    for (i, (point, factor)) in multiples.iter().zip(factors).enumerate().rev() {
        let zz = z.square();
        put(i, &Affine { x: point.x.mul(&zz), y: point.y.mul(&zz.mul(&z)) });
        z.mul_assign(factor);
    }
    z
}

/// Gives `put` the odd multiples of each lane's point, which is the first of `multiples`, in affine
/// coordinates: which one, the lane and the entry.
pub(super) fn affine_multiples<L: Limb, C: Curve>(
    multiples: &mut [Affine<L, C>],
    factors: &mut [Field<L, C::Prime>],
    mut put_entry: impl FnMut(usize, usize, Entry),
) {
    odd_multiples(multiples, factors);
    let Some(mut z) = factors.first().copied() else { return };
    for factor in &factors[1..] {
        z.mul_assign(factor);
    }
    rescale(multiples, factors, z.invert(), |i, point| {
        put(point, |lane, entry| put_entry(i, lane, entry));
    });
}

/// Writes the sum of `twice` and `multiple`, whose Z grew by the factor, and gives `twice` that Z.
fn add_co_z<L: Limb, C: Curve>(
    twice: &mut Affine<L, C>,
    multiple: &Affine<L, C>,
    sum: &mut Affine<L, C>,
    factor: &mut Field<L, C::Prime>,
) {
    L::run(
        multiple.x.proven(),
        #[inline(always)]
        || {
            *factor = twice.x.sub_tight(&multiple.x);
            let slope = twice.y.sub(&multiple.y);
            let square = factor.square();
            let x = multiple.x.mul(&square);
            twice.x.mul_assign(&square);
            twice.y.mul_assign(&twice.x.sub(&x));
            sum.x = slope.square().sub_both(&twice.x, &x);
            sum.y = slope.mul(&twice.x.sub(&sum.x)).sub_tight(&twice.y);
        },
    );
}

/// The point of an entry for each lane.
#[inline(always)]
pub(super) fn entry_of<'a, L: Limb, C: Curve>(
    proof: L::Proof,
    entry: impl Fn(usize) -> &'a Entry,
) -> Affine<L, C> {
    let [x0, x1, x2, x3, y0, y1, y2, y3] = L::gather(proof, entry);
    Affine { x: Field::new(split([x0, x1, x2, x3])), y: Field::new(split([y0, y1, y2, y3])) }
}

/// Gives `entry` the point of each lane.
pub(super) fn put<L: Limb, C: Curve>(point: &Affine<L, C>, entry: impl FnMut(usize, Entry)) {
    L::run(
        point.x.proven(),
        #[inline(always)]
        || {
            let [x0, x1, x2, x3] = join(point.x.below_2_256().limbs());
            let [y0, y1, y2, y3] = join(point.y.below_2_256().limbs());
            L::scatter([x0, x1, x2, x3, y0, y1, y2, y3], entry);
        },
    );
}
