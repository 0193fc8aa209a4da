//! Serialised public keys as points.

use core::arch::x86_64::__mmask8;

use super::field::{Field, P, load};
use super::group::Affine;
use super::scalar::is_below;
use crate::signatures::Key;

/// What is known of the keys of `W` vectors.
pub(super) struct Keys<const W: usize> {
    x: Field<W>,
    y: Field<W>,
    /// The lanes whose y is not known but for its parity.
    compressed: [__mmask8; W],
    /// The lanes among them whose y is odd.
    odd: [__mmask8; W],
    /// The lanes whose key is not valid.
    doubtful: [__mmask8; W],
}

impl<const W: usize> Keys<W> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn new() -> Self {
        let zero = Field::splat([0; 4]);
        Keys { x: zero, y: zero, compressed: [0; W], odd: [0; W], doubtful: [0; W] }
    }

    /// Takes the keys of vector `w`.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn load(&mut self, w: usize, keys: [&Key; 8]) {
        let (mut x, mut y) = ([&[0; 32]; 8], [&[0; 32]; 8]);
        for (lane, key) in keys.into_iter().enumerate() {
            let form_fits = match key {
                Key::Compressed([form, of_x @ ..]) => {
                    x[lane] = of_x;
                    self.compressed[w] |= 1 << lane;
                    self.odd[w] |= (form & 1) << lane;
                    matches!(form, 2 | 3)
                }
                Key::Uncompressed([form, rest @ ..]) => {
                    if let ([of_x, of_y], _) = rest.as_chunks() {
                        (x[lane], y[lane]) = (of_x, of_y);
                    }
                    matches!((form, rest[63] & 1), (4, _) | (6, 0) | (7, 1))
                }
            };
            self.doubtful[w] |= u8::from(!form_fits) << lane;
        }
        (self.x.0[w], self.y.0[w]) = (load(x), load(y));
        self.doubtful[w] |= !(is_below(&self.x.0[w], P) & is_below(&self.y.0[w], P));
    }

    /// The points, and the lanes in which they are not valid.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn points(&self) -> (Affine<W>, [__mmask8; W]) {
        let mut points = Affine { x: self.x, y: self.y };
        if self.compressed != [0; W] {
            let lifted = Affine::lift(&self.x, self.odd);
            points.y = points.y.replaced_where(self.compressed, &lifted.y);
        }
        let (mut doubtful, on_curve) = (self.doubtful, points.is_on_curve());
        for (doubtful, on_curve) in doubtful.iter_mut().zip(on_curve) {
            *doubtful |= !on_curve;
        }
        (points, doubtful)
    }
}
