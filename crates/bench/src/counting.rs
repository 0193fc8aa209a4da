//! The system's heap, which counts allocations while it is asked to.
//!
//! A program that counts installs it:
//!
//! ```
//! use blockmill_bench::counting::{self, CountingAllocator};
//!
//! #[global_allocator]
//! static HEAP: CountingAllocator = CountingAllocator;
//!
//! let counted = counting::count(|| drop(std::hint::black_box(vec![1u8, 2, 3])));
//! assert_eq!((counted.allocations, counted.bytes), (1, 3));
//! ```
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// What was taken from the heap; memory that grows counts again, with its new size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls that gave memory.
    pub allocations: u64,
    /// Bytes that they gave.
    pub bytes: u64,
}

/// Does `work` and counts what is allocated meanwhile, by any thread. Zero in a program that has
/// not installed [`CountingAllocator`]; see [`is_installed`].
pub fn count(work: impl FnOnce()) -> Counted {
    let now = || Counted { allocations: ALLOCATIONS.load(Relaxed), bytes: BYTES.load(Relaxed) };
    let before = now();
    COUNTING.store(true, Relaxed);
    work();
    COUNTING.store(false, Relaxed);
    let after = now();
    Counted {
        allocations: after.allocations - before.allocations,
        bytes: after.bytes - before.bytes,
    }
}

/// Whether the program counts at all.
#[must_use]
pub fn is_installed() -> bool {
    count(|| drop(black_box(Box::new(1u8)))).allocations > 0
}

/// The system's allocator with a counter. While nothing is counted, a call costs one relaxed load
/// more than the system's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

#[inline]
fn took(bytes: usize) {
    if COUNTING.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes as u64, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        // SAFETY: the contract of this method is that of the one called.
        unsafe { System.realloc(memory, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the contract of this method is that of the one called.
        unsafe { System.dealloc(memory, layout) }
    }
}
