//! Tables: blocks of entries, an index of the blocks, a filter, and a footer that finds them.

use super::block::{BlockReader, BlockWriter};
use super::bloom::FilterWriter;
use super::{Handle, KEY_TAIL, Library, SEEK_TAIL, masked_crc};
use blockmill_verdict::{Malformed, split_array};

/// Entries are put into blocks of this size.
const BLOCK_BYTES: usize = 4096;
/// Every 16th key of a block is written in full.
const RESTART_INTERVAL: usize = 16;
/// Two handles of at most 20 bytes each, and the magic number.
pub(crate) const FOOTER_BYTES: usize = 48;
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// After each block: how it is compressed (0: not at all), and the CRC of both.
pub(crate) const BLOCK_TAIL: usize = 5;

/// Makes a table in memory.
#[derive(Debug)]
pub(crate) struct TableWriter {
    bytes: Vec<u8>,
    block: BlockWriter,
    index: BlockWriter,
    filter: FilterWriter,
    /// The last block. It is added to the index when the next key is known.
    pending: Option<Handle>,
    last: Vec<u8>,
    entry: Vec<u8>,
    /// Who asks the filter.
    library: Library,
}

impl TableWriter {
    pub(crate) fn new(library: Library) -> Self {
        TableWriter {
            bytes: Vec::new(),
            block: BlockWriter::new(RESTART_INTERVAL),
            // the index is searched, and its keys share little
            index: BlockWriter::new(1),
            filter: FilterWriter::default(),
            pending: None,
            last: Vec::new(),
            entry: Vec::new(),
            library,
        }
    }

    /// Bytes so far, without index and filter.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.block.size()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// The last key, with its tail; empty before the first.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last
    }

    /// Appends an entry. `key` has its tail and is greater than the last one.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        if let Some(handle) = self.pending.take() {
            self.index_block(handle, Some(key));
        }
        self.filter.add(&key[..key.len() - KEY_TAIL]);
        self.block.add(key, value);
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.block.size() >= BLOCK_BYTES {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        if self.block.is_empty() {
            return;
        }
        self.pending = Some(append_block(&mut self.bytes, self.block.finish()));
        self.block.clear();
        self.filter.block_at(self.bytes.len() as u64);
    }

    /// Puts a block into the index, under a short key between its last one and `next`.
    fn index_block(&mut self, handle: Handle, next: Option<&[u8]>) {
        self.entry.clear();
        handle.write(&mut self.entry);
        let last = &self.last[..self.last.len() - KEY_TAIL];
        match next.and_then(|next| separator(last, &next[..next.len() - KEY_TAIL])) {
            Some(mut key) => {
                key.extend_from_slice(&SEEK_TAIL.to_le_bytes());
                self.index.add(&key, &self.entry);
            }
            None => self.index.add(&self.last, &self.entry),
        }
    }

    /// Hands out the whole table.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.end_block();
        if let Some(handle) = self.pending.take() {
            self.index_block(handle, None);
        }
        let filter = append_block(&mut self.bytes, self.filter.finish());
        let mut names = BlockWriter::new(RESTART_INTERVAL);
        self.entry.clear();
        filter.write(&mut self.entry);
        names.add(self.library.filter_name(), &self.entry);
        let names = append_block(&mut self.bytes, names.finish());
        let index = append_block(&mut self.bytes, self.index.finish());
        let footer = self.bytes.len();
        names.write(&mut self.bytes);
        index.write(&mut self.bytes);
        self.bytes.resize(footer + FOOTER_BYTES - 8, 0);
        self.bytes.extend_from_slice(&MAGIC.to_le_bytes());
        &self.bytes
    }

    /// Begins the next table.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.index.clear();
        self.filter.clear();
        self.last.clear();
    }
}

/// The shortest key that is not below `last` and is below `next`, if it is shorter than `last`.
fn separator(last: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let shared = last.iter().zip(next).take_while(|(a, b)| a == b).count();
    let (byte, limit) = (*last.get(shared)?, *next.get(shared)?);
    // the last byte of a key alone would not make it shorter
    if shared + 1 == last.len() || byte.checked_add(1)? >= limit {
        return None;
    }
    let mut key = last[..=shared].to_vec();
    key[shared] = byte + 1;
    Some(key)
}

/// Appends a block with its tail.
fn append_block(bytes: &mut Vec<u8>, block: &[u8]) -> Handle {
    let handle = Handle { offset: bytes.len() as u64, size: block.len() as u64 };
    bytes.extend_from_slice(block);
    bytes.push(0);
    let crc = crc32c::crc32c(&bytes[handle.offset as usize..]);
    bytes.extend_from_slice(&masked_crc(crc).to_le_bytes());
    handle
}

/// The index of a table, from its footer.
pub(crate) fn read_footer(footer: &[u8; FOOTER_BYTES]) -> Result<Handle, Malformed> {
    read_handles(footer).map(|(_, index)| index)
}

/// The block with the names of filters and the index, from the footer.
pub(crate) fn read_handles(footer: &[u8; FOOTER_BYTES]) -> Result<(Handle, Handle), Malformed> {
    let from = &mut &footer[FOOTER_BYTES - 8..];
    let found = u64::from_le_bytes(*split_array(from, "the magic number of a table")?);
    if found != MAGIC {
        let what = "the magic number of a table";
        return Err(Malformed::Unexpected { what, expected: MAGIC, found });
    }
    let mut handles = &footer[..FOOTER_BYTES - 8];
    Ok((Handle::read(&mut handles)?, Handle::read(&mut handles)?))
}

/// Verifies the checksum at the end of a block; returns its bytes, with the compression at their
/// end.
pub(crate) fn expect_checksum(bytes: &[u8]) -> Result<&[u8], Malformed> {
    let (needed, available) = (BLOCK_TAIL as u64, bytes.len() as u64);
    let truncated = Malformed::Truncated { what: "a block", needed, available };
    let (body, crc) = bytes.split_last_chunk().ok_or(truncated)?;
    let (expected, found) = (masked_crc(crc32c::crc32c(body)), u32::from_le_bytes(*crc));
    if expected != found {
        let (expected, found) = (expected.into(), found.into());
        return Err(Malformed::Unexpected { what: "the checksum of a block", expected, found });
    }
    Ok(body)
}

/// Checks a block with its tail, and begins with its entries.
pub(crate) fn read_block(mut bytes: Vec<u8>) -> Result<BlockReader, Malformed> {
    let (needed, available) = (BLOCK_TAIL as u64, bytes.len() as u64);
    let truncated = Malformed::Truncated { what: "a block", needed, available };
    let (compression, body) = expect_checksum(&bytes)?.split_last().ok_or(truncated)?;
    if *compression != 0 {
        let (what, found) = ("the compression of a block", (*compression).into());
        return Err(Malformed::Unexpected { what, expected: 0, found });
    }
    let size = body.len();
    bytes.truncate(size);
    BlockReader::new(bytes)
}
