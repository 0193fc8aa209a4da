//! What differs from curve to curve. All have the form `y^2 = x^3 + a * x + b` and a prime order.

use super::field::{Field, Prime};
use super::generator::Shared;
use super::group::{Affine, Jacobian};
use super::limb::Limb;
use super::montgomery::{Modulus, Montgomery};

/// A curve. No point of it has order two.
pub(crate) trait Curve: Copy {
    /// The field of the coordinates.
    type Prime: Prime;
    /// The order of the group.
    type Order: Modulus;

    /// The prime less the order, if that is positive: for an r below it, `r + n` may be the x
    /// coordinate as well.
    const PRIME_LESS_ORDER: [u64; 5];

    /// The table of multiples of the generator.
    fn generator() -> &'static Shared;

    /// x and y of `2^bit` times the generator in big-endian bytes, from a library.
    fn power(bit: usize) -> Option<([u8; 32], [u8; 32])>;

    /// `x^3 + a * x + b`
    fn right_side<L: Limb>(x: &Field<L, Self::Prime>) -> Field<L, Self::Prime>;

    /// Twice the point, `times` times.
    fn double<L: Limb>(point: &mut Jacobian<L, Self>, times: usize);

    /// Twice the point, which takes on the same Z: twice its former y, or its former y.
    fn double_co_z<L: Limb>(point: &mut Affine<L, Self>) -> Affine<L, Self>;

    /// The factor by which [`Curve::double_co_z`] multiplies Z.
    fn co_z<L: Limb>(point: &Affine<L, Self>) -> Field<L, Self::Prime>;

    /// `number * point` for a number below the order; Z is 0 in the lanes where it is not known.
    fn multiply<L: Limb>(
        point: &Affine<L, Self>,
        number: &Montgomery<L, Self::Order>,
    ) -> Jacobian<L, Self>;
}
