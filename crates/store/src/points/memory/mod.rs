//! Memory for random access, and hints to the CPU of what is accessed next.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

/// Size of a huge page of x86-64 and aarch64 Linux.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes of a fixed size, in huge pages where they fill any and the system has them: with pages of
/// 4 KiB nearly each random access to gigabytes also misses the translation buffer.
pub(crate) struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a chunk owns its memory, as a `Box<[u8]>` would.
unsafe impl Send for Chunk {}
// SAFETY: a shared chunk gives out shared slices only.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Zeros: `size` bytes, rounded up to a power of two of at least 64.
    pub fn new(size: usize) -> Chunk {
        let size = size.max(64).next_power_of_two();
        // the second never happens: a power of two can be aligned to itself
        let layout =
            Layout::from_size_align(size, size.min(HUGE_PAGE)).unwrap_or(Layout::new::<[u8; 64]>());
        // SAFETY: the size is not zero.
        let bytes = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(bytes) else { handle_alloc_error(layout) };
        // before the first write, which is when the system gives out pages
        advise_huge_pages(start, layout.size());
        // SAFETY: the allocation holds that many bytes.
        unsafe { start.write_bytes(0, layout.size()) };
        Chunk { start, layout }
    }
}

impl Deref for Chunk {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `size` bytes that were zeroed when they were allocated.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Chunk {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow of `self` makes the slice the only one.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the memory came from `alloc` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

fn advise_huge_pages(start: NonNull<u8>, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= HUGE_PAGE {
        // SAFETY: the range is an allocation of ours; the advice changes how it is backed, not what
        // it holds, so a refusal needs no answer.
        unsafe {
            libc::madvise(start.as_ptr().cast(), size, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

/// Asks the CPU to bring the cache line at the start of `bytes` near.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE belongs to x86-64, and a prefetch has no effect on the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_starts_as_zeros_and_keeps_what_is_written() {
        for size in [64, 1 << 16, 4 << 20] {
            let mut chunk = Chunk::new(size);
            assert!(chunk.iter().all(|byte| *byte == 0));
            chunk[size - 1] = 7;
            prefetch(&chunk[size - 1]);
            assert_eq!((chunk.len(), chunk[size - 1]), (size, 7));
        }
    }
}
