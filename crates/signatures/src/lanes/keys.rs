//! Serialised public keys as points.

use super::curve::Curve;
use super::field::{Field, Prime};
use super::group::Affine;
use super::limb::{LANES, Limb, Mask, is_below, load};
use crate::batch::Key;

/// The points, and the lanes in which the key is not valid.
pub(super) fn points<'a, L: Limb, C: Curve>(
    proof: L::Proof,
    key: impl Fn(usize) -> &'a Key,
) -> (Affine<L, C>, Mask) {
    let (mut x, mut y) = ([&[0; 32]; LANES], [&[0; 32]; LANES]);
    // y is not in compressed keys, but only whether it is odd
    let (mut compressed, mut odd, mut invalid) = (0, 0, 0);
    for lane in 0..LANES {
        let form_fits = match key(lane) {
            Key::Compressed([form, of_x @ ..]) => {
                x[lane] = of_x;
                compressed |= 1 << lane;
                odd |= Mask::from(form & 1) << lane;
                matches!(form, 2 | 3)
            }
            Key::Uncompressed([form, rest @ ..]) => {
                if let ([of_x, of_y], _) = rest.as_chunks() {
                    (x[lane], y[lane]) = (of_x, of_y);
                }
                matches!((form, rest[63] & 1), (4, _) | (6, 0) | (7, 1))
            }
        };
        invalid |= Mask::from(!form_fits) << lane;
    }
    let (mut points, out_of_range) = L::run(
        proof,
        #[inline(always)]
        || {
            let (x, y) = (load(proof, |lane| x[lane]), load(proof, |lane| y[lane]));
            let in_range = is_below::<L>(x, C::Prime::P) & is_below::<L>(y, C::Prime::P);
            (Affine::<L, C> { x: Field::of_integers(x), y: Field::of_integers(y) }, !in_range)
        },
    );
    if compressed != 0 {
        points.y = points.y.replaced(compressed, &Affine::<L, C>::lift(points.x, odd).y);
    }
    (points, invalid | out_of_range | !points.is_on_curve())
}
