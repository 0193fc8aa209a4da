//! The system's heap, which counts allocations while it is asked to, and which tells when there is
//! no memory left.
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
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

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

/// What is called when there is no memory left, with the bytes that could not be had. It may
/// allocate a little, and does not return.
type Exhausted = fn(usize) -> !;

static EXHAUSTED: OnceLock<Exhausted> = OnceLock::new();
/// Given up in an emergency, so that there is memory to say so. Pieces that the system's allocator
/// keeps to itself when they are freed.
static RESERVE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
const RESERVE_PIECES: usize = 16;
const RESERVE_PIECE: usize = 64 << 10;

thread_local! {
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// From now on a lack of memory is told to `told`, instead of ending the process by a signal. Only
/// the first one counts.
pub fn when_exhausted(told: Exhausted) {
    // first, because the reserve itself may be too much
    let _ = EXHAUSTED.set(told);
    let reserve = (0..RESERVE_PIECES).map(|_| Vec::with_capacity(RESERVE_PIECE)).collect();
    *RESERVE.lock().unwrap_or_else(PoisonError::into_inner) = reserve;
}

/// The memory that the system gave, if any.
#[inline]
fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        exhausted(bytes);
    }
    memory
}

#[cold]
fn exhausted(bytes: usize) {
    // no memory to tell it either: the process is aborted
    if IS_TELLING.replace(true) {
        return;
    }
    let Some(told) = EXHAUSTED.get() else { return };
    static FIRST: AtomicBool = AtomicBool::new(true);
    if FIRST.swap(false, Relaxed) {
        if let Ok(mut reserve) = RESERVE.try_lock() {
            reserve.clear();
        }
        told(bytes);
    }
    // another thread is ending the process
    loop {
        std::thread::park();
    }
}

// SAFETY: every call goes to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the contract of this method is that of the one called.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        // SAFETY: the contract of this method is that of the one called.
        given(unsafe { System.realloc(memory, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the contract of this method is that of the one called.
        unsafe { System.dealloc(memory, layout) }
    }
}
