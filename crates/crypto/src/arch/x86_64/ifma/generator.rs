//! The table of multiples of the generator G, made once when it is first asked for.

use alloc::boxed::Box;
use alloc::vec;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{fmt, ptr};

use secp256k1::{PublicKey, SecretKey};

use super::field::Field;
use super::group::Affine;
use super::limb::{LANES, Lanes};
use super::multiply::{Entry, odd_multiples, put, rescale};

/// Bits of a digit.
pub(super) const WIDTH: usize = 10;
/// How many digits a number has.
const PLACES: usize = 260 / WIDTH;
/// How many multiples a digit chooses from.
pub(super) const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The odd multiples of `2^(WIDTH * place) * G` for each place, affine: 832 KiB.
pub(super) struct Generator {
    lanes: Lanes,
    places: Box<[[Entry; MULTIPLES]]>,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

impl Generator {
    pub(super) fn places(&self) -> &[[Entry; MULTIPLES]] {
        &self.places
    }

    /// The proof that the CPU has the features.
    #[inline(always)]
    pub(super) fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The one table of the process; `None` on a CPU without the features.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: AtomicPtr<Generator> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the pointer is null or was leaked below, and nothing changes what it points to.
        if let Some(shared) = unsafe { SHARED.load(Ordering::Acquire).as_ref() } {
            return Some(shared);
        }
        let lanes = Lanes::new()?;
        // SAFETY: `lanes` is the proof that the CPU has the features.
        let places = unsafe { make(lanes) }?;
        let made = Box::into_raw(Box::new(Generator { lanes, places }));
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

/// Each lane makes the multiples of its place.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn make(lanes: Lanes) -> Option<Box<[[Entry; MULTIPLES]]>> {
    let mut table = vec![[Entry::ZERO; MULTIPLES]; PLACES].into_boxed_slice();
    let zero = Field::splat(lanes, [0; 4]);
    let mut multiples = vec![Affine { x: zero, y: zero }; MULTIPLES];
    let mut factors = vec![zero; MULTIPLES];
    for (group, places) in table.chunks_mut(LANES).enumerate() {
        let mut powers = [([0; 32], [0; 32]); LANES];
        for (lane, power_of_lane) in powers.iter_mut().enumerate() {
            // lanes without a place repeat the last
            let place = (LANES * group + lane).min(PLACES - 1);
            *power_of_lane = power(WIDTH * place)?;
        }
        multiples[0] = Affine {
            x: Field::new(lanes.load(|lane| &powers[lane].0)),
            y: Field::new(lanes.load(|lane| &powers[lane].1)),
        };
        odd_multiples(&mut multiples, &mut factors);
        let mut z = zero.same([1, 0, 0, 0]);
        for factor in &factors {
            z.mul_assign(factor);
        }
        rescale(&multiples, &factors, z.invert(), |i, point| {
            put(lanes, point, |lane, entry| {
                if let Some(multiples) = places.get_mut(lane) {
                    multiples[i] = entry;
                }
            });
        });
    }
    Some(table)
}

#[cfg(test)]
mod tests;
