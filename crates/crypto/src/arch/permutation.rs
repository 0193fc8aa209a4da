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
macro_rules! permute {
    ($a:ident) => {
        // Two rounds a pass halve the moves that bring the lanes back to their registers (3 % with
        // AVX-512, 13 % with BMI); four win nothing more.
        for [even, odd] in $crate::arch::permutation::ROUND_CONSTANTS.as_chunks::<2>().0 {
            $a = $crate::arch::permutation::round!($a, *even);
            $a = $crate::arch::permutation::round!($a, *odd);
        }
    };
}
pub(crate) use permute;

/// One round. Theta is applied to a lane where its row needs it, not to all lanes first: that
/// spreads the rotations, which fewer ports can do, evenly over the round.
macro_rules! round {
    ($a:ident, $constant:expr) => {{
        let parity = |x: usize| xor3(xor3($a[x], $a[x + 5], $a[x + 10]), $a[x + 15], $a[x + 20]);
        let add = theta([parity(0), parity(1), parity(2), parity(3), parity(4)]);
        let lane = |i: usize| add(i % 5, $a[i]);
        // rho and pi bring five lanes into a row, chi mixes the row
        let row = |b0, b1, b2, b3, b4| {
            let (e0, e1, e2) = (chi(b0, b1, b2), chi(b1, b2, b3), chi(b2, b3, b4));
            [e0, e1, e2, chi(b3, b4, b0), chi(b4, b0, b1)]
        };
        let [e0, e1, e2, e3, e4] = row(
            lane(0),
            rotate::<44>(lane(6)),
            rotate::<43>(lane(12)),
            rotate::<21>(lane(18)),
            rotate::<14>(lane(24)),
        );
        let e0 = xor_constant(e0, $constant); // iota
        let [e5, e6, e7, e8, e9] = row(
            rotate::<28>(lane(3)),
            rotate::<20>(lane(9)),
            rotate::<3>(lane(10)),
            rotate::<45>(lane(16)),
            rotate::<61>(lane(22)),
        );
        let [e10, e11, e12, e13, e14] = row(
            rotate::<1>(lane(1)),
            rotate::<6>(lane(7)),
            rotate::<25>(lane(13)),
            rotate::<8>(lane(19)),
            rotate::<18>(lane(20)),
        );
        let [e15, e16, e17, e18, e19] = row(
            rotate::<27>(lane(4)),
            rotate::<36>(lane(5)),
            rotate::<10>(lane(11)),
            rotate::<15>(lane(17)),
            rotate::<56>(lane(23)),
        );
        let [e20, e21, e22, e23, e24] = row(
            rotate::<62>(lane(2)),
            rotate::<55>(lane(8)),
            rotate::<39>(lane(14)),
            rotate::<41>(lane(15)),
            rotate::<2>(lane(21)),
        );
        [
            e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17, e18,
            e19, e20, e21, e22, e23, e24,
        ]
    }};
}
pub(crate) use round;
