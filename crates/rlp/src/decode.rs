//! Reading: a cursor that copies nothing, and a check of a whole item at every depth.

use crate::{Error, ErrorKind};
use alloc::vec;
use ruint::aliases::U256;

/// One item of a list: its kind, its payload and its whole encoding, all borrowed.
///
/// ```
/// use blockmill_rlp::Reader;
///
/// let item = Reader::new(&[0xc2, 1, 2]).item()?;
/// assert!(item.is_list);
/// assert_eq!((item.payload, item.raw), (&[1, 2][..], &[0xc2, 1, 2][..]));
/// assert_eq!(item.reader().u64(), Ok(1));
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// True for a list, false for a byte string.
    pub is_list: bool,
    /// The bytes after the prefix.
    pub payload: &'a [u8],
    /// Prefix and payload.
    pub raw: &'a [u8],
    /// Offset of the prefix from the start of the outermost buffer.
    pub offset: usize,
}

impl<'a> Item<'a> {
    /// A reader over the items of this list.
    pub fn reader(&self) -> Reader<'a> {
        let base = self.offset + (self.raw.len() - self.payload.len());
        Reader { data: self.payload, pos: 0, base }
    }
}

/// A cursor over consecutive RLP items. Nothing is copied and nothing is allocated.
///
/// ```
/// use blockmill_rlp::{ErrorKind, Reader};
///
/// // the list of 1, "dog" and an empty list
/// let mut outer = Reader::new(&[0xc6, 1, 0x83, b'd', b'o', b'g', 0xc0]);
/// let mut list = outer.list()?;
/// outer.finish()?;
/// assert_eq!(list.u64(), Ok(1));
/// assert_eq!(list.fixed::<3>(), Ok(b"dog"));
/// // an error has the offset from the start of the outermost buffer
/// let error = list.clone().u64().unwrap_err();
/// assert_eq!((error.offset, error.kind), (6, ErrorKind::ExpectedBytes));
/// assert!(list.list()?.is_empty());
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    data: &'a [u8],
    pos: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    /// Reads the items of `data`, one after the other.
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, pos: 0, base: 0 }
    }

    /// Like [`Reader::new`], with error offsets that count from `base`.
    #[inline]
    pub fn with_base(data: &'a [u8], base: usize) -> Self {
        Self { data, pos: 0, base }
    }

    /// Offset of the next item from the start of the outermost buffer.
    #[inline]
    pub fn offset(&self) -> usize {
        self.base + self.pos
    }

    /// True when every item has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pos == self.data.len()
    }

    /// The bytes not read so far.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.data[self.pos..]
    }

    /// True when the next item is a list.
    #[inline]
    pub fn next_is_list(&self) -> bool {
        self.rest().first().is_some_and(|b| *b >= 0xc0)
    }

    #[inline]
    fn error<T>(&self, kind: ErrorKind) -> Result<T, Error> {
        Err(Error { offset: self.offset(), kind })
    }

    /// The next item, whatever it is.
    #[inline]
    pub fn item(&mut self) -> Result<Item<'a>, Error> {
        let rest = self.rest();
        let (is_list, prefix, len) = match split_prefix(rest) {
            Ok(parts) => parts,
            Err(kind) => return self.error(kind),
        };
        let raw = &rest[..prefix + len];
        let item = Item { is_list, payload: &raw[prefix..], raw, offset: self.offset() };
        self.pos += raw.len();
        Ok(item)
    }

    /// The next item, which must be a byte string; its payload.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let at = self.offset();
        let item = self.item()?;
        if item.is_list {
            return Err(Error { offset: at, kind: ErrorKind::ExpectedBytes });
        }
        Ok(item.payload)
    }

    /// The next item, which must be a list; a reader over its items.
    #[inline]
    pub fn list(&mut self) -> Result<Reader<'a>, Error> {
        let item = self.item()?;
        if !item.is_list {
            return Err(Error { offset: item.offset, kind: ErrorKind::ExpectedList });
        }
        Ok(item.reader())
    }

    /// The next item, which must be a byte string of exactly `N` bytes.
    #[inline]
    pub fn fixed<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        let offset = self.offset();
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| Error {
            offset,
            kind: ErrorKind::WrongLength { expected: N, found: bytes.len() },
        })
    }

    /// The next item as an unsigned integer of at most 64 bits.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Error> {
        // a loop over the few digits that there are is faster than a copy of unknown length
        Ok(self.digits(8)?.iter().fold(0, |number, digit| number << 8 | u64::from(*digit)))
    }

    /// The next item as an unsigned integer of at most 256 bits.
    #[inline]
    pub fn u256(&mut self) -> Result<U256, Error> {
        let digits = self.digits(32)?;
        match digits.first_chunk::<8>() {
            Some(_) => Ok(U256::try_from_be_slice(digits).unwrap_or(U256::MAX)), // 32 digits fit
            None => Ok(U256::from(digits.iter().fold(0u64, |n, digit| n << 8 | u64::from(*digit)))),
        }
    }

    /// The next item as the big-endian digits of an unsigned integer, at most `max` and without
    /// leading zeros.
    #[inline]
    pub fn digits(&mut self, max: usize) -> Result<&'a [u8], Error> {
        let offset = self.offset();
        let digits = self.bytes()?;
        if digits.first() == Some(&0) {
            return Err(Error { offset, kind: ErrorKind::LeadingZero });
        }
        if digits.len() > max {
            let kind = ErrorKind::TooLarge { max, found: digits.len() };
            return Err(Error { offset, kind });
        }
        Ok(digits)
    }

    /// Succeeds when every item has been read.
    #[inline]
    pub fn finish(&self) -> Result<(), Error> {
        match self.rest().len() {
            0 => Ok(()),
            count => self.error(ErrorKind::TrailingBytes { count }),
        }
    }
}

