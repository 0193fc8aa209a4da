//! The trait of everything that has an encoding.

use crate::encoder::{append, encode, hash};
use crate::measure::Measure;
use crate::{OnePass, Write};
use alloc::vec::Vec;
use ruint::aliases::U256;

/// A value that has an RLP encoding.
///
/// Implement only [`Encode::write`], which passes the parts of the value to a writer in order. For
/// a struct whose fields are all written, [`list!`](crate::list!) implements it.
///
/// ```
/// use blockmill_rlp::{Encode, Write};
///
/// /// The list of a number and a text.
/// struct Entry(u64, &'static str);
///
/// impl Encode for Entry {
///     fn write<W: Write>(&self, out: &mut W) {
///         out.list(|out| {
///             out.u64(self.0);
///             out.bytes(self.1.as_bytes());
///         });
///     }
/// }
///
/// let entry = Entry(7, "dog");
/// assert_eq!(entry.encode(), [0xc5, 7, 0x83, b'd', b'o', b'g']);
/// assert_eq!(entry.encoded_len(), 6);
/// assert_eq!(entry.hash(), blockmill_hashes::keccak256(&entry.encode()));
/// ```
pub trait Encode {
    /// Most lists that a value of this type can consist of, itself included and those written with
    /// [`Write::list_of`] not counted: their lengths are kept while it is written. Types that set
    /// it are written with the least memory; the others may hold any number of lists.
    const LISTS: usize = usize::MAX;

    /// Passes the parts of the value to `out`, in order. It is called once for each pass and must
    /// do the same each time.
    fn write<W: Write>(&self, out: &mut W);

    /// Bytes of the encoding.
    #[inline]
    fn encoded_len(&self) -> usize {
        let mut measure = Measure::new(&mut []);
        self.write(&mut measure);
        measure.len
    }

    /// The encoding, in a buffer of exactly its size.
    #[must_use]
    #[inline]
    fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Appends the encoding to `out`.
    #[inline]
    fn encode_into(&self, out: &mut Vec<u8>) {
        append(self, out);
    }

    /// Keccak-256 of the encoding, which is never stored as a whole: no heap memory is used.
    #[must_use]
    #[inline]
    fn hash(&self) -> [u8; 32] {
        hash(self)
    }

    /// The encoding, written in one pass: the baseline of [`Encode::encode`].
    #[must_use]
    #[inline]
    fn encode_in_one_pass(&self) -> Vec<u8> {
        let mut out = OnePass::default();
        self.write(&mut out);
        out.into_bytes()
    }

    /// [`LISTS`](Self::LISTS) of a slice of such values.
    #[doc(hidden)]
    const SLICE_LISTS: usize = usize::MAX;

    /// Writes a slice of such values: a list of them, or, of `u8`, one byte string.
    #[doc(hidden)]
    #[inline(always)]
    fn write_slice<W: Write>(values: &[Self], out: &mut W)
    where
        Self: Sized,
    {
        out.list(|out| values.iter().for_each(|value| value.write(out)));
    }

    /// [`write_slice`](Self::write_slice) of an array.
    #[doc(hidden)]
    #[inline(always)]
    fn write_array<W: Write, const N: usize>(values: &[Self; N], out: &mut W)
    where
        Self: Sized,
    {
        Self::write_slice(values, out);
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    const LISTS: usize = T::LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        (**self).write(out);
    }
}

/// A number; slices of it are byte strings.
impl Encode for u8 {
    const LISTS: usize = 0;
    const SLICE_LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.u64((*self).into());
    }

    #[inline(always)]
    fn write_slice<W: Write>(values: &[Self], out: &mut W) {
        out.bytes(values);
    }

    #[inline(always)]
    fn write_array<W: Write, const N: usize>(values: &[Self; N], out: &mut W) {
        out.fixed(values);
    }
}

/// A list of values of one type; a byte string if they are `u8`.
impl<T: Encode> Encode for [T] {
    const LISTS: usize = T::SLICE_LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        T::write_slice(self, out);
    }
}

/// A list of values of one type; a byte string if they are `u8`.
impl<T: Encode> Encode for Vec<T> {
    const LISTS: usize = T::SLICE_LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        T::write_slice(self, out);
    }
}

/// A list of `N` values of one type; a byte string of `N` bytes if they are `u8`.
impl<T: Encode, const N: usize> Encode for [T; N] {
    const LISTS: usize = T::SLICE_LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        T::write_array(self, out);
    }
}

impl Encode for u64 {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.u64(*self);
    }
}

impl Encode for U256 {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.u256(self);
    }
}

/// A field that is written when it is there: those that later forks append to a list.
impl<T: Encode> Encode for Option<T> {
    const LISTS: usize = T::LISTS;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        if let Some(value) = self {
            value.write(out);
        }
    }
}

/// Implements [`Encode`] and [`Decode`](crate::Decode) for a struct as the list of the fields
/// named, in that order; all of them. An `Option` that is `None` is left out: only the last fields
/// can be optional.
///
/// ```
/// use blockmill_rlp::{Decode, Encode};
///
/// #[derive(Debug, PartialEq)]
/// struct Withdrawal { index: u64, validator: u64, address: [u8; 20], amount: u64 }
/// blockmill_rlp::list!(Withdrawal { index: u64, validator: u64, address: [u8; 20], amount: u64 });
///
/// let withdrawal = Withdrawal { index: 1, validator: 2, address: [3; 20], amount: 4 };
/// assert_eq!(withdrawal.encoded_len(), 1 + 1 + 1 + 21 + 1);
/// assert_eq!(withdrawal.encode()[..4], [0xd8, 1, 2, 0x94]);
/// assert_eq!(Withdrawal::decode(&withdrawal.encode()), Ok(withdrawal));
/// ```
#[macro_export]
macro_rules! list {
    ($type:ident $(<$life:lifetime>)? { $($field:ident: $kind:ty),+ $(,)? }) => {
        impl $(<$life>)? $crate::Encode for $type $(<$life>)? {
            const LISTS: usize = 1usize
                $(.saturating_add(<$kind as $crate::Encode>::LISTS))+;

            #[inline(always)]
            fn write<W: $crate::Write>(&self, out: &mut W) {
                out.list(|out| { $($crate::Encode::write(&self.$field, out);)+ });
            }
        }

        $crate::list!(@decode $type $(<$life>)? { $($field),+ });
    };
    (@decode $type:ident { $($field:ident),+ }) => {
        $crate::list!(@decode_from 'a, $type, { $($field),+ });
    };
    (@decode $type:ident <$life:lifetime> { $($field:ident),+ }) => {
        $crate::list!(@decode_from $life, $type<$life>, { $($field),+ });
    };
    (@decode_from $life:lifetime, $type:ty, { $($field:ident),+ }) => {
        impl<$life> $crate::Decode<$life> for $type {
            #[inline]
            fn read(reader: &mut $crate::Reader<$life>) -> Result<Self, $crate::Error> {
                let mut list = reader.list()?;
                // in the order of the encoding, which is the one that was given
                $(let $field = $crate::Decode::read(&mut list)?;)+
                list.finish()?;
                Ok(Self { $($field),+ })
            }
        }
    };
}
