//! Integers modulo a prime of 256 bits, generic over the prime.
//!
//! A number is five limbs in radix 2^52, `sum of limb[i] * 2^(52 * i)`. The multiply-add of 52 bits
//! takes the low 52 bits of both factors, and adds the low or the high 52 bits of their product to
//! a sum of 64 bits. So factors must have carried limbs, and a sum has room for 4,096 such parts.
//!
//! There are two kinds, and neither is unique: `p + 1` and 1 are the same element.
//!
//! * [`Loose`]: limbs 0 to 3 are below 2^52 and limb 4 is below 2^51. It can be multiplied.
//! * [`Field`] is tight: limbs 0 to 3 are below 2^52 and limb 4 is at most [`Prime::TIGHT`]. It can
//!   also be subtracted. Every tight number is a loose one.
//!
//! All products are tight. Each function says why its result is what it returns, and asserts it in
//! debug builds.

use core::marker::PhantomData;
use core::ops::Deref;

use super::limb::{LOW, Limb, Mask, Part, ROOM, begin, is_zero, limbs, splat_all};

/// A prime, and the form of the numbers modulo it.
pub(crate) trait Prime: Copy {
    /// The prime in limbs.
    const P: [u64; 5];
    /// The largest limb 4 of a tight number: `2^48 * (1 + e)` with a small e.
    const TIGHT: u64;
    /// The representation of 1, below p, in words of 64 bits.
    const ONE: [u64; 4];
    /// A multiple of p, each of whose limbs is at least the largest limb of a tight number: to add
    /// it before a subtraction keeps limbs positive. Its limb 4 is at most 3 times 2^48.
    const ONCE: [u64; 5];
    /// The multiple of p for two tight numbers; its limb 4 is at most 4 times 2^48.
    const TWICE: [u64; 5];

    /// The tight number of limbs that are below 2^59, and limb 4 below 2^58.
    fn fold<L: Part>(limbs: [L; 5]) -> [L; 5];

    /// The initial sums of at most two products before [`Prime::reduce`].
    #[inline(always)]
    fn begin<L: Part>(any: L, products: u64) -> [L; 10] {
        begin(any, products, [(0, 0); 10], ROOM)
    }

    /// The tight number of at most two products of loose numbers.
    fn reduce<L: Part>(sums: [L; 10]) -> [L; 5];

    /// The numbers below p, which are unique, of tight numbers.
    fn canonical<L: Limb>(limbs: [L; 5]) -> [L; 5];

    /// The representation of integers below 2^256.
    #[inline(always)]
    fn of_integers<L: Limb>(limbs: [L; 5]) -> [L; 5] {
        limbs
    }

    /// The integers, as tight numbers, that these represent.
    #[inline(always)]
    fn to_integers<L: Limb>(limbs: [L; 5]) -> [L; 5] {
        limbs
    }

    /// A square root, if there is one.
    fn sqrt<L: Limb>(number: &Field<L, Self>) -> Field<L, Self>;

    /// The inverse; 0 for 0.
    fn invert<L: Limb>(number: &Field<L, Self>) -> Field<L, Self>;
}

/// Sixteen numbers modulo p that can be multiplied.
#[derive(Clone, Copy)]
pub(crate) struct Loose<L, P>([L; 5], PhantomData<P>);

/// Sixteen tight numbers modulo p.
#[derive(Clone, Copy)]
pub(crate) struct Field<L, P>(Loose<L, P>);

impl<L, P> Deref for Field<L, P> {
    type Target = Loose<L, P>;

    #[inline(always)]
    fn deref(&self) -> &Loose<L, P> {
        &self.0
    }
}

/// `times + 2` times p.
pub(crate) const fn multiple(p: [u64; 5], times: u64) -> [u64; 5] {
    let (mut out, mut k) = (p, 0);
    while k < 5 {
        out[k] *= times + 2;
        k += 1;
    }
    out
}

