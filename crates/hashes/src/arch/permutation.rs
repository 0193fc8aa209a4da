//! The rounds of Keccak-f\[1600\], written once for every kind of register.

/// Constants of the iota step, one for each of the 24 rounds (Keccak reference, section 1.2).
pub(crate) const ROUND_CONSTANTS: [u64; 24] = [
    0x0000000000000001,
    0x0000000000008082,
    0x800000000000808a,
    0x8000000080008000,
    0x000000000000808b,
    0x0000000080000001,
    0x8000000080008081,
    0x8000000000008009,
    0x000000000000008a,
    0x0000000000000088,
    0x0000000080008009,
    0x000000008000000a,
    0x000000008000808b,
    0x800000000000008b,
    0x8000000000008089,
    0x8000000000008003,
    0x8000000000008002,
    0x8000000000000080,
    0x000000000000800a,
    0x800000008000000a,
    0x8000000080008081,
    0x8000000000008080,
    0x0000000080000001,
    0x8000000080008008,
];

/// Applies the 24 rounds to the local array of 25 lanes `a`. A macro, because the compiler does not
/// inline a function of this size, and 25 arguments in memory cost more than the code.
///
/// The file that calls it has in scope, for the lane type: `xor3(a, b, c)`, `rotate::<N>(a)` to
/// the left, `chi(a, b, c) = a ^ (!b & c)`, `xor_constant(a, u64)`, and `theta(parities)`, which
/// gives a closure that adds to a lane of column `x` the parities of both neighbours of `x`.
///
/// A CPU that adds and rotates in one instruction instead names a macro for it. That one is called
/// with the rotation, what `theta` gave, `x`, and the lane.
macro_rules! permute {
    ($a:ident) => {
        $crate::arch::permutation::permute!($a, $crate::arch::permutation::add_then_rotate);
    };
    ($a:ident, $($rho:tt)+) => {
        // two rounds a pass halve the moves that return the lanes to their registers (3 % with
        // AVX-512, 13 % with BMI); four gain nothing more
        for [even, odd] in $crate::arch::permutation::ROUND_CONSTANTS.as_chunks::<2>().0 {
            $a = $crate::arch::permutation::round!($a, *even, $($rho)+);
            $a = $crate::arch::permutation::round!($a, *odd, $($rho)+);
        }
    };
}
pub(crate) use permute;

/// Theta and rho on CPUs that have an instruction for each.
macro_rules! add_then_rotate {
    (0, $add:ident, $x:literal, $lane:expr) => {
        $add($x, $lane)
    };
    ($left:literal, $add:ident, $x:literal, $lane:expr) => {
        rotate::<$left>($add($x, $lane))
    };
}
pub(crate) use add_then_rotate;

/// One round. Theta is applied to a lane when its row is computed, not to all lanes first. That
/// spreads the rotations, which fewer ports execute, evenly over the round.
macro_rules! round {
    ($a:ident, $constant:expr, $($rho:tt)+) => {{
        let parity = |x: usize| xor3(xor3($a[x], $a[x + 5], $a[x + 10]), $a[x + 15], $a[x + 20]);
        let add = theta([parity(0), parity(1), parity(2), parity(3), parity(4)]);
        // rho and pi move five lanes into a row, chi mixes the row
        let row = |b0, b1, b2, b3, b4| {
            let (e0, e1, e2) = (chi(b0, b1, b2), chi(b1, b2, b3), chi(b2, b3, b4));
            [e0, e1, e2, chi(b3, b4, b0), chi(b4, b0, b1)]
        };
        let [e0, e1, e2, e3, e4] = row(
            $($rho)+!(0, add, 0, $a[0]),
            $($rho)+!(44, add, 1, $a[6]),
            $($rho)+!(43, add, 2, $a[12]),
            $($rho)+!(21, add, 3, $a[18]),
            $($rho)+!(14, add, 4, $a[24]),
        );
        let e0 = xor_constant(e0, $constant); // iota
        let [e5, e6, e7, e8, e9] = row(
            $($rho)+!(28, add, 3, $a[3]),
            $($rho)+!(20, add, 4, $a[9]),
            $($rho)+!(3, add, 0, $a[10]),
            $($rho)+!(45, add, 1, $a[16]),
            $($rho)+!(61, add, 2, $a[22]),
        );
        let [e10, e11, e12, e13, e14] = row(
            $($rho)+!(1, add, 1, $a[1]),
            $($rho)+!(6, add, 2, $a[7]),
            $($rho)+!(25, add, 3, $a[13]),
            $($rho)+!(8, add, 4, $a[19]),
            $($rho)+!(18, add, 0, $a[20]),
        );
        let [e15, e16, e17, e18, e19] = row(
            $($rho)+!(27, add, 4, $a[4]),
            $($rho)+!(36, add, 0, $a[5]),
            $($rho)+!(10, add, 1, $a[11]),
            $($rho)+!(15, add, 2, $a[17]),
            $($rho)+!(56, add, 3, $a[23]),
        );
        let [e20, e21, e22, e23, e24] = row(
            $($rho)+!(62, add, 2, $a[2]),
            $($rho)+!(55, add, 3, $a[8]),
            $($rho)+!(39, add, 4, $a[14]),
            $($rho)+!(41, add, 0, $a[15]),
            $($rho)+!(2, add, 1, $a[21]),
        );
        [
            e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17, e18,
            e19, e20, e21, e22, e23, e24,
        ]
    }};
}
pub(crate) use round;
