//! The two passes together: into a buffer, or into the sponge.
#![allow(unsafe_code)]

use crate::Encode;
use crate::measure::{Measure, Notes};
use crate::two_pass::{Remeasure, TwoPass};
use crate::window::{Drain, WIDE, Window};
use alloc::vec::Vec;
use blockmill_hashes::Keccak256;
use core::mem::MaybeUninit;

/// Number of list lengths that fit on the stack, for types with a number of lists that is known at
/// compile time.
const FEW: usize = 8;
/// Places for the lengths of any other value that is written without an [`Encoder`]. They are on
/// the stack, 8 bytes each; a block of 1,280 legacy transactions needs 1,284.
const MANY: usize = 2048;
/// Bytes that are written before they are hashed: a multiple of the block of 136 bytes, and half of
/// the first-level cache. Each switch to the hash function evicts the writer's branch history: with
/// an eighth of this size, hashing a block took 4 % longer than encoding it first.
const STRETCH: usize = 120 * 136;

/// Calls `next` with what pass one found: the length of the encoding, and the lengths of its lists
/// if there was room to note them.
#[inline(always)]
pub(crate) fn measured<T: Encode + ?Sized, R>(
    value: &T,
    next: impl FnOnce(usize, Option<&[usize]>) -> R,
) -> R {
    if T::LISTS <= FEW {
        let mut notes = [MaybeUninit::uninit(); FEW];
        let mut measure = Measure::new(&mut notes);
        value.write(&mut measure);
        debug_assert!(measure.lists <= T::LISTS, "more lists than the type says");
        // never without notes, which spares these types the code for that
        next(measure.len, Some(measure.notes().unwrap_or_default()))
    } else {
        measured_in(value, &mut [MaybeUninit::uninit(); MANY], next)
    }
}

#[inline(always)]
fn measured_in<T: Encode + ?Sized, R>(
    value: &T,
    notes: &mut Notes,
    next: impl FnOnce(usize, Option<&[usize]>) -> R,
) -> R {
    let mut measure = Measure::new(notes);
    value.write(&mut measure);
    next(measure.len, measure.notes())
}

/// Pass two: writes `value` into `window` and returns how many bytes the window has at the end.
#[inline(always)]
fn write_into<T: Encode + ?Sized>(
    value: &T,
    lengths: Option<&[usize]>,
    window: Window<'_>,
) -> usize {
    match lengths {
        Some(lengths) => {
            let mut writer = TwoPass::new(window, lengths);
            value.write(&mut writer);
            writer.out.len()
        }
        None => {
            let mut writer = Remeasure::new(window);
            value.write(&mut writer);
            writer.out.len()
        }
    }
}

/// Pass two: writes the `len` bytes of `value` to the start of `memory`, which has room for at
/// least as many, and returns how many it wrote. More room saves some checks.
#[inline(always)]
pub(crate) fn write_exactly<T: Encode + ?Sized>(
    value: &T,
    len: usize,
    lengths: Option<&[usize]>,
    memory: &mut [MaybeUninit<u8>],
) -> usize {
    let written = write_into(value, lengths, Window::exact(memory));
    debug_assert_eq!(written, len, "a value was written shorter than it was measured");
    written
}

/// The encoding of `value`, in a buffer of its size.
#[inline]
pub(crate) fn encode<T: Encode + ?Sized>(value: &T) -> Vec<u8> {
    measured(value, |len, lengths| {
        let mut out = Vec::with_capacity(len);
        fill(value, len, lengths, &mut out);
        out
    })
}

/// Appends the encoding of `value` to `out`.
#[inline]
pub(crate) fn append<T: Encode + ?Sized>(value: &T, out: &mut Vec<u8>) {
    measured(value, |len, lengths| {
        reserve(out, len);
        fill(value, len, lengths, out);
    });
}

