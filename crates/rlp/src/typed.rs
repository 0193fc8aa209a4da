//! The trait of everything that can be read from an encoding.

use crate::{Error, Reader};
use ruint::aliases::U256;

/// A value that is read from its RLP encoding. What it borrows, it borrows from there.
///
/// For a struct that is a list of fields, [`list!`](crate::list!) implements it.
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

impl<'a, const N: usize> Decode<'a> for [u8; N] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.fixed().copied()
    }
}

/// A field that later forks appended: absent when the list ends before it.
impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        if reader.is_empty() { Ok(None) } else { T::read(reader).map(Some) }
    }
}