/// Checks that `data` is exactly one canonical item, at every depth. Depth costs no stack: an
/// explicit list of list ends is kept, one machine word for each open list.
///
/// ```
/// use blockmill_rlp::{ErrorKind, validate};
///
/// assert!(validate(&[0xc2, 0xc1, 5]).is_ok());
/// // the byte 5 is its own encoding
/// assert_eq!(validate(&[0xc2, 0x81, 5]).unwrap_err().kind, ErrorKind::NonCanonicalByte);
/// ```
pub fn validate(data: &[u8]) -> Result<(), Error> {
    let mut ends = vec![];
    let mut pos = 0;
    let mut first = true;
    while first || pos < data.len() {
        while ends.last() == Some(&pos) {
            ends.pop();
        }
        if !first && ends.is_empty() {
            let kind = ErrorKind::TrailingBytes { count: data.len() - pos };
            return Err(Error { offset: pos, kind });
        }
        first = false;
        let limit = ends.last().copied().unwrap_or(data.len());
        let (is_list, prefix, len) =
            split_prefix(&data[pos..limit]).map_err(|kind| Error { offset: pos, kind })?;
        pos += prefix;
        if is_list {
            ends.push(pos + len);
        } else {
            pos += len;
        }
    }
    Ok(())
}

/// Parses the prefix of the first item: whether it is a list, and the lengths of its prefix and its
/// payload.
#[inline]
fn split_prefix(data: &[u8]) -> Result<(bool, usize, usize), ErrorKind> {
    let Some(&first) = data.first() else {
        return Err(ErrorKind::Truncated { needed: 1, available: 0 });
    };
    let available = (data.len() - 1) as u64;
    let (is_list, prefix, len) = match first {
        0x00..=0x7f => return Ok((false, 0, 1)),
        0x80..=0xb7 => (false, 1, u64::from(first - 0x80)),
        0xb8..=0xbf => long_length(data, usize::from(first - 0xb7)).map(|(p, l)| (false, p, l))?,
        0xc0..=0xf7 => (true, 1, u64::from(first - 0xc0)),
        0xf8..=0xff => long_length(data, usize::from(first - 0xf7)).map(|(p, l)| (true, p, l))?,
    };
    let needed = (prefix as u64 - 1).saturating_add(len);
    if needed > available {
        return Err(ErrorKind::Truncated { needed, available });
    }
    if first == 0x81 && data[1] < 0x80 {
        return Err(ErrorKind::NonCanonicalByte);
    }
    Ok((is_list, prefix, len as usize))
}