/// The tight number of a sum of products.
#[inline(always)]
fn reduced<L: Limb, P: Prime, const N: usize>(
    factors: [&Loose<L, P>; N],
    sums: impl Fn([[L::Part; 5]; N]) -> [L::Part; 10],
) -> Field<L, P> {
    let limbs = L::each(
        factors.map(
            #[inline(always)]
            |number| &number.0,
        ),
        0,
        #[inline(always)]
        |parts, _| P::reduce(sums(parts)),
    );
    Field::of(limbs)
}

impl<L: Limb, P: Prime> Loose<L, P> {
    #[inline(always)]
    pub(crate) fn limbs(&self) -> [L; 5] {
        self.0
    }

    #[inline(always)]
    pub(super) fn of(limbs: [L; 5]) -> Self {
        Loose(limbs, PhantomData)
    }

    /// Returns the number, asserted to have limbs 0 to 3 below 2^52 and limb 4 of `most` at most.
    #[inline(always)]
    pub(super) fn asserted(self, most: u64) -> Self {
        debug_assert!(self.fits(most), "a limb is too large; limb 4 may be {most}");
        self
    }

    /// Not inlined, because it would be compiled again for each sum. All lanes are checked, in
    /// registers.
    #[inline(never)]
    fn fits(&self, most: u64) -> bool {
        L::run_with(
            self.0[0].proven(),
            self,
            #[inline(always)]
            |number| {
                let limbs = number.0.iter().zip([LOW, LOW, LOW, LOW, most]);
                !limbs.fold(false, |above, (limb, most)| {
                    limb.numbers().iter().fold(above, |above, lane| above | (*lane > most))
                })
            },
        )
    }

    #[inline(always)]
    pub(crate) fn mul(&self, b: &Self) -> Field<L, P> {
        L::run_with(
            self.proven(),
            (self, b),
            #[inline(always)]
            |(a, b)| {
                reduced(
                    [a, b],
                    #[inline(always)]
                    |[a, b]| Part::plus_products(P::begin(a[0], 1), a, b),
                )
            },
        )
    }

    #[inline(always)]
    pub(crate) fn square(&self) -> Field<L, P> {
        L::run_with(
            self.proven(),
            self,
            #[inline(always)]
            |a| a.square_inlined(),
        )
    }

    #[inline(always)]
    fn square_inlined(&self) -> Field<L, P> {
        reduced(
            [self],
            #[inline(always)]
            |[a]| Part::plus_squares(P::begin(a[0], 1), a),
        )
    }

    /// The lanes that hold 0.
    #[inline(always)]
    pub(crate) fn is_zero(&self) -> Mask {
        is_zero(P::canonical(P::fold(self.0)))
    }

    /// The proof that the CPU has the features.
    #[inline(always)]
    pub(super) fn proven(&self) -> L::Proof {
        self.0[0].proven()
    }

    /// Runs `work` in a function for which the CPU's features are enabled.
    #[inline(always)]
    pub(super) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        L::run(self.proven(), work)
    }
}

impl<L: Limb, P: Prime> Field<L, P> {
    /// The numbers of these limbs, which are carried and below 2^256.
    #[inline(always)]
    pub(crate) fn new(limbs: [L; 5]) -> Self {
        Field(Loose::of(limbs).asserted((1 << 48) - 1))
    }

    /// The tight numbers of these limbs.
    #[inline(always)]
    pub(super) fn of(limbs: [L; 5]) -> Self {
        Field(Loose::of(limbs).asserted(P::TIGHT))
    }

    /// The representation of these integers below 2^256.
    #[inline(always)]
    pub(crate) fn of_integers(limbs: [L; 5]) -> Self {
        Field::of(P::of_integers(limbs))
    }

    /// The integers below p that these represent.
    #[inline(always)]
    pub(crate) fn integers(&self) -> [L; 5] {
        P::canonical(P::to_integers(self.limbs()))
    }

    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(crate) fn splat(proof: L::Proof, words: [u64; 4]) -> Self {
        Field::new(splat_all(proof, limbs(words)))
    }

    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(crate) fn same(&self, words: [u64; 4]) -> Self {
        let mut out = self.limbs();
        for (out, limb) in out.iter_mut().zip(limbs(words)) {
            *out = out.same(limb);
        }
        Field::new(out)
    }

