//! The Snappy framing format, as e2store records use it: one stream for each record.
//!
//! The writer's output equals that of go-ethereum: a stream identifier, then chunks of at most
//! 65,536 bytes, each stored uncompressed if compression saves less than an eighth.

use crate::snappy::{SnappyError, unpack_block};

pub(super) const IDENTIFIER: [u8; 10] =
    [0xff, 0x06, 0x00, 0x00, b's', b'N', b'a', b'P', b'p', b'Y'];
const COMPRESSED: u8 = 0x00;
const PLAIN: u8 = 0x01;
/// Chunk types from here on may be skipped: padding, reserved ones and repeated identifiers.
const SKIPPABLE: u8 = 0x80;
const CHUNK: usize = 65_536;

/// CRC-32C, rotated and offset as the format requires.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A decoder of framed streams, with reusable work space.
#[derive(Default)]
pub(crate) struct FrameDecoder {
    raw: snap::raw::Decoder,
}

impl FrameDecoder {
    /// Appends the content of `stream` to `out`, at most `limit` bytes. Returns how many were
    /// appended. After an error `out` may have a part of the content.
    pub fn unpack(
        &mut self,
        stream: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, SnappyError> {
        let Some(mut rest) = stream.strip_prefix(&IDENTIFIER) else {
            return Err(SnappyError::NoIdentifier);
        };
        let start = out.len();
        while !rest.is_empty() {
            let (kind, body) = split_chunk(&mut rest)?;
            self.unpack_any(kind, body, limit - (out.len() - start), out)?;
        }
        Ok(out.len() - start)
    }

    /// Appends the content of a chunk of any type after the stream identifier: of data, at most
    /// `room` bytes; of padding, nothing.
    pub fn unpack_any(
        &mut self,
        kind: u8,
        body: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), SnappyError> {
        match kind {
            COMPRESSED | PLAIN => self.unpack_chunk(kind, body, room, out),
            0xff if body != &IDENTIFIER[4..] => Err(SnappyError::NoIdentifier),
            SKIPPABLE.. => Ok(()),
            _ => Err(SnappyError::UnknownChunk { kind }),
        }
    }

    fn unpack_chunk(
        &mut self,
        kind: u8,
        body: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), SnappyError> {
        let Some((crc, data)) = body.split_first_chunk::<4>() else {
            return Err(SnappyError::Truncated { needed: 4, available: body.len() });
        };
        let start = out.len();
        if kind == COMPRESSED {
            unpack_block(&mut self.raw, data, room.min(CHUNK), out)?;
        } else if data.len() > CHUNK {
            return Err(SnappyError::LongChunk { found: data.len() });
        } else if data.len() > room {
            let (announced, limit) = (data.len() as u64, room as u64);
            return Err(SnappyError::Bomb { announced, limit });
        } else {
            out.extend_from_slice(data);
        }
        let (expected, found) = (u32::from_le_bytes(*crc), masked_crc(&out[start..]));
        if expected != found {
            return Err(SnappyError::Checksum { expected, found });
        }
        Ok(())
    }
}

/// Splits the first chunk off: its type and its body.
fn split_chunk<'a>(rest: &mut &'a [u8]) -> Result<(u8, &'a [u8]), SnappyError> {
    let Some((&[kind, a, b, c], after)) = rest.split_first_chunk::<4>() else {
        return Err(SnappyError::Truncated { needed: 4, available: rest.len() });
    };
    let needed = u32::from_le_bytes([a, b, c, 0]) as usize;
    if needed > after.len() {
        return Err(SnappyError::Truncated { needed, available: after.len() });
    }
    let (body, tail) = after.split_at(needed);
    *rest = tail;
    Ok((kind, body))
}

/// An encoder of framed streams, with reusable work space.
#[derive(Debug)]
pub(crate) struct FrameEncoder {
    raw: snap::raw::Encoder,
    block: Vec<u8>,
}

impl FrameEncoder {
    pub fn new() -> Self {
        Self { raw: snap::raw::Encoder::new(), block: vec![] }
    }

