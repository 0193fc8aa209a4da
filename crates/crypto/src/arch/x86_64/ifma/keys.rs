//! Serialised public keys as points.

use super::field::{Field, P};
use super::group::Affine;
use super::limb::{LANES, Lanes, Mask, is_below};
use crate::signatures::Key;

/// The points, and the lanes in which the key is not valid.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn points<'a>(lanes: Lanes, key: impl Fn(usize) -> &'a Key) -> (Affine, Mask) {
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
    let (x, y) = (lanes.load(|lane| x[lane]), lanes.load(|lane| y[lane]));
    invalid |= !(is_below(x, P) & is_below(y, P));
    let mut points = Affine { x: Field::new(x), y: Field::new(y) };
    if compressed != 0 {
        points.y = points.y.replaced(compressed, &Affine::lift(points.x, odd).y);
    }
    (points, invalid | !points.is_on_curve())
}
