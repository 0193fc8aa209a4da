//! Points of secp256k1, `y^2 = x^3 + 7`, in Jacobian coordinates: `(X / Z^2, Y / Z^3)`.
//!
//! The formulas do not know the point at infinity, nor sums of a point with itself or its opposite.
//! All of these, and nothing else, give `Z = 0`. Once 0, Z stays 0, because every formula
//! multiplies it. So whoever finds another Z in the end knows that all steps before it were sound.
//! They use the curve's `a = 0` and not its 7, so they also hold on the curves `y^2 = x^3 + 7 *
//! z^6`.

use super::field::Field;
use super::limb::{Lanes, Mask};

/// A point in every lane. Some formulas are shorter for the opposite of their result; `negated`
/// remembers which it is.
#[derive(Clone, Copy)]
pub(super) struct Jacobian {
    pub(super) x: Field,
    pub(super) y: Field,
    /// 0 if the point is unknown, or at infinity.
    pub(super) z: Field,
    /// The coordinates are those of the opposite point.
    pub(super) negated: bool,
}

/// The affine coordinates of a point in every lane.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    pub(super) x: Field,
    pub(super) y: Field,
}

impl Affine {
    /// The point with this x, and with an odd y in the lanes whose bit is set, an even y in the
    /// others. In the lanes where x is on no point, it is not on the curve.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn lift(x: Field, odd: Mask) -> Self {
        let y = curve(&x).sqrt().canonical();
        Affine { x, y: y.negated(y.is_odd() ^ odd) }
    }

    /// The lanes with points of the curve.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn is_on_curve(&self) -> Mask {
        self.y.square().sub(&curve(&self.x)).is_zero()
    }

    /// The point, in the lanes whose bit is set its opposite.
    #[inline(always)]
    pub(super) fn to_jacobian(self, negative: Mask) -> Jacobian {
        let (y, z) = (self.y.negated(negative), self.x.same([1, 0, 0, 0]));
        Jacobian { x: self.x, y, z, negated: false }
    }
}

/// `x^3 + 7`
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn curve(x: &Field) -> Field {
    x.square().mul(x).add(&x.same([7, 0, 0, 0]))
}

impl Jacobian {
    /// No point that is known.
    #[inline(always)]
    pub(super) fn unknown(lanes: Lanes) -> Self {
        let zero = Field::splat(lanes, [0; 4]);
        Jacobian { x: zero, y: zero, z: zero, negated: false }
    }

    /// Twice the point, `times` times.
    ///
    /// The formula dbl-2009-l of the Explicit-Formulas Database with half its Z, as libsecp256k1
    /// has it, and with its Y of opposite sign, which makes the last two products one sum. No point
    /// of the curve has order two, so there is no special case.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn double(&mut self, times: usize) {
        for _ in 0..times {
            let slope = self.x.square().three_halves();
            let yy = self.y.square();
            let t = self.x.mul(&yy);
            self.z.mul_assign(&self.y);
            self.x = slope.square().sub_both(&t, &t);
            self.y.set_square_add_mul(&yy, &slope, &self.x.sub(&t));
            self.negated = !self.negated;
        }
    }

    /// Adds the point, in the lanes whose bit is set its opposite.
    ///
    /// The formula of Cohen, Miyaji and Ono (1998) for a point with Z = 1, "madd" in the
    /// Explicit-Formulas Database, for the opposite of the sum. Z becomes 0 if the x coordinates
    /// are equal.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn add(&mut self, point: &Affine, negative: Mask) {
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
    }
}