    /// Replaces `self` by the tight number of a sum of products.
    #[inline(always)]
    fn replace_reduced<const N: usize>(
        &mut self,
        factors: [&Loose<L, P>; N],
        sums: impl Fn([L::Part; 5], [[L::Part; 5]; N]) -> [L::Part; 10],
    ) {
        L::replace_each(
            &mut self.0.0,
            factors.map(
                #[inline(always)]
                |number| &number.0,
            ),
            #[inline(always)]
            |part, parts| P::reduce(sums(part, parts)),
        );
        self.0.asserted(P::TIGHT);
    }

    /// Replaces `self` by `self * b`.
    #[inline(always)]
    pub(crate) fn mul_assign(&mut self, b: &Loose<L, P>) {
        L::run_with(
            self.proven(),
            (self, b),
            #[inline(always)]
            |(a, b)| {
                a.replace_reduced(
                    [b],
                    #[inline(always)]
                    |a, [b]| Part::plus_products(P::begin(a[0], 1), a, b),
                );
            },
        );
    }

    /// Replaces `self` by `self * b + c * d`.
    #[inline(always)]
    pub(crate) fn mul_add_mul_assign(&mut self, b: &Loose<L, P>, c: &Loose<L, P>, d: &Loose<L, P>) {
        L::run(
            self.proven(),
            #[inline(always)]
            || {
                self.replace_reduced(
                    [b, c, d],
                    #[inline(always)]
                    |a, [b, c, d]| {
                        let sums = Part::plus_products(P::begin(a[0], 2), a, b);
                        Part::plus_products(sums, c, d)
                    },
                );
            },
        );
    }

    /// Replaces `self` by `a * a + b * c`.
    #[inline(always)]
    pub(crate) fn set_square_add_mul(&mut self, a: &Loose<L, P>, b: &Loose<L, P>, c: &Loose<L, P>) {
        L::run(
            self.proven(),
            #[inline(always)]
            || {
                *self = reduced(
                    [a, b, c],
                    #[inline(always)]
                    |[a, b, c]| {
                        let sums = Part::plus_squares(P::begin(a[0], 2), a);
                        Part::plus_products(sums, b, c)
                    },
                );
            },
        );
    }

    /// `b` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(crate) fn replaced(&self, mask: Mask, b: &Self) -> Self {
        let mut out = self.limbs();
        for (out, b) in out.iter_mut().zip(b.limbs()) {
            *out = out.replaced(mask, b);
        }
        Field(Loose::of(out))
    }

    /// Equal numbers below 2^256: one with limb 4 at its bound becomes a small one.
    #[inline(always)]
    pub(crate) fn below_2_256(&self) -> Self {
        Field::of(P::fold(self.limbs()))
    }

    /// The numbers below p, which are unique.
    #[inline(always)]
    pub(crate) fn canonical(&self) -> Self {
        Field::new(P::canonical(self.limbs()))
    }

    /// The lanes of canonical numbers that hold an odd one.
    #[inline(always)]
    pub(crate) fn is_odd(&self) -> Mask {
        self.limbs()[0].has(1)
    }

    /// `self^(2^times)`
    #[inline(always)]
    pub(super) fn squared(&self, times: usize) -> Self {
        self.run(
            #[inline(always)]
            || {
                let mut out = *self;
                for _ in 0..times {
                    out = out.square_inlined();
                }
                out
            },
        )
    }

    /// A square root, if there is one.
    pub(crate) fn sqrt(&self) -> Self {
        P::sqrt(self)
    }

    /// The inverse; 0 for 0.
    pub(crate) fn invert(&self) -> Self {
        P::invert(self)
    }
}

pub(super) mod sums;
#[cfg(test)]
mod tests;
