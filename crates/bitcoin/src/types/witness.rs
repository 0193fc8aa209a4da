//! The items of a witness, read in place.

/// The items of one input's witness, in order.
#[derive(Clone, Debug)]
pub struct Witness<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Witness<'a> {
    /// The items in the encoding of a block: the count, and the items with their lengths. Malformed
    /// bytes end the list early.
    #[must_use]
    pub fn new(mut bytes: &'a [u8]) -> Self {
        let left = number(&mut bytes).unwrap_or(0);
        Self { rest: bytes, left: left.min(bytes.len()) }
    }
}

impl<'a> Iterator for Witness<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let length = number(&mut self.rest)?;
        let (item, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// Reads a count or length, which the parser has checked.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    fn wide<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (array, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*array)
    }
    match wide(bytes)? {
        [0xff] => usize::try_from(u64::from_le_bytes(wide(bytes)?)).ok(),
        [0xfe] => usize::try_from(u32::from_le_bytes(wide(bytes)?)).ok(),
        [0xfd] => Some(usize::from(u16::from_le_bytes(wide(bytes)?))),
        [small] => Some(usize::from(small)),
    }
}
