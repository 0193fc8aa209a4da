//! Header streams: the RLP of headers, one after the other, plain or compressed.
//!
//! The simplest archive, and the one of the header benchmark: the reader finds the end of each
//! header and copies nothing, and unpacking swaps a buffer. Bytes: `docs/formats/header-stream.md`.

use std::mem;
use std::path::Path;

use crate::row::WriteBlocks;
use crate::stream::{self, ListFormat, Packed, Parts, Sink};
use crate::{Chunk, Error, MAX_HEADER, Part};

/// Whether the first bytes are those of a header stream.
pub(crate) fn recognise(head: &[u8]) -> bool {
    stream::first_item(head) == Some(0xa0)
}

/// Lists that are headers.
pub(crate) static LISTS: ListFormat =
    ListFormat { noun: "header", max_bytes: MAX_HEADER, is_block: false, split, unpack };

/// Returns the whole list as the header.
fn split(header: &[u8]) -> Result<Parts<'_>, blockmill_rlp::Error> {
    Ok(Parts { offset: 0, header, body: &[], access_list: &[] })
}

/// Swaps the buffer of headers into `into`, and the old buffer of `into` into `packed`.
fn unpack(packed: &mut Packed, into: &mut Chunk) -> Result<(), Error> {
    // taken out so that the old buffer keeps its length: the next read goes over it
    let mut headers = mem::take(&mut into.headers);
    into.clear();
    mem::swap(&mut headers.bytes, &mut packed.bytes);
    mem::swap(&mut headers.ends, &mut packed.ends);
    packed.ends.clear();
    into.headers = headers;
    into.unpacked_offsets = packed.unpacked;
    if let Some(file) = &packed.file {
        for i in 0..into.headers.len() {
            let offset = packed.offset + into.headers.start(i) as u64;
            into.tracks[Part::Header as usize].push(file, offset);
        }
    }
    Ok(())
}

/// A writer of a header stream.
#[derive(Debug)]
pub struct HeaderStreamWriter {
    sink: Sink,
}

impl HeaderStreamWriter {
    /// Creates a file that appears at `path` when it is finished, compressed if `gzip`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be created, and [`Error::Unwritable`] if it exists.
    pub fn create(path: &Path, gzip: bool) -> Result<Self, Error> {
        Ok(Self { sink: Sink::create(path, gzip)? })
    }
}

impl WriteBlocks for HeaderStreamWriter {
    /// Appends the chunk's headers.
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.sink.write(&chunk.headers.bytes)
    }

    /// Completes the file, makes it durable and gives it its name.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.sink.finish()
    }
}
