//! Where a part stands in the bytes of its object.

/// A stretch of an object's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// How many bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// No bytes?
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its bytes in `raw`.
    ///
    /// # Panics
    /// When the span is not one of this object.
    #[must_use]
    pub fn of(self, raw: &[u8]) -> &[u8] {
        &raw[self.start as usize..self.end as usize]
    }
}
