//! Memory for random access, and hints to the CPU of what is accessed next.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

/// Size of a huge page of x86-64 and aarch64 Linux.
pub const HUGE_PAGE: usize = 2 << 20;
/// Alignment of advised memory; pages are no larger on systems with such huge pages.
const SMALL_PAGE: usize = 4 << 10;
/// Size of a line of the CPU's caches.
const CACHE_LINE: usize = 64;

/// A fixed number of bytes, in huge pages if they fill any and the system has them: with pages of 4
/// KiB nearly each random access to tens of megabytes also misses the translation buffer. They
/// begin on a cache line, and on a huge page if they fill one.
pub struct Zeroed {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned, as by a `Box<[u8]>`.
unsafe impl Send for Zeroed {}
// SAFETY: a shared value returns shared slices only.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// Allocates `size` zeros, at least one cache line.
    ///
    /// `None` if the size exceeds the address space. Aborts if the memory is not available, like
    /// any allocation.
    #[must_use]
    pub fn new(size: usize) -> Option<Self> {
        let align = if size >= HUGE_PAGE { HUGE_PAGE } else { CACHE_LINE };
        let layout = Layout::from_size_align(size.max(CACHE_LINE), align).ok()?;
        // SAFETY: the size is not zero.
        let bytes = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(bytes) else { handle_alloc_error(layout) };
        // before the first write, which allocates the pages
        advise_huge_pages(start, layout.size());
        // SAFETY: the allocation holds that many bytes.
        unsafe { start.write_bytes(0, layout.size()) };
        Some(Zeroed { start, layout })
    }
}

impl fmt::Debug for Zeroed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zeroed").field("size", &self.layout.size()).finish_non_exhaustive()
    }
}

impl Deref for Zeroed {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `size` bytes that were zeroed when they were allocated.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Zeroed {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow of `self` makes the slice the only one.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: the memory came from `alloc` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Advises the system to use huge pages for the unwritten capacity of `vec`, as for [`Zeroed`].
/// Call it again when the capacity has grown. Does nothing on systems without huge pages or if the
/// capacity fills none.
pub fn prefer_huge_pages<T>(vec: &mut Vec<T>) {
    let size = vec.capacity() * size_of::<T>();
    let start = vec.as_mut_ptr().cast::<u8>();
    // the advice applies to all pages of the capacity, so that a region of the address space with
    // nothing else stays in one piece and can grow without a copy
    let before = start.addr() % SMALL_PAGE;
    let size = (before + size).next_multiple_of(SMALL_PAGE);
    if let Some(start) = NonNull::new(start.wrapping_sub(before)) {
        advise_huge_pages(start, size);
    }
}

fn advise_huge_pages(start: NonNull<u8>, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= HUGE_PAGE {
        use nix::sys::mman::{MmapAdvise, madvise};
        // SAFETY: the advice changes how memory is backed, not its content, so a refusal can be
        // ignored.
        let _ = unsafe { madvise(start.cast(), size, MmapAdvise::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

/// Prefetches the cache line at the start of `place`.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE belongs to x86-64, and a prefetch has no effect on the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction belongs to aarch64 and has no effect on the program.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{place}]",
            place = in(reg) std::ptr::from_ref(place),
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_starts_as_zeros_and_keeps_what_is_written() {
        for size in [0, 1, 63, 64, 65, 4_096, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 64] {
            let mut memory = Zeroed::new(size).unwrap();
            assert_eq!(memory.len(), size.max(64));
            assert!(memory.iter().all(|byte| *byte == 0));
            let align = if size >= HUGE_PAGE { HUGE_PAGE } else { 64 };
            assert_eq!(memory.as_ptr().addr() % align, 0, "{size} bytes");
            let last = memory.len() - 1;
            memory[last] = 7;
            prefetch(&memory[last]);
            assert_eq!(memory[last], 7);
        }
    }

    #[test]
    fn a_vec_keeps_what_it_holds_when_it_gets_huge_pages() {
        let mut vec: Vec<u32> = vec![];
        for i in 0..3_000_000 {
            if vec.len() == vec.capacity() {
                vec.reserve(vec.len().max(1));
                prefer_huge_pages(&mut vec);
            }
            vec.push(i);
        }
        assert!(vec.iter().enumerate().all(|(i, number)| i == *number as usize));
    }

    #[test]
    fn more_than_the_address_space_is_refused() {
        assert!(Zeroed::new(usize::MAX).is_none());
        assert!(Zeroed::new(isize::MAX as usize).is_none());
    }
}
