//! A heap, the system's or another one, which counts allocations while it is asked to, and which
//! tells when there is no memory left.
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

mod emergency;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

// A thread counts for itself: others, such as the one that waits for signals, begin when they like.
thread_local! {
    static COUNTED: Cell<Option<Counted>> = const { Cell::new(None) };
}

/// What was taken from the heap; memory that grows counts again, with its new size.
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

/// What is called when there is no memory left, with the bytes that could not be had, if they are
/// known. It may allocate a little, and does not return.
type Exhausted = fn(Option<usize>) -> !;

static EXHAUSTED: OnceLock<Exhausted> = OnceLock::new();
thread_local! {
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// From now on a lack of memory is told to `told`, instead of ending the process by a signal: one
/// of this heap, and one that makes the C library abort. Only the first one counts.
pub fn when_exhausted(told: Exhausted) {
    let _ = EXHAUSTED.set(told);
    blockmill_platform::abort::when_memory_is_out(|| {
        IS_TELLING.set(true);
        tell(None)
    });
}

/// The memory that the allocator gave; if it gave none, the end of the process, or a little memory
/// for the thread that tells it.
#[inline]
fn given(memory: *mut u8, layout: Layout) -> *mut u8 {
    if memory.is_null() { exhausted(layout) } else { memory }
}

#[cold]
fn exhausted(layout: Layout) -> *mut u8 {
    if IS_TELLING.replace(true) {
        return emergency::take(layout);
    }
    if EXHAUSTED.get().is_none() {
        return null_mut();
    }
    tell(Some(layout.size()))
}

fn tell(bytes: Option<usize>) -> ! {
    static FIRST: AtomicBool = AtomicBool::new(true);
    if let Some(told) = EXHAUSTED.get().filter(|_| FIRST.swap(false, Relaxed)) {
        told(bytes);
    }
    // another thread is ending the process; to park would ask the C library for memory
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

// SAFETY: every call goes to the allocator within unchanged, and counting allocates nothing. What
// was taken in an emergency never reaches it.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        given(unsafe { self.0.alloc(layout) }, layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        given(unsafe { self.0.alloc_zeroed(layout) }, layout)
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        let is_its = !emergency::holds(memory);
        if is_its {
            // SAFETY: the contract of this method is that of the one called.
            let moved = unsafe { self.0.realloc(memory, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the size is not zero and does not overflow, by the contract of this method.
        let moved = exhausted(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !moved.is_null() {
            // SAFETY: both are of that length at least, and the new one belongs to nobody else.
            unsafe { memory.copy_to_nonoverlapping(moved, layout.size().min(size)) };
            if is_its {
                // SAFETY: the allocator's memory, which the caller has given up.
                unsafe { self.0.dealloc(memory, layout) };
            }
        }
        moved
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !emergency::holds(memory) {
            // SAFETY: the contract of this method is that of the one called.
            unsafe { self.0.dealloc(memory, layout) }
        }
    }
}
