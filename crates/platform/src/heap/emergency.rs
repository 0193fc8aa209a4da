//! A small reserve of memory, with which a thread reports that memory is exhausted.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const BYTES: usize = 256 << 10;
const ALIGN: usize = 64;

#[repr(align(64))]
struct Area(UnsafeCell<[u8; BYTES]>);

// SAFETY: no part of it is given out twice.
unsafe impl Sync for Area {}

/// Untouched, and so no memory but addresses, until it is needed.
static AREA: Area = Area(UnsafeCell::new([0; BYTES]));
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// A part of the area, of zeros; null when nothing is left. It is never taken back.
pub fn take(layout: Layout) -> *mut u8 {
    if layout.align() > ALIGN {
        return null_mut();
    }
    let end = |taken: usize| taken.next_multiple_of(layout.align()).checked_add(layout.size());
    let grown =
        TAKEN.fetch_update(Relaxed, Relaxed, |taken| end(taken).filter(|end| *end <= BYTES));
    let Ok(before) = grown else { return null_mut() };
    AREA.0.get().cast::<u8>().wrapping_add(before.next_multiple_of(layout.align()))
}

/// Whether this memory is in the area.
#[inline]
pub fn holds(memory: *mut u8) -> bool {
    (memory as usize).wrapping_sub(AREA.0.get() as usize) < BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_the_area_ends() {
        let layout = |bytes, align| Layout::from_size_align(bytes, align).expect("a layout");
        let (a, b) = (take(layout(3, 1)), take(layout(8, 8)));
        assert!(holds(a) && holds(b) && b as usize >= a as usize + 3);
        assert_eq!(b as usize % 8, 0);
        assert!(take(layout(8, 4096)).is_null());
        assert!(take(layout(BYTES, 1)).is_null());
        assert!(take(layout(isize::MAX as usize - 7, 1)).is_null());
        assert!(!holds(null_mut()) && !holds(Box::into_raw(Box::new([0u8; 64])).cast()));
    }
}
