//! Where a part is in the bytes of its object.

/// A range of the bytes of an object, of at most 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Number of bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// No bytes?
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its bytes in `raw`.
    ///
    /// # Panics
    /// Panics if the span is not one of this object.
    #[inline]
    #[must_use]
    pub fn slice(self, raw: &[u8]) -> &[u8] {
        &raw[self.start as usize..self.end as usize]
    }
}
