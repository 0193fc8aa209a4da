//! Memory that pass two writes into without asking for more.
#![allow(unsafe_code)]

use crate::prefix::{LIST, SHORT, STRING, digits, list_len, u64_len};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use ruint::aliases::U256;

/// Bytes that a number of 64 bits or the longest prefix takes while it is written.
pub(crate) const NUMBER: usize = 1 + 8;
/// Bytes that a larger number takes while it is written.
pub(crate) const WIDE: usize = 1 + 4 * 8;

/// Who takes the bytes of a full window.
pub(crate) trait Drain {
    /// Takes `bytes`, the whole content of the window, which is empty afterwards.
    fn drain(&mut self, bytes: &[u8]);
}

/// Memory that is filled from its start. When it is full it is drained, or, if it was measured to
/// fit everything, that is an error.
///
/// The slow paths get a copy and return where to continue, so that no address of a window is taken
/// and its pointers stay in registers from field to field.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    start: *mut u8,
    at: *mut u8,
    end: *mut u8,
    drain: Option<NonNull<dyn Drain + 'a>>,
    memory: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

impl<'a> Window<'a> {
    /// A window on memory that has room for everything.
    #[inline(always)]
    pub fn exact(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        Self::new(memory, None)
    }

    /// A window on memory that `drain` empties whenever it is full.
    #[inline(always)]
    pub fn drained(memory: &'a mut [MaybeUninit<u8>], drain: &'a mut (dyn Drain + 'a)) -> Self {
        Self::new(memory, Some(NonNull::from(drain)))
    }

    #[inline(always)]
    fn new(memory: &'a mut [MaybeUninit<u8>], drain: Option<NonNull<dyn Drain + 'a>>) -> Self {
        let memory = memory.as_mut_ptr_range();
        let (start, end) = (memory.start.cast(), memory.end.cast());
        Self { start, at: start, end, drain, memory: PhantomData }
    }

    /// Number of bytes written since the start, or since the window was drained: so many bytes at
    /// the start of the memory are initialised.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.at as usize - self.start as usize
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.end as usize - self.at as usize
    }

