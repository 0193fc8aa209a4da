//! Lists of items that are encoded already.

use crate::{Encode, Write};

/// A list of encoded items, given in stretches of any number of them that follow each other.
///
/// ```
/// use blockmill_rlp::{Encode, RawList};
///
/// assert_eq!(RawList(&[&[1], &[2, 3]]).encode(), [0xc3, 1, 2, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawList<'a>(pub &'a [&'a [u8]]);

impl Encode for RawList<'_> {
    const LISTS: usize = 0;

    #[inline]
    fn write<W: Write>(&self, out: &mut W) {
        let payload = self.0.iter().map(|items| items.len()).sum();
        out.list_of(payload, |out| self.0.iter().for_each(|items| out.raw(items)));
    }
}
