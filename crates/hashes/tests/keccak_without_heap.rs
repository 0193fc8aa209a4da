//! Hashing takes nothing from the heap: the allocator of this test counts what is asked of it.
#![allow(unsafe_code)]

use blockmill_hashes::{Keccak256, ManyKeccak, keccak256, keccak512};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count of what each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: each call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Number of heap allocations of `code`.
fn allocations(code: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    code();
    ALLOCATIONS.get() - before
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), 1);
}

#[test]
fn no_call_allocates() {
    let bytes = [7; 1000];
    let messages: Vec<&[u8]> = (0..100).map(|i| &bytes[..i * 9]).collect();
    let ends: Vec<u32> = (0..100).map(|i| i * 10).collect();
    let mut out = vec![[0; 32]; 100];
    let mut blocks = vec![[3; 64]; 21];
    for many in ManyKeccak::all_available() {
        let count = allocations(|| {
            many.keccak256(&messages, &mut out);
            many.keccak256_column(&bytes, &ends, &mut out);
            many.keccak512_64(&mut blocks);
        });
        assert_eq!(count, 0, "{}", many.name());
    }
    let count = allocations(|| {
        let mut parts = Keccak256::new();
        parts.update(&bytes);
        parts.update(&bytes[..50]);
        std::hint::black_box((parts.finalize(), keccak256(&bytes), keccak512(&bytes)));
    });
    assert_eq!(count, 0);
}
