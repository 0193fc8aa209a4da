//! The first pass: how long everything will be.
#![allow(unsafe_code)]

use crate::Write;
use crate::prefix::{bytes_len, digits, list_len, prefix_len, u64_len};
use core::mem::MaybeUninit;
use ruint::aliases::U256;

/// Where pass one notes the payload length of each list, in the order in which lists begin.
pub(crate) type Notes = [MaybeUninit<usize>];

/// Adds up lengths and notes those that pass two has to know before it comes to what they measure.
pub(crate) struct Measure<'a> {
    /// Bytes so far.
    pub len: usize,
    /// Lists so far, also those that found no place in `notes`.
    pub lists: usize,
    notes: &'a mut Notes,
}

impl<'a> Measure<'a> {
    #[inline(always)]
    pub fn new(notes: &'a mut Notes) -> Self {
        Self { len: 0, lists: 0, notes }
    }

    /// The notes of all lists; none when there were more of them than places.
    #[inline(always)]
    pub fn notes(self) -> Option<&'a [usize]> {
        let written = self.notes.get(..self.lists)?;
        // SAFETY: each list so far took the next place, so that many places are written.
        Some(unsafe { written.assume_init_ref() })
    }

    /// Measures what `inside` writes and notes its length.
    #[inline(always)]
    fn nested(&mut self, before: usize, inside: impl Fn(&mut Self)) -> usize {
        let place = self.lists;
        self.lists += 1;
        let start = self.len;
        self.len += before;
        if let Some(note) = self.notes.get_mut(place) {
            // written before the inner ones, so that the places up to `lists` always are
            note.write(0);
        }
        inside(self);
        let payload = self.len - start;
        if let Some(note) = self.notes.get_mut(place) {
            note.write(payload);
        }
        payload
    }
}

/// Bytes of an encoded number of up to 256 bits.
///
/// ```
/// use blockmill_rlp::{U256, u256_len};
///
/// assert_eq!(u256_len(&U256::from(1024u64)), 3);
/// assert_eq!(u256_len(&U256::MAX), 33);
/// ```
#[must_use]
#[inline(always)]
pub fn u256_len(number: &U256) -> usize {
    let [low, upper @ ..] = number.as_limbs();
    match upper {
        [0, 0, 0] => u64_len(*low),
        [second, 0, 0] => 9 + digits(*second),
        [_, third, 0] => 17 + digits(*third),
        [_, _, top] => 25 + digits(*top),
    }
}

impl Write for Measure<'_> {
    #[inline(always)]
    fn raw(&mut self, encoded: &[u8]) {
        self.len += encoded.len();
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        self.len += bytes_len(bytes);
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.len += bytes_len(bytes);
    }

    #[inline(always)]
    fn u64(&mut self, number: u64) {
        self.len += u64_len(number);
    }

    #[inline(always)]
    fn u256(&mut self, number: &U256) {
        self.len += u256_len(number);
    }

    #[inline(always)]
    fn list(&mut self, items: impl Fn(&mut Self)) {
        let payload = self.nested(0, items);
        self.len += prefix_len(payload);
    }

    #[inline(always)]
    fn list_of(&mut self, payload: usize, items: impl Fn(&mut Self)) {
        let start = self.len;
        // for the lists inside; without any the compiler leaves this out, its sum is not used
        items(self);
        debug_assert_eq!(self.len - start, payload, "not the payload length that was reported");
        self.len = start + list_len(payload);
    }

    #[inline(always)]
    fn envelope(&mut self, kind: u8, content: impl Fn(&mut Self)) {
        let payload = self.nested(1, content);
        self.len += envelope_prefix_len(kind, payload);
    }
}

/// Bytes of the prefix of an envelope. One that holds nothing but a type below 0x80 is encoded as
/// that byte.
#[inline(always)]
pub(crate) fn envelope_prefix_len(kind: u8, payload: usize) -> usize {
    if payload == 1 && kind < 0x80 { 0 } else { prefix_len(payload) }
}
