//! Live pairs of a range, in the order of keys.

use super::cursor::Merged;
use crate::error::Result;

/// Goes through live pairs of a [`crate::Table`] in the order of keys.
pub struct Scan<'a> {
    pub(crate) merged: Merged<'a>,
}

impl Scan<'_> {
    /// The next pair; `None` after the last.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] names the file and the offset of a page that is not as written.
    #[allow(clippy::should_implement_trait)] // what it returns lives until the next call
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        // the oldest run takes part, so there are no tombstones
        Ok(self.merged.next()?.map(|record| (record.key, record.value)))
    }
}
