//! Unpacks a record that is too large for the memory, piece by piece.

use super::file::RecordFile;
use super::framing::{FrameDecoder, IDENTIFIER};
use super::{HEADER, not_cut};
use crate::Error;
use crate::snappy::SnappyError;

/// The most bytes of a piece: those of a chunk of the framing format.
const PIECE: usize = 65_536;

/// Types of chunks that have no meaning yet.
const UNKNOWN: std::ops::Range<u8> = 0x80..0xfe;

/// Unpacks the record of `file` at `offset`, which is a framed Snappy stream, and hands its content
/// to `take` in pieces of at most 64 KiB.
///
/// # Errors
///
/// Returns [`Error::Io`] if the file cannot be read, the error of the record or of its first
/// corrupt chunk, and the error of `take`.
pub(crate) fn unpack_pieces(
    file: &RecordFile,
    offset: u64,
    what: &'static str,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let location = || file.location(offset);
    let end = file.record_at(offset, file.size).map_err(not_cut)?.1;
    let (mut frames, mut bytes, mut piece) = (FrameDecoder::default(), vec![], vec![]);
    let mut at = offset + HEADER as u64;
    while at < end || at == offset + HEADER as u64 {
        let (kind, body_at, after) = chunk_at(file, at, end, &mut bytes)
            .and_then(|found| found.map_err(|error| error.at(location(), what)))?;
        bytes.clear();
        file.read(body_at, after, &mut bytes)?;
        if at == offset + HEADER as u64 && (kind != IDENTIFIER[0] || bytes != IDENTIFIER[4..]) {
            return Err(SnappyError::NoIdentifier.at(location(), what));
        }
        // chunks that a reader may skip are no padding, and would hide a part of the content
        if UNKNOWN.contains(&kind) {
            return Err(SnappyError::UnknownChunk { kind }.at(location(), what));
        }
        piece.clear();
        let unpacked = frames.unpack_any(kind, &bytes, PIECE, &mut piece);
        unpacked.map_err(|error| error.at(location(), what))?;
        take(&piece)?;
        at = after;
    }
    Ok(())
}

/// Type of the chunk at `at`, the offset of its body, and the offset after it.
fn chunk_at(
    file: &RecordFile,
    at: u64,
    end: u64,
    bytes: &mut Vec<u8>,
) -> Result<Result<(u8, u64, u64), SnappyError>, Error> {
    let available = end - at;
    bytes.clear();
    file.read(at, at + available.min(4), bytes)?;
    let Some(&[kind, a, b, c]) = bytes.first_chunk() else {
        return Ok(Err(SnappyError::Truncated { needed: 4, available: bytes.len() }));
    };
    let (body, needed) = (at + 4, u32::from_le_bytes([a, b, c, 0]));
    if u64::from(needed) > end - body {
        let (needed, available) = (needed as usize, (end - body) as usize);
        return Ok(Err(SnappyError::Truncated { needed, available }));
    }
    Ok(Ok((kind, body, body + u64::from(needed))))
}