    /// Appends `bytes` as they are.
    #[inline(always)]
    pub fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.room() {
            self.at = self.put_in_parts(bytes);
            return;
        }
        // SAFETY: there is room for the bytes, and a window never overlaps what is written into it.
        unsafe { self.put_unchecked(bytes) };
    }

    /// # Safety
    /// There must be room for the bytes.
    #[inline(always)]
    unsafe fn put_unchecked(&mut self, bytes: &[u8]) {
        // SAFETY: the caller says that they fit.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }

    /// Appends bytes that do not fit: fills the window, drains it, and continues.
    #[cold]
    #[inline(never)]
    fn put_in_parts(mut self, mut bytes: &[u8]) -> *mut u8 {
        while bytes.len() > self.room() {
            let (now, later) = bytes.split_at(self.room());
            // SAFETY: `now` has the length of the room.
            unsafe { self.put_unchecked(now) };
            bytes = later;
            // SAFETY: everything between `start` and `at` was written.
            let written = unsafe { core::slice::from_raw_parts(self.start, self.len()) };
            let Some(mut drain) = self.drain else {
                panic!("a value was written longer than it was measured");
            };
            // SAFETY: the drain is borrowed by the window for as long as it lives, and a writer
            // uses one window at a time.
            unsafe { drain.as_mut() }.drain(written);
            self.at = self.start;
        }
        // SAFETY: the loop ends when they fit.
        unsafe { self.put_unchecked(bytes) };
        self.at
    }

    /// Appends the prefix of a list.
    #[inline(always)]
    pub fn put_list_prefix(&mut self, payload: usize) {
        self.put_prefix(LIST, payload);
    }

    /// Appends the prefix of a byte string that is not a single small byte.
    #[inline(always)]
    pub fn put_string_prefix(&mut self, payload: usize) {
        self.put_prefix(STRING, payload);
    }

    #[inline(always)]
    fn put_prefix(&mut self, base: u8, payload: usize) {
        if self.room() < NUMBER {
            self.at = self.put_prefix_at_the_end(base, payload);
            return;
        }
        // SAFETY: there is room for the longest prefix, of which `len` bytes are initialised
        // afterwards.
        unsafe { self.put_prefix_unchecked(base, payload) };
    }

    /// Appends a prefix that may not fit.
    #[cold]
    #[inline(never)]
    fn put_prefix_at_the_end(mut self, base: u8, payload: usize) -> *mut u8 {
        let mut prefix = [MaybeUninit::uninit(); NUMBER];
        let mut window = Window::exact(&mut prefix);
        // SAFETY: there is room for the longest prefix, of which `len` bytes are initialised
        // afterwards.
        let prefix = unsafe {
            window.put_prefix_unchecked(base, payload);
            let len = window.len();
            prefix[..len].assume_init_ref()
        };
        self.put(prefix);
        self.at
    }

    /// # Safety
    /// There must be room for one byte, and for [`NUMBER`] if the payload has more than 55 bytes.
    #[inline(always)]
    unsafe fn put_prefix_unchecked(&mut self, base: u8, payload: usize) {
        // SAFETY: a short prefix is one byte, a long one is written as one byte and one word.
        unsafe {
            if payload <= SHORT {
                self.put_unchecked(&[base + payload as u8]);
            } else {
                let count = digits(payload as u64);
                self.put_unchecked(&[base + SHORT as u8 + count as u8]);
                put_word(self.at, (payload as u64) << (64 - 8 * count));
                self.at = self.at.add(count);
            }
        }
    }

    /// Appends a byte string with its prefix.
    #[inline(always)]
    fn put_prefixed(&mut self, bytes: &[u8]) {
        if list_len(bytes.len()) > self.room() {
            self.at = self.put_prefixed_in_parts(bytes);
            return;
        }
        // SAFETY: there is room for prefix and bytes; together they have more than `NUMBER` if
        // the bytes are more than 55.
        unsafe {
            self.put_prefix_unchecked(STRING, bytes.len());
            if !bytes.is_empty() {
                self.put_unchecked(bytes);
            }
        }
    }

    /// Appends a byte string that does not fit.
    #[cold]
    #[inline(never)]
    fn put_prefixed_in_parts(mut self, bytes: &[u8]) -> *mut u8 {
        self.put_prefix(STRING, bytes.len());
        self.put(bytes);
        self.at
    }

    /// Appends an encoded byte string.
    #[inline(always)]
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        match bytes {
            [single] if *single < STRING => self.put(bytes),
            _ => self.put_prefixed(bytes),
        }
    }

    /// Appends an encoded byte string of known length.
    #[inline(always)]
    pub fn put_fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        if N == 1 {
            return self.put_bytes(bytes);
        }
        self.put_prefixed(bytes);
    }

    /// Appends an encoded number, without a branch on its value: real numbers are hard to predict.
    #[inline(always)]
    pub fn put_u64(&mut self, number: u64) {
        if self.room() < NUMBER {
            self.at = self.put_u64_at_the_end(number);
            return;
        }
        // SAFETY: there is room.
        unsafe { self.put_u64_unchecked(number) };
    }

    /// # Safety
    /// There must be room for [`NUMBER`] bytes.
    #[inline(always)]
    unsafe fn put_u64_unchecked(&mut self, number: u64) {
        let len = u64_len(number);
        let has_prefix = usize::from(number >= u64::from(STRING));
        // the one byte of 0 is the prefix of the empty byte string
        let shown = if number == 0 { u64::from(STRING) } else { number };
        // SAFETY: one byte and one word. Digits without a prefix are written over it.
        unsafe {
            self.at.write(STRING - 1 + len as u8);
            put_word(self.at.add(has_prefix), shown << ((number | 1).leading_zeros() & 0x38));
            self.at = self.at.add(len);
        }
    }

    /// Appends a number with little room after it.
    #[cold]
    #[inline(never)]
    fn put_u64_at_the_end(mut self, number: u64) -> *mut u8 {
        let count = digits(number);
        let shown = if number == 0 { u64::from(STRING) } else { number };
        if u64_len(number) <= self.room() {
            // SAFETY: there is room for the digits, and for the prefix of a number that has one.
            unsafe {
                if number >= u64::from(STRING) {
                    self.put_unchecked(&[STRING + count as u8]);
                }
                self.put_digits(shown << (64 - 8 * count), count);
            }
        } else {
            if number >= u64::from(STRING) {
                self.put(&[STRING + count as u8]);
            }
            self.put(&shown.to_be_bytes()[8 - count..]);
        }
        self.at
    }

    /// Writes the first `count` bytes of `word`, at most eight, and no others.
    ///
    /// # Safety
    /// There must be room for them.
    unsafe fn put_digits(&mut self, mut word: u64, count: usize) {
        // SAFETY: the sizes that are written add up to `count`.
        unsafe {
            if count & 8 != 0 {
                self.put_unchecked(&word.to_be_bytes());
            }
            if count & 4 != 0 {
                self.put_unchecked(&((word >> 32) as u32).to_be_bytes());
                word <<= 32;
            }
            if count & 2 != 0 {
                self.put_unchecked(&((word >> 48) as u16).to_be_bytes());
                word <<= 16;
            }
            if count & 1 != 0 {
                self.put_unchecked(&[(word >> 56) as u8]);
            }
        }
    }

    /// Appends an encoded number of up to 256 bits.
    #[inline(always)]
    pub fn put_u256(&mut self, number: &U256) {
        let limbs = number.as_limbs();
        if limbs[1..] == [0, 0, 0] {
            return self.put_u64(limbs[0]);
        }
        self.at = match self.room() {
            // SAFETY: there is room.
            WIDE.. => unsafe { put_wide(self.at, limbs) },
            _ => self.put_wide_at_the_end(limbs),
        };
    }

    /// Appends a number of more than 64 bits that may not fit.
    #[cold]
    #[inline(never)]
    fn put_wide_at_the_end(mut self, limbs: &[u64; 4]) -> *mut u8 {
        let mut encoded = [MaybeUninit::<u8>::uninit(); WIDE];
        let start = encoded.as_mut_ptr().cast();
        // SAFETY: there is room for `WIDE` bytes, of which those up to `end` are initialised
        // afterwards.
        let encoded = unsafe {
            let end = put_wide(start, limbs);
            encoded[..end as usize - start as usize].assume_init_ref()
        };
        self.put(encoded);
        self.at
    }
}

/// Writes a number of more than 64 bits to `at` and returns where it ends.
///
/// # Safety
/// There must be room for [`WIDE`] bytes.
#[inline(never)]
unsafe fn put_wide(mut at: *mut u8, limbs: &[u64; 4]) -> *mut u8 {
    let top = 3 - limbs[1..].iter().rev().take_while(|limb| **limb == 0).count();
    let count = digits(limbs[top]);
    // SAFETY: a prefix and at most four words.
    unsafe {
        at.write(STRING + (8 * top + count) as u8);
        at = at.add(1);
        put_word(at, limbs[top] << (64 - 8 * count));
        at = at.add(count);
        for limb in limbs[..top].iter().rev() {
            put_word(at, *limb);
            at = at.add(8);
        }
    }
    at
}

/// Writes the eight bytes of `word` to `at`, the most significant first.
///
/// # Safety
/// There must be room for eight bytes.
#[inline(always)]
unsafe fn put_word(at: *mut u8, word: u64) {
    // SAFETY: the caller says that they fit.
    unsafe { at.cast::<[u8; 8]>().write_unaligned(word.to_be_bytes()) };
}
