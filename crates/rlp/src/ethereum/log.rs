//! Logs, which contracts write to receipts (Yellow Paper, section 4.3.1).

use crate::{Decode, Encode, Error, List, Reader, Write, bytes_len, list_len};

/// Bytes of an encoded address.
const ADDRESS: usize = 21;
/// Bytes of an encoded topic.
const TOPIC: usize = 33;

/// An entry that a contract wrote.
///
/// ```
/// use blockmill_rlp::ethereum::Log;
/// use blockmill_rlp::{Decode, Encode, List};
///
/// let log = Log { address: &[1; 20], topics: List::Values(&[&[2; 32]]), data: b"data" };
/// let bytes = log.encode();
/// assert_eq!(Log::decode(&bytes), Ok(log));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log<'a> {
    /// The contract that wrote it.
    pub address: &'a [u8; 20],
    /// Words to search for; the virtual machine writes up to four.
    pub topics: List<'a, &'a [u8; 32]>,
    /// Free bytes.
    pub data: &'a [u8],
}

impl<'a> Log<'a> {
    /// Reads the fields of a log from the list that they begin.
    pub(super) fn read_fields(list: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { address: list.fixed()?, topics: List::read(list)?, data: list.bytes()? })
    }
}

impl<'a> Decode<'a> for Log<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let log = Self::read_fields(&mut list)?;
        list.finish()?;
        Ok(log)
    }
}

impl Encode for Log<'_> {
    /// The length of a log follows from the sizes of its parts.
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        let topics = TOPIC * self.topics.len();
        out.list_of(ADDRESS + list_len(topics) + bytes_len(self.data), |out| {
            out.fixed(self.address);
            out.list_of(topics, |out| match &self.topics {
                List::Values(topics) => topics.iter().for_each(|topic| out.fixed(topic)),
                List::Encoded(topics) => out.raw(topics.payload()),
            });
            out.bytes(self.data);
        });
    }
}
