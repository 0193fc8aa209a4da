//! Frames of lz4, one after the other.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use lz4_flex::frame::FrameDecoder;

use super::BUFFER;

/// The unpacked bytes of frames.
pub(crate) struct Frames<R: Read> {
    decoder: FrameDecoder<Source<R>>,
    ended: bool,
}

/// Bytes for the decoder, which takes an end between two blocks for the end of the frame.
struct Source<R: Read> {
    raw: BufReader<R>,
    /// Whether the decoder wanted more bytes than there are.
    exhausted: bool,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(into)?;
        self.exhausted |= count == 0 && !into.is_empty();
        Ok(count)
    }
}

impl<R: Read> Frames<R> {
    pub fn new(raw: R) -> Self {
        let raw = BufReader::with_capacity(BUFFER, raw);
        Self { decoder: FrameDecoder::new(Source { raw, exhausted: false }), ended: false }
    }

    /// The source of the bytes.
    pub fn raw(&self) -> &R {
        self.decoder.get_ref().raw.get_ref()
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !into.is_empty() {
            let count = self.decoder.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            let source = self.decoder.get_mut();
            if source.exhausted {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            // the end of a frame
            self.ended = source.raw.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}
