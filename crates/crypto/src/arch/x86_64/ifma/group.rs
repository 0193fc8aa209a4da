//! Points of secp256k1, `y^2 = x^3 + 7`, in Jacobian coordinates: `(X / Z^2, Y / Z^3)`.
//!
//! The formulas do not know the point at infinity, nor sums of a point with itself or its opposite.
//! All of these, and nothing else, give `Z = 0`; once 0, Z stays 0, because every formula multiplies
//! it. So whoever finds another Z in the end knows that all steps before it were sound. They use
//! the curve's `a = 0` and not its 7, so they also hold on the curves `y^2 = x^3 + 7 * z^6`.

use core::arch::x86_64::__mmask8;

use super::field::Field;

/// A point that is not at infinity, in every lane. One more multiplication for each formula is
/// saved by letting it give the opposite point; `negated` remembers whether that is so.
#[derive(Clone, Copy)]
pub(super) struct Jacobian<const W: usize> {
    pub(super) x: Field<W>,
    pub(super) y: Field<W>,
    /// 0 if the point is unknown.
    pub(super) z: Field<W>,
    /// The coordinates are those of the opposite point.
    pub(super) negated: bool,
}

/// The affine coordinates of a point in every lane.
#[derive(Clone, Copy)]
pub(super) struct Affine<const W: usize> {
    pub(super) x: Field<W>,
    pub(super) y: Field<W>,
}

impl<const W: usize> Affine<W> {
    /// The point with this x, and with an odd y in the lanes whose bit is set, an even y in the
    /// others. In the lanes where x is on no point, it is not on the curve.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn lift(x: &Field<W>, odd: [__mmask8; W]) -> Self {
        let y = curve(x).sqrt().canonical();
        let mut other = y.is_odd();
        for (other, odd) in other.iter_mut().zip(odd) {
            *other ^= odd;
        }
        Affine { x: *x, y: y.negate_where(other) }
    }

    /// The lanes with points of the curve.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn is_on_curve(&self) -> [__mmask8; W] {
        self.y.square().sub(&curve(&self.x)).is_zero()
    }
}

/// `x^3 + 7`
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn curve<const W: usize>(x: &Field<W>) -> Field<W> {
    x.square().mul(x).add(&Field::splat([7, 0, 0, 0]))
}

impl Jacobian<1> {
    /// No point that is known.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn unknown() -> Self {
        let zero = Field::splat([0; 4]);
        Jacobian { x: zero, y: zero, z: zero, negated: false }
    }
}

impl<const W: usize> Jacobian<W> {
    /// The points of one vector.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn vector(&self, w: usize) -> Jacobian<1> {
        let of = |field: &Field<W>| Field([field.0[w]]);
        Jacobian { x: of(&self.x), y: of(&self.y), z: of(&self.z), negated: self.negated }
    }

    /// The point, in the lanes whose bit is set its opposite.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn from_affine(point: &Affine<W>, negative: [__mmask8; W]) -> Self {
        let (y, z) = (point.y.negate_where(negative), Field::splat([1, 0, 0, 0]));
        Jacobian { x: point.x, y, z, negated: false }
    }

    /// Twice the point.
    ///
    /// The formula dbl-2009-l of the Explicit-Formulas Database with half its Z, as libsecp256k1
    /// has it, and with its Y of opposite sign, which makes the last two products one sum. No point
    /// of the curve has order two, so there is no special case.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn double(&mut self) {
        let slope = self.x.square().three_halves();
        let yy = self.y.square();
        let t = self.x.mul(&yy);
        self.z = self.z.mul(&self.y);
        self.x = slope.square().sub_twice(&t);
        self.y = yy.square_add_mul(&slope, &self.x.sub(&t));
        self.negated = !self.negated;
    }

    /// Adds the point, in the lanes whose bit is set its opposite.
    ///
    /// The formula madd of Cohen, Miyaji and Ono (1998; "madd" in the Explicit-Formulas Database)
    /// for the opposite of the sum. Z becomes 0 if the x coordinates are equal.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn add(&mut self, point: &Affine<W>, negative: [__mmask8; W]) {
        let flip = if self.negated { 0xff } else { 0 };
        let negative = negative.map(|bits| bits ^ flip);
        let zz = self.z.square();
        let h = self.x.sub(&point.x.mul(&zz));
        let r = point.y.mul(&self.z).mul(&zz).signed_sub(negative, &self.y);
        let hh = h.square();
        let hhh = h.mul(&hh);
        let v = self.x.mul(&hh);
        self.z = self.z.mul(&h);
        self.x = r.square().add_sub_twice(&hhh, &v);
        self.y = r.mul_add_mul(&v.sub(&self.x), &self.y, &hhh);
        self.negated = !self.negated;
    }
}
