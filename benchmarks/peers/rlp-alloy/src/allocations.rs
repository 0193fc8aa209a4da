//! The system's heap, which counts allocations while it is asked to. Otherwise a call costs one
//! relaxed load more than the system's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// What was taken from the heap; memory that grows counts again with its new size.
pub struct Allocated {
    pub calls: u64,
    pub bytes: u64,
}

/// Does `work` and counts what it allocates.
pub fn count(work: impl FnOnce()) -> Allocated {
    let before = (CALLS.load(Relaxed), BYTES.load(Relaxed));
    COUNTING.store(true, Relaxed);
    work();
    COUNTING.store(false, Relaxed);
    Allocated { calls: CALLS.load(Relaxed) - before.0, bytes: BYTES.load(Relaxed) - before.1 }
}

struct CountingHeap;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

impl CountingHeap {
    #[inline]
    fn took(&self, bytes: usize) {
        if COUNTING.load(Relaxed) {
            CALLS.fetch_add(1, Relaxed);
            BYTES.fetch_add(bytes as u64, Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for CountingHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.took(layout.size());
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.took(layout.size());
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.took(size);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.realloc(memory, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.dealloc(memory, layout) }
    }
}
