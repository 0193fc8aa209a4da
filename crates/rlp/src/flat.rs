//! A writer for values that are one list without lists inside: no first pass is needed, because
//! the list's prefix can be put before its items when they are there.

use crate::window::{Drain, NUMBER, Window};
use crate::{Encode, Write};
use core::mem::MaybeUninit;
use ruint::aliases::U256;

/// A writer of the items of one list, after a gap for the longest prefix.
struct Flat<'a> {
    out: Window<'a>,
    /// The position: before the list, in it, or after it.
    place: Place,
    /// Whether the value is not a single flat list.
    failed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Before,
    Inside,
    Behind,
}

/// Too long a value: it is given up.
struct TooLong(bool);

impl Drain for TooLong {
    fn drain(&mut self, _: &[u8]) {
        self.0 = true;
    }
}

/// Writes `value` to `memory` if it is one flat list and fits with some room to spare; returns the
/// range of its encoding then.
#[inline(always)]
pub(crate) fn write_flat<T: Encode + ?Sized>(
    value: &T,
    memory: &mut [MaybeUninit<u8>],
) -> Option<core::ops::Range<usize>> {
    let mut too_long = TooLong(false);
    let (gap, items) = memory.split_at_mut_checked(NUMBER)?;
    let window = Window::drained(items, &mut too_long);
    let mut flat = Flat { out: window, place: Place::Before, failed: false };
    value.write(&mut flat);
    let (len, failed) = (flat.out.len(), flat.failed || flat.place == Place::Before);
    if failed || too_long.0 {
        return None;
    }
    let mut prefix = [MaybeUninit::uninit(); NUMBER];
    let mut window = Window::exact(&mut prefix);
    window.put_list_prefix(len);
    let prefix_len = window.len();
    let start = NUMBER - prefix_len;
    gap[start..].copy_from_slice(&prefix[..prefix_len]);
    Some(start..NUMBER + len)
}

impl Flat<'_> {
    /// Whether an item may be written here.
    #[inline(always)]
    fn here(&mut self) -> bool {
        self.failed |= self.place != Place::Inside;
        !self.failed
    }
}

impl Write for Flat<'_> {
    #[inline(always)]
    fn raw(&mut self, encoded: &[u8]) {
        if self.here() {
            self.out.put(encoded);
        }
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        if self.here() {
            self.out.put_bytes(bytes);
        }
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        if self.here() {
            self.out.put_fixed(bytes);
        }
    }

    #[inline(always)]
    fn u64(&mut self, number: u64) {
        if self.here() {
            self.out.put_u64(number);
        }
    }

    #[inline(always)]
    fn u256(&mut self, number: &U256) {
        if self.here() {
            self.out.put_u256(number);
        }
    }

    #[inline(always)]
    fn list(&mut self, items: impl Fn(&mut Self)) {
        self.failed |= self.place != Place::Before;
        if !self.failed {
            self.place = Place::Inside;
            items(self);
            self.place = Place::Behind;
        }
    }

    #[inline(always)]
    fn list_of(&mut self, payload: usize, items: impl Fn(&mut Self)) {
        if self.place == Place::Before {
            return self.list(items);
        }
        if self.here() {
            self.out.put_list_prefix(payload);
            items(self);
        }
    }

    #[inline(always)]
    fn envelope(&mut self, _: u8, _: impl Fn(&mut Self)) {
        self.failed = true;
    }
}
