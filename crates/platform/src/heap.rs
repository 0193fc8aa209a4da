//! The heap of a program: the allocator that the build chose, which reports that memory is
//! exhausted instead of ending the process by a signal.
//!
//! A program installs [`Heap`] as its global allocator and passes its last words to
//! [`when_exhausted`].
#![allow(unsafe_code)]

mod emergency;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The allocator that takes memory from the operating system. Only a build can choose it.
#[cfg(feature = "mimalloc")]
const ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
/// Its name in records.
#[cfg(feature = "mimalloc")]
pub const ALLOCATOR_NAME: &str = "mimalloc";

/// The allocator that takes memory from the operating system. Only a build can choose it.
#[cfg(not(feature = "mimalloc"))]
const ALLOCATOR: std::alloc::System = std::alloc::System;
/// Its name in records.
#[cfg(not(feature = "mimalloc"))]
pub const ALLOCATOR_NAME: &str = "system";

/// The global allocator of a program. It passes every call on to the allocator that the build
/// chose; if that has no memory left, it calls the function given to [`when_exhausted`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// Called when memory is exhausted, with the bytes that were asked for, if they are known. It may
/// allocate a little, and does not return.
type Exhausted = fn(Option<usize>) -> !;

static EXHAUSTED: OnceLock<Exhausted> = OnceLock::new();
thread_local! {
    static IS_REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `report` when memory is exhausted: on this heap, or in the C library, which would abort.
/// Only the first call has an effect.
pub fn when_exhausted(report: Exhausted) {
    let _ = EXHAUSTED.set(report);
    crate::abort::when_memory_is_out(|| {
        IS_REPORTING.set(true);
        report_once(None)
    });
}

/// The memory that the allocator gave. If it gave none, the process ends; the thread that reports
/// it gets emergency memory.
#[inline]
fn given(memory: *mut u8, layout: Layout) -> *mut u8 {
    if memory.is_null() { exhausted(layout) } else { memory }
}

#[cold]
fn exhausted(layout: Layout) -> *mut u8 {
    if IS_REPORTING.replace(true) {
        return emergency::take(layout);
    }
    if EXHAUSTED.get().is_none() {
        return null_mut();
    }
    report_once(Some(layout.size()))
}

fn report_once(bytes: Option<usize>) -> ! {
    static FIRST: AtomicBool = AtomicBool::new(true);
    if let Some(report) = EXHAUSTED.get().filter(|_| FIRST.swap(false, Relaxed)) {
        report(bytes);
    }
    // another thread is ending the process; to park would ask the C library for memory
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

// SAFETY: every call goes to the allocator unchanged. Emergency memory never reaches it.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the called method has the same contract.
        given(unsafe { ALLOCATOR.alloc(layout) }, layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the called method has the same contract.
        given(unsafe { ALLOCATOR.alloc_zeroed(layout) }, layout)
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_its = !emergency::holds(memory);
        if is_its {
            // SAFETY: the called method has the same contract.
            let moved = unsafe { ALLOCATOR.realloc(memory, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the size is not zero and does not overflow, by the contract of this method.
        let moved = exhausted(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !moved.is_null() {
            // SAFETY: both have at least that length, and the new one is not shared.
            unsafe { memory.copy_to_nonoverlapping(moved, layout.size().min(size)) };
            if is_its {
                // SAFETY: the allocator's memory, which the caller has given up.
                unsafe { ALLOCATOR.dealloc(memory, layout) };
            }
        }
        moved
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !emergency::holds(memory) {
            // SAFETY: the called method has the same contract.
            unsafe { ALLOCATOR.dealloc(memory, layout) }
        }
    }
}
