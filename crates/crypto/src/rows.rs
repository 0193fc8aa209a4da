//! A large table of 64-byte rows for random access.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Size of a huge page of x86-64 and aarch64 Linux. The table begins on such a page.
const HUGE_PAGE: usize = 2 << 20;

/// A fixed number of rows of 64 bytes, each in one cache line.
///
/// The memory asks for huge pages where the system has them: with pages of 4 KiB nearly each
/// random access to a table of 16 MiB and more also misses the translation buffer.
#[derive(Debug)]
pub struct Rows {
    start: NonNull<[u8; 64]>,
    count: usize,
}

// SAFETY: `Rows` owns its memory, as a `Box<[[u8; 64]]>` would.
unsafe impl Send for Rows {}
// SAFETY: a shared `Rows` gives out shared slices only.
unsafe impl Sync for Rows {}

impl Rows {
    /// `count` rows of zeros.
    ///
    /// # Panics
    /// When `count` is zero or `count * 64` bytes exceed the address space. Aborts when the memory
    /// cannot be had, like any allocation.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        let layout = Self::layout(count);
        assert!(layout.size() > 0, "a table has at least one row");
        // SAFETY: the size is not zero.
        let bytes = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(bytes) else { handle_alloc_error(layout) };
        // before the first write, which is when the system gives out pages
        advise_huge_pages(start, layout.size());
        // SAFETY: the allocation holds `size` bytes.
        unsafe { start.write_bytes(0, layout.size()) };
        Rows { start: start.cast(), count }
    }

    fn layout(count: usize) -> Layout {
        Layout::array::<[u8; 64]>(count)
            .and_then(|layout| layout.align_to(HUGE_PAGE))
            .expect("the table fits the address space")
    }

    /// Asks the CPU to bring row `index` near. Does nothing when there is no such row.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        if let Some(row) = self.get(index) {
            prefetch(row);
        }
    }
}

impl Deref for Rows {
    type Target = [[u8; 64]];

    #[inline]
    fn deref(&self) -> &[[u8; 64]] {
        // SAFETY: `start` points to `count` rows that were written when they were allocated.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl DerefMut for Rows {
    #[inline]
    fn deref_mut(&mut self) -> &mut [[u8; 64]] {
        // SAFETY: as in `deref`; the borrow of `self` makes the slice the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: the memory came from `alloc` with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.count)) }
    }
}

/// Asks the CPU to bring `row` near.
#[inline(always)]
pub(crate) fn prefetch(row: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE belongs to x86-64, and a prefetch has no effect on the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

fn advise_huge_pages(start: NonNull<u8>, size: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is an allocation of ours; the advice changes how it is backed, not what it
    // holds, so a refusal needs no answer.
    unsafe {
        libc::madvise(start.as_ptr().cast(), size, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_as_zeros_and_keep_what_is_written() {
        let mut rows = Rows::zeroed(40_000);
        assert!(rows.iter().all(|row| *row == [0; 64]));
        assert_eq!(rows.as_ptr().addr() % HUGE_PAGE, 0);
        rows[39_999] = [7; 64];
        rows.prefetch(39_999);
        rows.prefetch(40_000);
        assert_eq!(rows[39_999], [7; 64]);
        assert_eq!(rows.len(), 40_000);
    }
}
