//! Header streams: the RLP of headers, one after the other, plain or compressed.
//!
//! The simplest archive there is, and the one of the benchmark: reading finds where each header
//! ends and copies nothing, unpacking swaps a buffer. Bytes: `docs/formats/header-stream.md`.

use std::mem;
use std::path::Path;

use crate::stream::{self, Packed, Sink};
use crate::write::WriteBlocks;
use crate::{Chunk, Error, Part};

/// Is this a stream of headers, by its first bytes?
pub(crate) fn recognise(head: &[u8]) -> bool {
    stream::first_item(head) == Some(0xa0)
}

/// Hands the buffer of headers over to `into`, and the old buffer of `into` back to `packed`.
pub(crate) fn unpack(packed: &mut Packed, into: &mut Chunk) {
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
}

/// Writes a header stream.
#[derive(Debug)]
pub struct HeaderStreamWriter {
    sink: Sink,
}

impl HeaderStreamWriter {
    /// Begins a file that appears at `path` when it is finished; compressed when `gzip`.
    pub fn create(path: &Path, gzip: bool) -> Result<Self, Error> {
        Ok(Self { sink: Sink::create(path, gzip)? })
    }
}

impl WriteBlocks for HeaderStreamWriter {
    /// Appends the chunk's headers.
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.sink.write(&chunk.headers.bytes)
    }

    /// Makes the file complete, durable and visible.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.sink.finish()
    }
}