    /// Appends `data` as one framed stream to `out`.
    pub fn pack(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if data.is_empty() {
            return;
        }
        out.extend_from_slice(&IDENTIFIER);
        self.block.resize(snap::raw::max_compress_len(data.len().min(CHUNK)), 0);
        for plain in data.chunks(CHUNK) {
            // Fails only when the output is short or the input longer than 2^32, which cannot be.
            let packed = self.raw.compress(plain, &mut self.block).unwrap_or(usize::MAX);
            let (kind, body) = if packed >= plain.len() - plain.len() / 8 {
                (PLAIN, plain)
            } else {
                (COMPRESSED, &self.block[..packed])
            };
            let len = (body.len() as u32 + 4).to_le_bytes();
            out.extend_from_slice(&[kind, len[0], len[1], len[2]]);
            out.extend_from_slice(&masked_crc(plain).to_le_bytes());
            out.extend_from_slice(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1 << 20;

    fn pack(data: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        FrameEncoder::new().pack(data, &mut out);
        out
    }

    fn unpack(stream: &[u8], limit: usize) -> Result<Vec<u8>, SnappyError> {
        let mut out = vec![];
        FrameDecoder::default().unpack(stream, limit, &mut out).map(|_| out)
    }

    /// Bytes that do not compress, always the same.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let step = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*state >> 56) as u8
        };
        (0..len).map(|_| step(&mut state)).collect()
    }

    #[test]
    fn streams_round_trip_at_every_chunk_boundary() {
        for len in [1, 2, 100, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            for data in [vec![7; len], noise(len)] {
                assert_eq!(unpack(&pack(&data), data.len()), Ok(data));
            }
        }
    }

    #[test]
    fn what_does_not_compress_is_stored_plainly() {
        assert_eq!(pack(&noise(1000))[10], PLAIN);
        assert_eq!(pack(&[0; 1000])[10], COMPRESSED);
    }

    #[test]
    fn the_known_checksum_of_an_empty_list() {
        // The receipts record of an empty block, as in every published era1 file.
        let expected = [1, 5, 0, 0, 0xb8, 0x0e, 0xae, 0x8d, 0xc0];
        assert_eq!(pack(&[0xc0])[10..], expected);
    }

    #[test]
    fn the_limit_holds_over_all_chunks() {
        for data in [vec![7; CHUNK + 10], noise(CHUNK + 10)] {
            let error = unpack(&pack(&data), CHUNK + 9).unwrap_err();
            assert_eq!(error, SnappyError::Bomb { announced: 10, limit: 9 });
        }
    }

    #[test]
    fn padding_and_repeated_identifiers_are_skipped_and_unknown_chunks_are_not() {
        let mut stream = pack(b"abc");
        stream.extend_from_slice(&[0xfe, 2, 0, 0, 9, 9]);
        stream.extend_from_slice(&pack(b"def"));
        assert_eq!(unpack(&stream, 6).as_deref(), Ok(&b"abcdef"[..]));
        stream.extend_from_slice(&[0x02, 0, 0, 0]);
        assert_eq!(unpack(&stream, 6), Err(SnappyError::UnknownChunk { kind: 2 }));
    }

    #[test]
    fn a_flipped_bit_never_gives_other_content() {
        let stream = pack(&[&noise(40)[..], &[3; 200]].concat());
        let content = unpack(&stream, 1000).unwrap();
        for bit in 0..stream.len() * 8 {
            let mut bad = stream.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // A flip in a type byte may turn the chunk into padding; one in a copy's distance may
            // name other bytes of the same value.
            let harmless = |found: &Vec<u8>| found.is_empty() || *found == content;
            assert!(unpack(&bad, 1000).as_ref().map_or(true, harmless), "bit {bit}");
        }
    }

    #[test]
    fn streams_cut_anywhere_inside_a_chunk_are_refused() {
        let stream = pack(&noise(CHUNK + 40));
        for len in (0..IDENTIFIER.len()).chain(11..200).chain(stream.len() - 40..stream.len()) {
            assert!(unpack(&stream[..len], MAX).is_err(), "cut at {len}");
        }
    }
}
