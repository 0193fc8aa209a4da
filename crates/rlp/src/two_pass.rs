//! The second pass: every length is known, so bytes are written once, at their final position.

use crate::Write;
use crate::measure::{envelope_prefix_len, u256_len};
use crate::prefix::{bytes_len, list_len, u64_len};
use crate::window::Window;
use ruint::aliases::U256;

/// Writes with the notes of pass one.
pub(crate) struct TwoPass<'w, 'n> {
    pub out: Window<'w>,
    lengths: core::slice::Iter<'n, usize>,
}

impl<'w, 'n> TwoPass<'w, 'n> {
    #[inline(always)]
    pub fn new(out: Window<'w>, lengths: &'n [usize]) -> Self {
        Self { out, lengths: lengths.iter() }
    }

    /// The payload length that pass one recorded for the list that begins here.
    #[inline(always)]
    fn payload(&mut self) -> usize {
        self.lengths.next().copied().unwrap_or_default()
    }
}

impl Write for TwoPass<'_, '_> {
    #[inline(always)]
    fn raw(&mut self, encoded: &[u8]) {
        self.out.put(encoded);
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        self.out.put_bytes(bytes);
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out.put_fixed(bytes);
    }

    #[inline(always)]
    fn u64(&mut self, number: u64) {
        self.out.put_u64(number);
    }

    #[inline(always)]
    fn u256(&mut self, number: &U256) {
        self.out.put_u256(number);
    }

    #[inline(always)]
    fn list(&mut self, items: impl Fn(&mut Self)) {
        let payload = self.payload();
        self.list_of(payload, items);
    }

    #[inline(always)]
    fn list_of(&mut self, payload: usize, items: impl Fn(&mut Self)) {
        self.out.put_list_prefix(payload);
        items(self);
    }

    #[inline(always)]
    fn envelope(&mut self, kind: u8, content: impl Fn(&mut Self)) {
        let payload = self.payload();
        if envelope_prefix_len(kind, payload) > 0 {
            self.out.put_string_prefix(payload);
        }
        self.out.put(&[kind]);
        content(self);
    }
}

/// A writer without notes: it measures each list again before it writes it. This takes the time of
/// one more measurement for each level of nesting, and no memory. For values with more lists than
/// there is room for notes.
pub(crate) struct Remeasure<'a> {
    pub out: Window<'a>,
    /// While a list is measured: its bytes so far.
    measured: Option<usize>,
}

impl<'a> Remeasure<'a> {
    pub fn new(out: Window<'a>) -> Self {
        Self { out, measured: None }
    }

    /// Adds `len` bytes to the measurement under way, or writes.
    #[inline]
    fn add(&mut self, len: usize, write: impl FnOnce(&mut Window<'_>)) {
        match &mut self.measured {
            Some(measured) => *measured += len,
            None => write(&mut self.out),
        }
    }

    /// The bytes that `inside` would write.
    #[inline]
    fn measure(&mut self, inside: impl Fn(&mut Self)) -> usize {
        let outer = self.measured.replace(0);
        inside(self);
        core::mem::replace(&mut self.measured, outer).unwrap_or_default()
    }
}

impl Write for Remeasure<'_> {
    fn raw(&mut self, encoded: &[u8]) {
        self.add(encoded.len(), |out| out.put(encoded));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.add(bytes_len(bytes), |out| out.put_bytes(bytes));
    }

    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.add(bytes_len(bytes), |out| out.put_fixed(bytes));
    }

    fn u64(&mut self, number: u64) {
        self.add(u64_len(number), |out| out.put_u64(number));
    }

    fn u256(&mut self, number: &U256) {
        self.add(u256_len(number), |out| out.put_u256(number));
    }

    fn list(&mut self, items: impl Fn(&mut Self)) {
        let payload = self.measure(&items);
        self.list_of(payload, items);
    }

    fn list_of(&mut self, payload: usize, items: impl Fn(&mut Self)) {
        if let Some(measured) = &mut self.measured {
            *measured += list_len(payload);
            return;
        }
        self.out.put_list_prefix(payload);
        items(self);
    }

    fn envelope(&mut self, kind: u8, content: impl Fn(&mut Self)) {
        let payload = 1 + self.measure(&content);
        let prefix = envelope_prefix_len(kind, payload);
        if let Some(measured) = &mut self.measured {
            *measured += prefix + payload;
            return;
        }
        if prefix > 0 {
            self.out.put_string_prefix(payload);
        }
        self.out.put(&[kind]);
        content(self);
    }
}
