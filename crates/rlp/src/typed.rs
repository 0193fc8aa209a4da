//! The trait of everything that can be read from an encoding.

use crate::{Error, ErrorKind, Reader};
use alloc::vec::Vec;
use ruint::aliases::U256;

/// A value that is read from its RLP encoding. What it borrows, it borrows from there.
///
/// For a struct that is a list of fields, [`list!`](crate::list!) implements it.
///
/// ```
/// use blockmill_rlp::{Decode, Error, Reader};
///
/// /// The list of a number and a text, which it borrows.
/// #[derive(Debug, PartialEq)]
/// struct Entry<'a>(u64, &'a [u8]);
///
/// impl<'a> Decode<'a> for Entry<'a> {
///     fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
///         let mut list = reader.list()?;
///         let entry = Self(list.u64()?, list.bytes()?);
///         list.finish()?;
///         Ok(entry)
///     }
/// }
///
/// assert_eq!(Entry::decode(&[0xc5, 7, 0x83, b'd', b'o', b'g']), Ok(Entry(7, b"dog")));
/// assert!(Entry::decode(&[0xc1, 7]).is_err());
/// ```
pub trait Decode<'a>: Sized {
    /// Reads the next item, or, for a field that may be absent, none at the end of a list.
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error>;

    /// Decodes the one item that fills `bytes`.
    #[inline]
    fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let value = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// Reads a list of such values, or, of `u8`, one byte string.
    #[doc(hidden)]
    fn read_vec(reader: &mut Reader<'a>) -> Result<Vec<Self>, Error> {
        let mut list = reader.list()?;
        let mut values = Vec::new();
        while !list.is_empty() {
            values.push(Self::read(&mut list)?);
        }
        Ok(values)
    }

    /// Reads `N` such values, or, of `u8`, one byte string of `N` bytes.
    #[doc(hidden)]
    fn read_array<const N: usize>(reader: &mut Reader<'a>) -> Result<[Self; N], Error> {
        let offset = reader.offset();
        let values = Self::read_vec(reader)?;
        values.try_into().map_err(|values: Vec<Self>| Error {
            offset,
            kind: ErrorKind::WrongCount { expected: N, found: values.len() },
        })
    }
}

impl<'a> Decode<'a> for u64 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.u64()
    }
}

impl<'a> Decode<'a> for U256 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.u256()
    }
}

impl<'a> Decode<'a> for &'a [u8] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.bytes()
    }
}

impl<'a, const N: usize> Decode<'a> for &'a [u8; N] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.fixed()
    }
}

/// A list of values of one type; a byte string if they are `u8`.
impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        T::read_vec(reader)
    }
}

/// A list of `N` values of one type; a byte string of `N` bytes if they are `u8`.
impl<'a, T: Decode<'a>, const N: usize> Decode<'a> for [T; N] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        T::read_array(reader)
    }
}

/// A field that later forks appended: absent when the list ends before it.
impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        if reader.is_empty() { Ok(None) } else { T::read(reader).map(Some) }
    }
}
