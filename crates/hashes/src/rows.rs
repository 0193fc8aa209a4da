//! A large table of 64-byte rows for random access.

use std::ops::{Deref, DerefMut};

use blockmill_platform::memory::{Zeroed, prefetch};

/// A fixed number of rows of 64 bytes, each in one cache line.
///
/// The memory uses huge pages if the operating system has them: with pages of 4 KiB nearly each
/// random access to a table of 16 MiB or more also misses the translation buffer.
///
/// ```
/// use blockmill_hashes::Rows;
///
/// let mut rows = Rows::zeroed(1_000);
/// rows[999] = [1; 64];
/// rows.prefetch(999);
/// assert_eq!((rows.len(), rows[0]), (1_000, [0; 64]));
/// ```
#[derive(Debug)]
pub struct Rows(Zeroed);

impl Rows {
    /// Allocates `count` rows of zeros.
    ///
    /// # Panics
    ///
    /// Panics if `count` is zero or `count * 64` bytes exceed the address space. Aborts if the
    /// memory is not available, like any allocation.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        assert!(count > 0, "a table has at least one row");
        let memory = count.checked_mul(64).and_then(Zeroed::new);
        Rows(memory.expect("the table fits the address space"))
    }

    /// Prefetches row `index`. Does nothing if there is no such row.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        if let Some(row) = self.get(index) {
            prefetch(row);
        }
    }
}

impl Deref for Rows {
    type Target = [[u8; 64]];

    #[inline]
    fn deref(&self) -> &[[u8; 64]] {
        self.0.as_chunks().0
    }
}

impl DerefMut for Rows {
    #[inline]
    fn deref_mut(&mut self) -> &mut [[u8; 64]] {
        self.0.as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_as_zeros_and_keep_what_is_written() {
        let mut rows = Rows::zeroed(40_000);
        assert!(rows.iter().all(|row| *row == [0; 64]));
        assert_eq!(rows.as_ptr().addr() % blockmill_platform::memory::HUGE_PAGE, 0);
        rows[39_999] = [7; 64];
        rows.prefetch(39_999);
        rows.prefetch(40_000);
        assert_eq!(rows[39_999], [7; 64]);
        assert_eq!(rows.len(), 40_000);
    }
}
