//! RLP exports, as `geth export` writes them: one list `[header, transactions, ommers]` for each
//! block, followed by the items of later forks. Bytes: `docs/formats/rlp-export.md`.

use std::path::Path;

use blockmill_rlp::{Encode, RawList, Reader};

use crate::chunk::PackedBlocks;
use crate::row::WriteBlocks;
use crate::stream::{self, ListFormat, Packed, Parts, Sink};
use crate::{Chunk, Error, MAX_BODY, MAX_HEADER, Part};

/// Whether the first bytes are those of an RLP export.
pub(crate) fn recognise(head: &[u8]) -> bool {
    matches!(stream::first_item(head), Some(0xc0..))
}

/// Lists that are blocks.
pub(crate) static LISTS: ListFormat =
    ListFormat { noun: "block", max_bytes: MAX_HEADER + MAX_BODY, is_block: true, split, unpack };

/// Cuts a block. Only the outermost lists are decoded.
fn split(block: &[u8]) -> Result<Parts<'_>, blockmill_rlp::Error> {
    let mut items = Reader::new(block).list()?;
    let offset = items.offset();
    items.list()?;
    let body = items.offset();
    // transactions and ommers, and from Shanghai on withdrawals (EIP-4895)
    items.list()?;
    items.list()?;
    if !items.is_empty() {
        items.list()?;
    }
    let end = items.offset();
    if !items.is_empty() {
        items.list()?;
    }
    let access_list = &block[end..items.offset()];
    items.finish()?;
    Ok(Parts { offset, header: &block[offset..body], body: &block[body..end], access_list })
}

/// Splits blocks into headers and bodies, which get a list prefix of their own.
fn unpack(packed: &mut Packed, into: &mut Chunk) -> Result<(), Error> {
    into.clear();
    let Some(file) = &packed.file else { return Ok(()) };
    into.unpacked_offsets = packed.unpacked;
    into.begins_at = Some((file.clone(), packed.offset));
    for i in 0..packed.blocks() {
        let block = packed.item(i);
        let Parts { offset, header, body, access_list } = split(block).map_err(|source| {
            let (location, what) = (packed.location(i), "block");
            Error::Rlp { location, what, source }
        })?;
        let start = packed.offset + (packed.start(i) + offset) as u64;
        into.headers.push(header);
        into.track(Part::Header).push(file, start);
        if packed.bodies {
            let bodies = &mut into.bodies.bytes;
            // reserve for more blocks, since `encode_into` reserves exactly
            bodies.reserve(blockmill_rlp::list_len(body.len()));
            RawList(&[body]).encode_into(bodies);
            into.bodies.push(&[]);
            into.track(Part::Body).push(file, start + header.len() as u64);
            into.push_access_list(access_list);
            let at = start + (header.len() + body.len()) as u64;
            into.track(Part::AccessList).push(file, at);
        }
    }
    Ok(())
}

/// A writer of an RLP export.
#[derive(Debug)]
pub struct RlpExportWriter {
    sink: Sink,
    /// The buffer of one block.
    block: Vec<u8>,
}

impl RlpExportWriter {
    /// Creates a file that appears at `path` when it is finished, compressed if `gzip`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be created, and [`Error::Unwritable`] if it exists.
    pub fn create(path: &Path, gzip: bool) -> Result<Self, Error> {
        Ok(Self { sink: Sink::create(path, gzip)?, block: vec![] })
    }

    fn unwritable(&self, expected: String, found: String) -> Error {
        Error::Unwritable { path: self.sink.path().to_path_buf(), expected, found }
    }
}

impl WriteBlocks for RlpExportWriter {
    /// Appends the chunk's blocks, which must have bodies.
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        if chunk.bodies.len() != chunk.headers.len() {
            return Err(self.unwritable(
                format!("a body for each of {} headers", chunk.headers.len()),
                format!("{} bodies", chunk.bodies.len()),
            ));
        }
        for (i, (header, body)) in chunk.headers.iter().zip(chunk.bodies.iter()).enumerate() {
            let items = match Reader::new(body).list() {
                Ok(list) => list,
                Err(e) => {
                    return Err(self.unwritable("a body that is a list".into(), e.to_string()));
                }
            };
            let access_list = chunk.access_list(i);
            if !access_list.is_empty() && !has_withdrawals(items.clone()) {
                let expected = "withdrawals in a block with a block access list";
                return Err(self.unwritable(expected.into(), "none".into()));
            }
            self.block.clear();
            RawList(&[header, items.rest(), access_list]).encode_into(&mut self.block);
            self.sink.write(&self.block)?;
        }
        Ok(())
    }

    /// Completes the file, makes it durable and gives it its name.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.sink.finish()
    }
}

/// Whether a body has the item that comes before a block access list.
fn has_withdrawals(mut body: Reader<'_>) -> bool {
    body.item().is_ok() && body.item().is_ok() && !body.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list whose items are empty lists.
    fn of_lists(count: u8) -> Vec<u8> {
        let mut list = vec![0xc0 + count];
        list.resize(1 + usize::from(count), 0xc0);
        list
    }

    #[test]
    fn a_body_is_two_or_three_lists_and_no_access_list() {
        let cut =
            |count| split(&of_lists(count)).map(|p| (p.body.len(), !p.access_list.is_empty()));
        assert_eq!(cut(3), Ok((2, false)));
        assert_eq!(cut(4), Ok((3, false)));
        assert_eq!(cut(5), Ok((3, true)));
    }

    #[test]
    fn rejects_blocks_of_too_few_or_too_many_items_or_with_bytes_for_lists() {
        for count in [0, 1, 2, 6] {
            split(&of_lists(count)).unwrap_err();
        }
        for position in 1..6 {
            let mut block = of_lists(5);
            block[position] = 0x80;
            assert_eq!(split(&block).unwrap_err().kind, blockmill_rlp::ErrorKind::ExpectedList);
        }
    }
}
