//! The Keccak permutation for each kind of register, and the choice between them.
//!
//! The rounds are written once, as the macro [`permutation`]; each file below gives it a lane type
//! and the five operations that it needs.

pub(crate) mod all;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

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

/// Makes a function that applies the 24 rounds of Keccak-f\[1600\] to 25 lanes.
///
/// The file that calls it has in scope, for the lane type: `xor(a, b)`, `xor3(a, b, c)`,
/// `rotate::<N>(a)` to the left, `chi(a, b, c) = a ^ (!b & c)` and `splat(u64)`.
macro_rules! permutation {
    ($(#[$attribute:meta])* $name:ident, $lane:ty) => {
        $(#[$attribute])*
        fn $name(mut a: [$lane; 25]) -> [$lane; 25] {
            for constant in crate::arch::ROUND_CONSTANTS {
                // theta: the parity of each column goes into its two neighbours
                let c0 = xor3(xor3(a[0], a[5], a[10]), a[15], a[20]);
                let c1 = xor3(xor3(a[1], a[6], a[11]), a[16], a[21]);
                let c2 = xor3(xor3(a[2], a[7], a[12]), a[17], a[22]);
                let c3 = xor3(xor3(a[3], a[8], a[13]), a[18], a[23]);
                let c4 = xor3(xor3(a[4], a[9], a[14]), a[19], a[24]);
                let d0 = xor(c4, rotate::<1>(c1));
                let d1 = xor(c0, rotate::<1>(c2));
                let d2 = xor(c1, rotate::<1>(c3));
                let d3 = xor(c2, rotate::<1>(c4));
                let d4 = xor(c3, rotate::<1>(c0));
                // rho and pi bring five lanes into a row, chi mixes the row
                let row = |b0, b1, b2, b3, b4| {
                    let (e0, e1, e2) = (chi(b0, b1, b2), chi(b1, b2, b3), chi(b2, b3, b4));
                    [e0, e1, e2, chi(b3, b4, b0), chi(b4, b0, b1)]
                };
                let [e0, e1, e2, e3, e4] = row(
                    xor(a[0], d0),
                    rotate::<44>(xor(a[6], d1)),
                    rotate::<43>(xor(a[12], d2)),
                    rotate::<21>(xor(a[18], d3)),
                    rotate::<14>(xor(a[24], d4)),
                );
                let e0 = xor(e0, splat(constant)); // iota
                let [e5, e6, e7, e8, e9] = row(
                    rotate::<28>(xor(a[3], d3)),
                    rotate::<20>(xor(a[9], d4)),
                    rotate::<3>(xor(a[10], d0)),
                    rotate::<45>(xor(a[16], d1)),
                    rotate::<61>(xor(a[22], d2)),
                );
                let [e10, e11, e12, e13, e14] = row(
                    rotate::<1>(xor(a[1], d1)),
                    rotate::<6>(xor(a[7], d2)),
                    rotate::<25>(xor(a[13], d3)),
                    rotate::<8>(xor(a[19], d4)),
                    rotate::<18>(xor(a[20], d0)),
                );
                let [e15, e16, e17, e18, e19] = row(
                    rotate::<27>(xor(a[4], d4)),
                    rotate::<36>(xor(a[5], d0)),
                    rotate::<10>(xor(a[11], d1)),
                    rotate::<15>(xor(a[17], d2)),
                    rotate::<56>(xor(a[23], d3)),
                );
                let [e20, e21, e22, e23, e24] = row(
                    rotate::<62>(xor(a[2], d2)),
                    rotate::<55>(xor(a[8], d3)),
                    rotate::<39>(xor(a[14], d4)),
                    rotate::<41>(xor(a[15], d0)),
                    rotate::<2>(xor(a[21], d1)),
                );
                a = [
                    e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17,
                    e18, e19, e20, e21, e22, e23, e24,
                ];
            }
            a
        }
    };
}
pub(crate) use permutation;

/// Applies the permutation to one state, by the fastest way that this CPU has.
#[inline]
pub(crate) fn permute(state: &mut [u64; 25]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(single) = x86_64::single::Single::new() {
        return single.permute(state);
    }
    all::permute(state);
}
