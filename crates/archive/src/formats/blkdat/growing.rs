//! The last record of a block file that is still being written.
//!
//! Bitcoin Core extends a block file by 16 MiB of zeros and then writes records over them, so a
//! record that is half written is followed by zeros or by the end of the file, never by another
//! record. The zeros are not obfuscated. Blocks often end with the zeros of a lock time: where such
//! a block is the last one before reserved space, a corrupt one looks like a half written one.

use std::io;
use std::path::Path;

use blockmill_platform::input_file::InputFile;

use super::files::BlockFile;
use super::open::open;
use super::probe::Shape;
use super::source::Positioned;
use super::walk::Walk;
use super::{FRAME, HEADER};
use crate::Error;

/// See [`crate::growing::is_being_written`].
pub(crate) fn is_being_written(path: &Path, offset: u64) -> Result<bool, Error> {
    let files = match open(&[path.to_path_buf()], None) {
        Ok(files) => files,
        Err(error @ Error::Io { .. }) => return Err(error),
        // no record of it is whole
        Err(_) => return Ok(true),
    };
    match files.files() {
        [file] => ends_inside(file, offset).map_err(Error::io("cannot read", path)),
        _ => Ok(false),
    }
}

fn ends_inside(block_file: &BlockFile, offset: u64) -> io::Result<bool> {
    let (file, length) = (block_file.open()?, block_file.length());
    match block_file.shape() {
        Shape::Records { .. } => {}
        // a line that is not whole has no end
        Shape::Hex => return Ok(!has_line_end(&file, offset)?),
        Shape::Headers => return Ok(length.saturating_sub(offset) < HEADER as u64),
        Shape::Raw => return Ok(false),
    }
    let start = offset.saturating_sub(FRAME);
    let mut walk = Walk::stretch(block_file, Positioned::new(&file), start, length);
    let Some(record) = walk.next_record()? else { return Ok(true) };
    let begins = record.offset - FRAME;
    if begins != offset && record.offset != offset {
        return Ok(false);
    }
    let mut stated = [0; 4];
    file.read_full_at(&mut stated, begins + 4)?;
    block_file.key().apply(&mut stated, begins + 4);
    let size = record.size.max(u32::from_le_bytes(stated));
    let end = record.offset.saturating_add(size.into());
    // where the file ends with the record, nothing of it is still to come
    Ok(end < length && walk.next_record()?.is_none() && written_end(&file, length)? < end)
}

/// Where the zeros at the end of a file begin.
fn written_end(file: &InputFile, length: u64) -> io::Result<u64> {
    const PIECE: u64 = 64 << 10;
    let (mut end, mut piece) = (length, vec![0; PIECE as usize]);
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        let bytes = &mut piece[..(end - start) as usize];
        let count = file.read_full_at(bytes, start)?;
        if let Some(last) = bytes[..count].iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn has_line_end(file: &InputFile, offset: u64) -> io::Result<bool> {
    let (mut at, mut piece) = (offset, vec![0; 64 << 10]);
    loop {
        let count = file.read_full_at(&mut piece, at)?;
        if piece[..count].contains(&b'\n') {
            return Ok(true);
        }
        at += count as u64;
        if count < piece.len() {
            return Ok(false);
        }
    }
}
