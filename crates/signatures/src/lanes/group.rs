//! Points of a curve in Jacobian coordinates: `(X / Z^2, Y / Z^3)`.
//!
//! The formulas do not know the point at infinity, nor sums of a point with itself or its opposite.
//! All of these, and nothing else, give `Z = 0`. Once 0, Z stays 0, because every formula
//! multiplies it. So whoever finds another Z in the end knows that all steps before it were sound.

use super::curve::Curve;
use super::field::{Field, Prime};
use super::limb::{Limb, Mask};

/// A point in every lane. Some formulas are shorter for the opposite of their result; `negated`
/// remembers which it is.
#[derive(Clone, Copy)]
pub(crate) struct Jacobian<L, C: Curve> {
    pub(super) x: Field<L, C::Prime>,
    pub(super) y: Field<L, C::Prime>,
    /// 0 if the point is unknown, or at infinity.
    pub(super) z: Field<L, C::Prime>,
    /// The coordinates are those of the opposite point.
    pub(super) negated: bool,
}

/// The affine coordinates of a point in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Affine<L, C: Curve> {
    pub(super) x: Field<L, C::Prime>,
    pub(super) y: Field<L, C::Prime>,
}

impl<L: Limb, C: Curve> Affine<L, C> {
    /// The point with this x, and with an odd y in the lanes whose bit is set, an even y in the
    /// others. In the lanes where x is on no point, it is not on the curve.
    pub(super) fn lift(x: Field<L, C::Prime>, odd: Mask) -> Self {
        let y = C::right_side(&x).sqrt();
        x.run(
            #[inline(always)]
            || {
                let is_odd = y.integers()[0].has(1);
                Affine { x, y: y.negated(is_odd ^ odd) }
            },
        )
    }

    /// The lanes with points of the curve.
    pub(super) fn is_on_curve(&self) -> Mask {
        let (left, right) = (self.y.square(), C::right_side(&self.x));
        self.x.run(
            #[inline(always)]
            || left.sub(&right).is_zero(),
        )
    }

    /// The point, in the lanes whose bit is set its opposite.
    #[inline(always)]
    pub(super) fn to_jacobian(self, negative: Mask) -> Jacobian<L, C> {
        let (y, z) = (self.y.negated(negative), self.x.same(C::Prime::ONE));
        Jacobian { x: self.x, y, z, negated: false }
    }
}

impl<L: Limb, C: Curve> Jacobian<L, C> {
    /// No point that is known.
    #[inline(always)]
    pub(super) fn unknown(proof: L::Proof) -> Self {
        let zero = Field::splat(proof, [0; 4]);
        Jacobian { x: zero, y: zero, z: zero, negated: false }
    }

    /// Adds the point, in the lanes whose bit is set its opposite.
    ///
    /// The formula of Cohen, Miyaji and Ono (1998) for a point with Z = 1, "madd" in the
    /// Explicit-Formulas Database, for the opposite of the sum. Z becomes 0 if the x coordinates
    /// are equal.
    ///
    /// Returns the square of what Z is multiplied by.
    pub(super) fn add(&mut self, point: &Affine<L, C>, negative: Mask) -> Field<L, C::Prime> {
        L::run(
            point.x.proven(),
            #[inline(always)]
            || self.add_inlined(point, negative),
        )
    }

    #[inline(always)]
    fn add_inlined(&mut self, point: &Affine<L, C>, negative: Mask) -> Field<L, C::Prime> {
        let negative = if self.negated { !negative } else { negative };
        let zz = self.z.square();
        let h = self.x.sub(&point.x.mul(&zz));
        let r = point.y.mul(&self.z).mul(&zz).signed_sub(negative, &self.y);
        let hh = h.square();
        let hhh = h.mul(&hh);
        let v = self.x.mul(&hh);
        self.z.mul_assign(&h);
        self.x = r.square().add_sub_twice(&hhh, &v);
        self.y.mul_add_mul_assign(&hhh, &r, &v.sub(&self.x));
        self.negated = !self.negated;
        hh
    }
}

#[cfg(test)]
mod tests;
