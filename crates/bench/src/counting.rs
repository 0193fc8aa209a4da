//! An allocator that counts the allocations of a thread on request.
//!
//! A program that counts installs it:
//!
//! ```
//! use blockmill_bench::counting::{self, CountingAllocator};
//!
//! #[global_allocator]
//! static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);
//!
//! let counted = counting::count(|| drop(std::hint::black_box(vec![1u8, 2, 3])));
//! assert_eq!((counted.allocations, counted.bytes), (1, 3));
//! ```
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

// A thread counts for itself: others, such as the one that waits for signals, begin when they like.
thread_local! {
    static COUNTED: Cell<Option<Counted>> = const { Cell::new(None) };
}

/// Allocations on the heap; a reallocation counts again, with its new size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls that gave memory.
    pub allocations: u64,
    /// Bytes that they gave.
    pub bytes: u64,
}

/// Does `work` and counts what this thread allocates meanwhile. Zero in a program that has not
/// installed [`CountingAllocator`]; see [`is_installed`].
pub fn count(work: impl FnOnce()) -> Counted {
    COUNTED.set(Some(Counted::default()));
    work();
    COUNTED.take().unwrap_or_default()
}

/// Whether the program counts at all.
#[must_use]
pub fn is_installed() -> bool {
    count(|| drop(black_box(Box::new(1u8)))).allocations > 0
}

/// An allocator with a counter. While nothing is counted, a call costs one load of the thread's
/// more than the allocator's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator<A = System>(pub A);

#[inline]
fn took(bytes: usize) {
    if let Some(Counted { allocations, bytes: all }) = COUNTED.get() {
        COUNTED.set(Some(Counted { allocations: allocations + 1, bytes: all + bytes as u64 }));
    }
}

// SAFETY: every call goes to the allocator within unchanged, and counting allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        // SAFETY: the contract of this method is that of the one called.
        unsafe { self.0.realloc(memory, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the contract of this method is that of the one called.
        unsafe { self.0.dealloc(memory, layout) }
    }
}