/// Reads the `size` length bytes of a long item: prefix length and payload length.
#[inline]
fn long_length(data: &[u8], size: usize) -> Result<(usize, u64), ErrorKind> {
    let Some(digits) = data.get(1..1 + size) else {
        let available = (data.len() - 1) as u64;
        return Err(ErrorKind::Truncated { needed: size as u64, available });
    };
    let len = digits.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    if digits[0] == 0 || len <= 55 {
        return Err(ErrorKind::NonCanonicalLength);
    }
    Ok((1 + size, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn kind(data: &[u8]) -> Option<ErrorKind> {
        validate(data).err().map(|e| e.kind)
    }

    #[test]
    fn accepts_canonical_items() {
        for data in [&[0x00][..], &[0x7f], &[0x80], &[0x81, 0x80], &[0xc0], &[0xc2, 0xc0, 0x01]] {
            assert_eq!(kind(data), None, "{data:02x?}");
        }
    }

    #[test]
    fn rejects_non_canonical_items() {
        assert_eq!(kind(&[0x81, 0x7f]), Some(ErrorKind::NonCanonicalByte));
        assert_eq!(kind(&[0xb8, 0x01, 0xff]), Some(ErrorKind::NonCanonicalLength));
        assert_eq!(kind(&[0xb9, 0x00, 0x40]), Some(ErrorKind::NonCanonicalLength));
        assert_eq!(kind(&[0xc0, 0xc0]), Some(ErrorKind::TrailingBytes { count: 1 }));
        assert_eq!(kind(&[]), Some(ErrorKind::Truncated { needed: 1, available: 0 }));
        assert!(matches!(kind(&[0xc2, 0x82, 0x00]), Some(ErrorKind::Truncated { .. })));
    }

    #[test]
    fn rejects_lengths_of_two_to_the_63_without_overflow() {
        for first in [0xbf, 0xff] {
            for top in [0x7f, 0x80, 0xff] {
                let data = [first, top, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
                assert!(matches!(kind(&data), Some(ErrorKind::Truncated { .. })));
            }
        }
    }

    #[test]
    fn survives_a_million_nested_lists() {
        let mut prefixes = vec![];
        let mut len = 0u64;
        while prefixes.len() < 1_000_000 {
            let mut prefix = vec![];
            if len <= 55 {
                prefix.push(0xc0 + len as u8);
            } else {
                let digits = len.to_be_bytes();
                let skip = digits.iter().take_while(|b| **b == 0).count();
                prefix.push(0xf7 + (8 - skip) as u8);
                prefix.extend_from_slice(&digits[skip..]);
            }
            len += prefix.len() as u64;
            prefixes.push(prefix);
        }
        let data: Vec<u8> = prefixes.into_iter().rev().flatten().collect();
        assert_eq!(kind(&data), None);
        assert!(validate(&data[..data.len() - 1]).is_err());
    }

    #[test]
    fn integers_have_no_leading_zeros_and_fit() {
        assert_eq!(Reader::new(&[0x80]).u64(), Ok(0));
        assert_eq!(Reader::new(&[0x00]).u64().unwrap_err().kind, ErrorKind::LeadingZero);
        let nine = [0x89, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let kind = Reader::new(&nine).u64().unwrap_err().kind;
        assert_eq!(kind, ErrorKind::TooLarge { max: 8, found: 9 });
    }

    #[test]
    fn errors_name_the_offset_from_the_outermost_buffer() {
        let mut outer = Reader::new(&[0xc3, 0x01, 0xc1, 0x00]).list().unwrap();
        outer.u64().unwrap();
        let error = outer.list().unwrap().u64().unwrap_err();
        assert_eq!(error, Error { offset: 3, kind: ErrorKind::LeadingZero });
    }
}
