//! Encodings of types of the standard library that need no rule of their own.

use crate::{Decode, Encode, Error, ErrorKind, Reader, Write};
use alloc::boxed::Box;
use alloc::string::String;
use ruint::aliases::U256;

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Encode for $type {
            const LISTS: usize = 0;

            #[inline(always)]
            fn write<W: Write>(&self, out: &mut W) {
                out.u64(*self as u64);
            }
        }

        impl<'a> Decode<'a> for $type {
            #[inline]
            fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
                let digits = reader.digits(size_of::<Self>())?;
                Ok(digits.iter().fold(0, |number, digit| number << 8 | Self::from(*digit)))
            }
        }
    )+};
}
integers!(u16 u32 usize);

impl<'a> Decode<'a> for u8 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(reader.digits(1)?.first().copied().unwrap_or(0))
    }

    #[inline]
    fn read_vec(reader: &mut Reader<'a>) -> Result<alloc::vec::Vec<Self>, Error> {
        reader.bytes().map(<[u8]>::to_vec)
    }

    #[inline]
    fn read_array<const N: usize>(reader: &mut Reader<'a>) -> Result<[Self; N], Error> {
        reader.fixed().copied()
    }
}

impl Encode for u128 {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.u256(&U256::from(*self));
    }
}

impl<'a> Decode<'a> for u128 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(reader.digits(16)?.iter().fold(0, |number, digit| number << 8 | Self::from(*digit)))
    }
}

/// The number 1 or 0.
impl Encode for bool {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.u64((*self).into());
    }
}

impl<'a> Decode<'a> for bool {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        match u8::read(reader)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(Error { offset, kind: ErrorKind::NotBool { found } }),
        }
    }
}

/// The bytes of the text in UTF-8.
impl Encode for str {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.bytes(self.as_bytes());
    }
}

/// The bytes of the text in UTF-8.
impl Encode for String {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        self.as_str().write(out);
    }
}

impl<'a> Decode<'a> for &'a str {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        let bytes = reader.bytes()?;
        core::str::from_utf8(bytes).map_err(|error| {
            // the text begins after the prefix; both end with the item
            let start = reader.offset() - bytes.len();
            Error { offset: offset.max(start) + error.valid_up_to(), kind: ErrorKind::NotUtf8 }
        })
    }
}

impl<'a> Decode<'a> for String {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        <&str>::read(reader).map(Self::from)
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    const LISTS: usize = T::LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        (**self).write(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Box<T> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        T::read(reader).map(Self::new)
    }
}

#[cfg(feature = "bytes")]
impl Encode for bytes::Bytes {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.bytes(self);
    }
}

#[cfg(feature = "bytes")]
impl<'a> Decode<'a> for bytes::Bytes {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.bytes().map(Self::copy_from_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use std::fmt::Debug;

    #[track_caller]
    fn both_ways<T: Encode + for<'a> Decode<'a> + PartialEq + Debug>(value: T, bytes: &[u8]) {
        assert_eq!(value.encode(), bytes, "{value:?}");
        assert_eq!(value.encode_in_one_pass(), bytes, "{value:?}");
        assert_eq!(value.encoded_len(), bytes.len(), "{value:?}");
        assert_eq!(T::decode(bytes), Ok(value));
    }

    fn kind<'a, T: Decode<'a> + Debug>(bytes: &'a [u8]) -> ErrorKind {
        T::decode(bytes).unwrap_err().kind
    }

    #[test]
    fn integers_of_every_width_have_the_same_encoding() {
        for (value, bytes) in [(0u8, &[0x80][..]), (1, &[1]), (127, &[127]), (128, &[0x81, 128])] {
            both_ways(value, bytes);
            both_ways(u16::from(value), bytes);
            both_ways(u32::from(value), bytes);
            both_ways(u64::from(value), bytes);
            both_ways(u128::from(value), bytes);
            both_ways(usize::from(value), bytes);
        }
        both_ways(u16::MAX, &[0x82, 255, 255]);
        both_ways(u128::MAX, &[[0x90].as_slice(), &[255; 16]].concat());
        assert_eq!(kind::<u8>(&[0x82, 1, 0]), ErrorKind::TooLarge { max: 1, found: 2 });
        assert_eq!(kind::<u16>(&[0x83, 1, 0, 0]), ErrorKind::TooLarge { max: 2, found: 3 });
        assert_eq!(kind::<u32>(&[0x00]), ErrorKind::LeadingZero);
        assert_eq!(kind::<u128>(&[0xc0]), ErrorKind::ExpectedBytes);
    }

    #[test]
    fn truth_values_are_the_numbers_0_and_1() {
        both_ways(false, &[0x80]);
        both_ways(true, &[1]);
        assert_eq!(kind::<bool>(&[2]), ErrorKind::NotBool { found: 2 });
    }

    #[test]
    fn text_is_utf8_and_an_error_names_the_byte() {
        both_ways(String::from("dog"), &[0x83, b'd', b'o', b'g']);
        both_ways(String::new(), &[0x80]);
        assert_eq!("a".encode(), [b'a']);
        assert_eq!(<&str>::decode(&[0x83, b'c', b'a', b't']), Ok("cat"));
        let error = String::decode(&[0x83, b'a', 0xff, b'c']).unwrap_err();
        assert_eq!(error, Error { offset: 2, kind: ErrorKind::NotUtf8 });
    }

    #[test]
    fn sequences_are_lists_and_those_of_bytes_are_strings() {
        both_ways(vec![1u8, 2, 3], &[0x83, 1, 2, 3]);
        both_ways([1u8, 2, 3], &[0x83, 1, 2, 3]);
        both_ways(vec![1u16, 2, 3], &[0xc3, 1, 2, 3]);
        both_ways([1u64, 2, 3], &[0xc3, 1, 2, 3]);
        both_ways(vec![vec![1u8], vec![]], &[0xc2, 1, 0x80]);
        both_ways(vec![[0u8; 2]; 2], &[0xc6, 0x82, 0, 0, 0x82, 0, 0]);
        both_ways(Vec::<bool>::new(), &[0xc0]);
        assert_eq!(kind::<[u64; 2]>(&[0xc1, 1]), ErrorKind::WrongCount { expected: 2, found: 1 });
        assert_eq!(
            kind::<[u64; 2]>(&[0xc3, 1, 2, 3]),
            ErrorKind::WrongCount { expected: 2, found: 3 }
        );
    }

    #[test]
    fn a_box_is_its_content() {
        both_ways(Box::new(vec![5u64]), &[0xc1, 5]);
    }

    #[cfg(feature = "bytes")]
    #[test]
    fn shared_bytes_are_a_string() {
        both_ways(bytes::Bytes::from_static(b"dog"), &[0x83, b'd', b'o', b'g']);
    }
}
