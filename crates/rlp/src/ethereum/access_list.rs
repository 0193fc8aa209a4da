//! What a transaction says that it will touch (EIP-2930).

use crate::{Decode, Encode, Error, List, Reader, Write, list_len};

/// Bytes of an encoded hash, storage key or other word.
const WORD: usize = 33;
/// Bytes of an encoded address.
const ADDRESS: usize = 21;

/// An account, and words of its storage.
///
/// ```
/// use blockmill_rlp::ethereum::AccessListEntry;
/// use blockmill_rlp::{Decode, Encode, List};
///
/// let entry = AccessListEntry { address: &[1; 20], storage_keys: List::Values(&[[2; 32]]) };
/// let bytes = entry.encode();
/// assert_eq!(AccessListEntry::decode(&bytes), Ok(entry));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessListEntry<'a> {
    /// The account.
    pub address: &'a [u8; 20],
    /// Keys of its storage.
    pub storage_keys: List<'a, [u8; 32]>,
}

impl Encode for AccessListEntry<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        let keys = WORD * self.storage_keys.len();
        out.list_of(ADDRESS + list_len(keys), |out| {
            out.fixed(self.address);
            write_words(&self.storage_keys, out);
        });
    }
}

impl<'a> Decode<'a> for AccessListEntry<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let entry = Self { address: list.fixed()?, storage_keys: List::read(&mut list)? };
        list.finish()?;
        Ok(entry)
    }
}

/// Writes a list of words; its length follows from their number.
#[inline(always)]
pub(super) fn write_words<W: Write>(words: &List<'_, [u8; 32]>, out: &mut W) {
    match words {
        List::Values(values) => out.list_of(WORD * values.len(), |out| {
            values.iter().for_each(|word| out.fixed(word));
        }),
        encoded => encoded.write(out),
    }
}
