//! The field of secp256k1, integers modulo `p = 2^256 - 2^32 - 977`.

use super::field::{Field, Prime, multiple};
use super::limb::{LOW, Limb, Part, ROOM, ROOM_TAKEN, begin, carry};

/// The bits of limb 4 below 2^256.
const TOP: u64 = (1 << 48) - 1;
/// `2^256 - p`
const FOLD: u64 = 0x1_0000_03d1;

/// The prime of secp256k1. Numbers represent themselves; a tight one is below 2^256 + 2^209.
#[derive(Clone, Copy, Debug)]
pub(crate) struct K1Prime;

impl Prime for K1Prime {
    const P: [u64; 5] = [LOW - FOLD + 1, LOW, LOW, LOW, TOP];
    const TIGHT: u64 = TOP + 1;
    const ONE: [u64; 4] = [1, 0, 0, 0];
    const ONCE: [u64; 5] = multiple(Self::P, 1);
    const TWICE: [u64; 5] = multiple(Self::P, 2);

    /// The bits of limb 4 above 2^256 are below 2^11, and are added times `FOLD`, below 2^44. Limb
    /// 4 keeps 48 bits; the carry that then arrives from below is at most 1.
    #[inline(always)]
    fn fold<L: Part>([l0, l1, l2, l3, l4]: [L; 5]) -> [L; 5] {
        let l4 = l4 + (l3 >> 52);
        let l0 = l0.plus_small(l4 >> 48, FOLD);
        carry([l0, l1, l2, l3 & LOW, l4 & TOP])
    }

    /// The halves are given room apart, because the upper must not be negative by itself. The 2^58
    /// of limb 4, which no limb gives, are `2^266`, which is `2^10 * FOLD`.
    #[inline(always)]
    fn begin<L: Part>(any: L, products: u64) -> [L; 10] {
        let mut room = ROOM;
        room[0] -= FOLD << 10;
        room[5] += ROOM_TAKEN;
        let mut more = [(0, 0); 10];
        // of the upper half times 16 * FOLD, and of what is above 2^256 times FOLD
        (more[0], more[1]) = ((2, 0), (1, 2));
        (more[2], more[3], more[4]) = ((1, 1), (1, 1), (1, 1));
        begin(any, products, more, room)
    }

    /// The sums are below `2^58 + 2 * 9 * 2^52`. The value is below 2^519, so that with carries the
    /// upper half is below 2^259 and its limbs are below 2^52. `2^260` is `16 * FOLD`, of 37 bits:
    /// the lower half plus the upper times that is below 2^297. Again, what is above 2^256 is below
    /// 2^42 and comes back times `FOLD` in two parts. Limb 4 keeps 48 bits, and the carry that then
    /// arrives from below is at most 1.
    ///
    /// With signed parts, limbs 0 to 4 are at least `2^58 - 2^42 - 12 * 2^51` all along.
    #[inline(always)]
    fn reduce<L: Part>([l0, l1, l2, l3, l4, h0, h1, h2, h3, h4]: [L; 10]) -> [L; 5] {
        let fold = l0.same(16 * FOLD).factor();
        // factors are the low 52 bits, so carried limbs need no mask
        let h1 = h1 + (h0 >> 52);
        let h2 = h2 + (h1 >> 52);
        let h3 = h3 + (h2 >> 52);
        let h4 = h4 + (h3 >> 52);
        let l5 = l0.same(L::begin(0, 1));
        let [l0, l1] = L::plus_product([l0, l1], h0.low_factor(), fold);
        let [l1, l2] = L::plus_product([l1, l2], h1.low_factor(), fold);
        let [l2, l3] = L::plus_product([l2, l3], h2.low_factor(), fold);
        let [l3, l4] = L::plus_product([l3, l4], h3.low_factor(), fold);
        let [l4, l5] = L::plus_product([l4, l5], h4.factor(), fold);
        let l4 = l4 + (l3 >> 52);
        let above = (l4 >> 48) + (l5 << 4);
        let [l0, l1] = L::plus_product([l0, l1], above.factor(), l0.same(FOLD).factor());
        carry([l0, l1, l2, l3 & LOW, l4 & TOP])
    }

    /// One of p or more passes 2^256 when `FOLD` is added.
    #[inline(always)]
    fn canonical<L: Limb>(limbs: [L; 5]) -> [L; 5] {
        let number = Self::fold(limbs);
        let mut less = number;
        less[0] = less[0] + less[0].same(FOLD);
        let mut less = carry(less);
        let large = less[4].has(TOP + 1);
        less[4] = less[4] & TOP;
        let mut out = number;
        for (out, less) in out.iter_mut().zip(less) {
            *out = out.replaced(large, less);
        }
        out
    }

    /// `number^((p + 1) / 4)`
    fn sqrt<L: Limb>(number: &Field<L, Self>) -> Field<L, Self> {
        let [x2, x22, x223] = runs_of_ones(number);
        x223.squared(23).mul(&x22).squared(6).mul(&x2).squared(2)
    }

    /// `number^(p - 2)`
    fn invert<L: Limb>(number: &Field<L, Self>) -> Field<L, Self> {
        let [x2, x22, x223] = runs_of_ones(number);
        let high = x223.squared(23).mul(&x22).squared(5).mul(number);
        high.squared(3).mul(&x2).squared(2).mul(number)
    }
}

/// The powers `2^2 - 1`, `2^22 - 1` and `2^223 - 1`, of which the exponents above are made: binary,
/// they are runs of ones of these lengths.
fn runs_of_ones<L: Limb>(number: &Field<L, K1Prime>) -> [Field<L, K1Prime>; 3] {
    let x2 = number.squared(1).mul(number);
    let x3 = x2.squared(1).mul(number);
    let x6 = x3.squared(3).mul(&x3);
    let x9 = x6.squared(3).mul(&x3);
    let x11 = x9.squared(2).mul(&x2);
    let x22 = x11.squared(11).mul(&x11);
    let x44 = x22.squared(22).mul(&x22);
    let x88 = x44.squared(44).mul(&x44);
    let x176 = x88.squared(88).mul(&x88);
    let x220 = x176.squared(44).mul(&x44);
    [x2, x22, x220.squared(3).mul(&x3)]
}
