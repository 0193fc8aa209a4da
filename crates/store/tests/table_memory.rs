//! The memory of a table: the budget holds, and what is reported is what is taken.

mod generated_keys;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use blockmill_store::TableOptions;
use generated_keys::{OneTable, coin_key, coin_value, folder};

/// Bytes from the allocator, now.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
/// The most there ever were.
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[allow(unsafe_code)]
// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = ALLOCATED.fetch_add(layout.size(), SeqCst);
        MOST.fetch_max(before + layout.size(), SeqCst);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn memory_is_what_is_reported_and_stays_within_the_budget() {
    const BUDGET: usize = 6 << 20;
    const COINS: u64 = 600_000;
    const SMALL: usize = 200_000;
    let dir = folder();
    let before = ALLOCATED.load(SeqCst);
    let mut open = OneTable::open(dir.path(), &TableOptions::read_once(BUDGET)).unwrap();
    let mut commits = 0;
    let mut out = Vec::new();
    for n in 0..COINS {
        open.table.insert(&coin_key(n), &coin_value(n)).unwrap();
        if n % 4 == 3 {
            // far back, so that most have been flushed
            let old = n / 4 * 2;
            out.clear();
            assert!(open.table.take(&coin_key(old), None, &mut out).unwrap());
            assert_eq!(out, coin_value(old));
        }
        if n % 100 == 0 {
            let (allocated, reported) = (ALLOCATED.load(SeqCst) - before, open.table.memory());
            assert!(reported <= BUDGET, "{reported} reported");
            // what is reported for a merge is the most that it takes
            assert!(allocated <= reported + SMALL, "{allocated} taken, {reported} reported");
            if open.table.wants_flush() {
                open.commit(&n.to_le_bytes()).unwrap();
                commits += 1;
            }
        }
    }
    let most = MOST.load(SeqCst) - before;
    assert!((BUDGET / 4 * 3..BUDGET + SMALL).contains(&most), "{most} bytes at most");
    assert!(commits > 6, "{commits} commits");
    assert_eq!(open.table.len(), COINS - COINS / 4);
}
