//! The table of multiples of the generator G, made once when it is first asked for.

use alloc::boxed::Box;
use alloc::vec;
use core::{fmt, ptr};
use core::sync::atomic::{AtomicPtr, Ordering};

use secp256k1::{PublicKey, SecretKey};

use super::field::{Field, load};
use super::group::Affine;
use super::multiply::{Entry, odd_multiples, put, rescale};

/// Bits of a digit.
pub(super) const WIDTH: usize = 10;
/// How many digits a number has.
const PLACES: usize = 260 / WIDTH;
/// How many multiples a digit chooses from.
pub(super) const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The odd multiples of `2^(WIDTH * place) * G` for each place, affine: 832 KiB.
pub(super) struct Generator(Box<[[Entry; MULTIPLES]]>);

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

impl Generator {
    pub(super) fn places(&self) -> &[[Entry; MULTIPLES]] {
        &self.0
    }

    /// The one table of the process.
    ///
    /// # Safety
    /// The CPU must have AVX-512F, AVX-512BW and AVX-512IFMA.
    pub(super) unsafe fn shared() -> Option<&'static Self> {
        static SHARED: AtomicPtr<Generator> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the pointer is null or was leaked below, and nothing changes what it points to.
        if let Some(shared) = unsafe { SHARED.load(Ordering::Acquire).as_ref() } {
            return Some(shared);
        }
        // SAFETY: the caller knows that the CPU has the features.
        let made = Box::into_raw(Box::new(unsafe { make() }?));
        let null = ptr::null_mut();
        match SHARED.compare_exchange(null, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `made` is leaked.
            Ok(_) => unsafe { made.as_ref() },
            Err(first) => {
                // SAFETY: another thread was first, so `made` is still only ours.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: the pointer is not null, so it was leaked by the other thread.
                unsafe { first.as_ref() }
            }
        }
    }
}

/// x and y of `2^bit * G` in big-endian bytes.
fn power(bit: usize) -> Option<([u8; 32], [u8; 32])> {
    let mut number = [0; 32];
    number[31 - bit / 8] = 1 << (bit % 8);
    let key = PublicKey::from_secret_key(&SecretKey::from_secret_bytes(number).ok()?);
    let [_form, key @ ..] = key.serialize_uncompressed();
    let ([x, y], _) = key.as_chunks() else { return None };
    Some((*x, *y))
}

/// Eight places at once, each in its lane.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn make() -> Option<Generator> {
    let mut table = vec![[Entry::ZERO; MULTIPLES]; PLACES].into_boxed_slice();
    let zero = Field::<1>::splat([0; 4]);
    let mut multiples = vec![Affine { x: zero, y: zero }; MULTIPLES];
    let mut factors = vec![zero; MULTIPLES];
    for (group, places) in table.chunks_mut(8).enumerate() {
        let mut powers = [([0; 32], [0; 32]); 8];
        for (lane, power_of_lane) in powers.iter_mut().enumerate() {
            // lanes without a place repeat the last
            let place = (8 * group + lane).min(PLACES - 1);
            *power_of_lane = power(WIDTH * place)?;
        }
        multiples[0].x.0[0] = load(powers.each_ref().map(|(x, _)| x));
        multiples[0].y.0[0] = load(powers.each_ref().map(|(_, y)| y));
        odd_multiples(&mut multiples, &mut factors);
        let mut z = Field::splat([1, 0, 0, 0]);
        for factor in &factors {
            z = z.mul(factor);
        }
        let mut unused = Entry::ZERO;
        rescale(&multiples, &factors, &z.invert(), |i, point| {
            put(point, |_, lane, entry| match places.get_mut(lane) {
                Some(multiples) => multiples[i] = entry,
                None => unused = entry,
            });
        });
    }
    Some(Generator(table))
}
