//! All live pairs in the order of keys.

use super::{Key, cursor::Merged};
use crate::error::Result;

/// Goes through all live pairs of a [`crate::PointStore`] in the order of keys: by the 32 bytes of
/// the id, then by the number.
pub struct Points<'a> {
    pub(crate) merged: Merged<'a>,
}

impl Points<'_> {
    /// The next pair; `None` after the last.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] names the file and the place of a page that is not as written.
    #[allow(clippy::should_implement_trait)] // what it returns lives until the next call
    pub fn next(&mut self) -> Result<Option<(&Key, &[u8])>> {
        // the oldest run takes part, so there are no tombstones
        Ok(self.merged.next()?.map(|record| (record.key, record.value)))
    }
}