/// Reserves room for `len` bytes if there is not enough: exactly for the first value, more for
/// later ones, because others are likely to follow. The slack after the last field lets pass two
/// write that field like the others.
#[inline(always)]
fn reserve(out: &mut Vec<u8>, len: usize) {
    if len <= out.capacity() - out.len() {
        return;
    }
    if out.is_empty() {
        out.reserve_exact(len + WIDE);
    } else {
        out.reserve(len + WIDE);
    }
}

/// Pass two: appends the `len` bytes of `value`, for which there is room.
#[inline(always)]
fn fill<T: Encode + ?Sized>(value: &T, len: usize, lengths: Option<&[usize]>, out: &mut Vec<u8>) {
    let written = write_exactly(value, len, lengths, out.spare_capacity_mut());
    // SAFETY: so many bytes after the old ones were written, within the capacity.
    unsafe { out.set_len(out.len() + written) };
}

/// Keccak-256 of the encoding of `value`.
#[inline]
pub(crate) fn hash<T: Encode + ?Sized>(value: &T) -> [u8; 32] {
    measured(value, |_, lengths| absorb(value, lengths))
}

/// Pass two into the sponge.
#[inline(always)]
fn absorb<T: Encode + ?Sized>(value: &T, lengths: Option<&[usize]>) -> [u8; 32] {
    let mut sponge = Sponge(None);
    let mut stretch = [MaybeUninit::uninit(); STRETCH];
    let filled = write_into(value, lengths, Window::drained(&mut stretch, &mut sponge));
    // SAFETY: the window wrote so many bytes since it was drained.
    let rest = unsafe { stretch[..filled].assume_init_ref() };
    match sponge.0 {
        None => blockmill_hashes::keccak256(rest),
        Some(mut state) => {
            state.update(rest);
            state.finalize()
        }
    }
}

/// The Keccak state, from the first full stretch on.
struct Sponge(Option<Keccak256>);

impl Drain for Sponge {
    fn drain(&mut self, bytes: &[u8]) {
        self.0.get_or_insert_default().update(bytes);
    }
}

/// Pass one, with a note for each list: the length of the whole, and of each list.
fn measure<'a, T: Encode + ?Sized>(
    value: &T,
    notes: &'a mut Vec<MaybeUninit<usize>>,
) -> (usize, Option<&'a [usize]>) {
    let mut measure = Measure::new(notes);
    value.write(&mut measure);
    let Measure { len, lists, .. } = measure;
    if lists > notes.len() {
        notes.resize(lists.next_power_of_two(), MaybeUninit::uninit());
        value.write(&mut Measure::new(notes));
    }
    // SAFETY: there is a place for each list, and pass one writes them all.
    (len, Some(unsafe { notes[..lists].assume_init_ref() }))
}

/// Encodes and hashes one value after the other in memory that it keeps: the fastest way for
/// values that consist of any number of lists, such as blocks and trees.
///
/// ```
/// use blockmill_rlp::{Encode, Encoder};
///
/// let mut encoder = Encoder::default();
/// for block in [vec![1u64, 2, 3], vec![]] {
///     assert_eq!(encoder.encode(&block), block.encode());
///     assert_eq!(encoder.hash(&block), block.hash());
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    notes: Vec<MaybeUninit<usize>>,
    out: Vec<u8>,
}

impl Encoder {
    /// The encoding of `value`, until the next call.
    pub fn encode<T: Encode + ?Sized>(&mut self, value: &T) -> &[u8] {
        self.out.clear();
        let (len, lengths) = measure(value, &mut self.notes);
        reserve(&mut self.out, len);
        fill(value, len, lengths, &mut self.out);
        &self.out
    }

    /// Keccak-256 of the encoding of `value`, which is never stored as a whole.
    pub fn hash<T: Encode + ?Sized>(&mut self, value: &T) -> [u8; 32] {
        let (_, lengths) = measure(value, &mut self.notes);
        absorb(value, lengths)
    }
}
