//! Lists of values of one type, encoded or not.

use crate::{Decode, Encode, Error, Reader, Write};
use core::marker::PhantomData;

/// A list of values: those of a slice, or those of an encoding in which each was checked.
///
/// So one type serves those who put an object together and those who look into an encoded one, and
/// neither allocates.
///
/// ```
/// use blockmill_rlp::{Decode, Encode, List};
///
/// let given: List<'_, u64> = List::Values(&[1, 2, 3]);
/// let bytes = given.encode();
/// let decoded = List::<u64>::decode(&bytes)?;
/// assert_eq!((decoded.len(), decoded.iter().sum::<u64>()), (3, 6));
/// assert_eq!(decoded, given);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Debug)]
pub enum List<'a, T> {
    /// Values that are not encoded yet.
    Values(&'a [T]),
    /// Values in an encoding.
    Encoded(Encoded<'a, T>),
}

/// The items of an encoded list, each of which decodes.
///
/// ```
/// use blockmill_rlp::{Decode, List};
///
/// let List::Encoded(list) = List::<u64>::decode(&[0xc2, 1, 2])? else { unreachable!() };
/// assert_eq!(list.payload(), [1, 2]);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Debug)]
pub struct Encoded<'a, T> {
    items: Reader<'a>,
    count: usize,
    kind: PhantomData<T>,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Values(values) => Self::Values(values),
            Self::Encoded(encoded) => Self::Encoded(encoded.clone()),
        }
    }
}

impl<T> Clone for Encoded<'_, T> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), count: self.count, kind: PhantomData }
    }
}

impl<T> Default for List<'_, T> {
    /// The empty list.
    fn default() -> Self {
        Self::Values(&[])
    }
}

impl<'a, T: Decode<'a> + Clone + PartialEq> PartialEq for List<'a, T> {
    /// Equal when they hold equal values, encoded or not.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Decode<'a> + Clone + Eq> Eq for List<'a, T> {}

impl<'a, T> Encoded<'a, T> {
    /// The encodings of all items, one after the other.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.items.rest()
    }

    /// A reader over the items.
    #[must_use]
    pub fn reader(&self) -> Reader<'a> {
        self.items.clone()
    }
}

impl<'a, T> List<'a, T> {
    /// How many values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Encoded(encoded) => encoded.count,
        }
    }

    /// True without values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offset of the first item from the start of the outermost buffer, for messages; `None` for
    /// values that are not encoded.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Values(_) => None,
            Self::Encoded(encoded) => Some(encoded.items.offset()),
        }
    }

    /// The values, one after the other.
    pub fn iter(&self) -> Values<'a, T> {
        match self {
            Self::Values(values) => Values { given: values.iter(), encoded: Reader::new(&[]) },
            Self::Encoded(encoded) => Values { given: [].iter(), encoded: encoded.reader() },
        }
    }
}

/// The values of a [`List`].
#[derive(Debug)]
pub struct Values<'a, T> {
    given: core::slice::Iter<'a, T>,
    encoded: Reader<'a>,
}

impl<'a, T: Decode<'a> + Clone> Iterator for Values<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if let Some(value) = self.given.next() {
            return Some(value.clone());
        }
        // each item was decoded once already
        if self.encoded.is_empty() { None } else { T::read(&mut self.encoded).ok() }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for List<'a, T> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let items = reader.list()?;
        let mut rest = items.clone();
        let mut count = 0;
        while !rest.is_empty() {
            T::read(&mut rest)?;
            count += 1;
        }
        Ok(Self::Encoded(Encoded { items, count, kind: PhantomData }))
    }
}

impl<T: Encode> Encode for List<'_, T> {
    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Values(values) => values.write(out),
            Self::Encoded(encoded) => {
                let payload = encoded.payload();
                out.list_of(payload.len(), |out| out.raw(payload));
            }
        }
    }
}
