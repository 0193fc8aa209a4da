//! Files of RLP lists, one after the other, plain or compressed: the common part of RLP exports
//! and header streams.

mod inspect;
mod items;
mod known;
mod reader;
mod sink;

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use crate::chunk::PackedBlocks;
use crate::{Chunk, ChunkLimit, Error};

pub(crate) use inspect::inspect;
pub(crate) use items::Items;
pub(crate) use reader::Reader;
pub(crate) use sink::Sink;

/// A format of RLP lists.
#[derive(Debug)]
pub(crate) struct ListFormat {
    /// What one list is, for error texts.
    pub noun: &'static str,
    /// The largest list that is read, in bytes.
    pub max_bytes: usize,
    /// Whether a list is a block, whose first item is the header; else it is a header.
    pub is_block: bool,
    /// Cuts a list into the parts of a block.
    pub split: fn(&[u8]) -> Result<Parts<'_>, blockmill_rlp::Error>,
    /// Moves the lists of a chunk into columns.
    pub unpack: fn(&mut Packed, &mut Chunk) -> Result<(), Error>,
}

/// A block cut into its parts, all borrowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// Offset of the header in the block.
    pub offset: usize,
    /// The header's RLP.
    pub header: &'a [u8],
    /// The items of the body without a list prefix; empty if the list is a header.
    pub body: &'a [u8],
    /// The block access list after the body (EIP-7928; geth 1.17 exports it); empty if there is
    /// none. It is no part of the body.
    pub access_list: &'a [u8],
}

/// Whole RLP lists of one chunk, all from one file.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// The file; `None` before the first read.
    pub file: Option<Arc<Path>>,
    /// True when offsets count the bytes that a compressed file unpacks to.
    pub unpacked: bool,
    /// Offset of the first list in the file.
    pub offset: u64,
    /// The lists.
    pub bytes: Vec<u8>,
    /// The end of each list in `bytes`.
    pub ends: Vec<u32>,
    /// Bytes that were read from disk, compressed ones of a compressed file.
    pub disk_bytes: u64,
    /// Whether bodies are wanted too.
    pub bodies: bool,
    /// The format of the lists; `None` before the first read.
    pub format: Option<&'static ListFormat>,
}

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.ends.len()
    }

    fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    fn unpack(&mut self, into: &mut Chunk) -> Result<(), Error> {
        let Some(format) = self.format else {
            into.clear();
            return Ok(());
        };
        (format.unpack)(self, into)
    }
}

impl Packed {
    /// Start of list `i` in `bytes`.
    pub fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] as usize }
    }

    /// List `i`.
    pub fn item(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }

    /// The location of list `i`.
    pub fn location(&self, i: usize) -> Location {
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        let offset = self.offset + self.start(i) as u64;
        Location { file: file.to_path_buf(), offset, unpacked: self.unpacked }
    }

    /// Splits off the lists from `first` on.
    fn split_off(&mut self, first: usize) -> Self {
        let start = self.start(first);
        let ends = self.ends.drain(first..).map(|end| end - start as u32).collect();
        let bytes = self.bytes[start..].to_vec();
        self.bytes.truncate(start);
        let Self { file, unpacked, bodies, format, .. } = self;
        let offset = self.offset + start as u64;
        let (file, unpacked, bodies, format) = (file.clone(), *unpacked, *bodies, *format);
        Self { file, unpacked, offset, bytes, ends, disk_bytes: 0, bodies, format }
    }

    /// Retains only the lists from `first` to before `end`.
    fn keep(&mut self, first: usize, end: usize) {
        let start = self.start(first);
        self.ends.truncate(end);
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
        self.bytes.drain(..start.min(self.bytes.len()));
        self.ends.drain(..first.min(self.ends.len()));
        self.ends.iter_mut().for_each(|end| *end -= start as u32);
        self.offset += start as u64;
    }
}

/// Bytes of a header's fields before the difficulty, with the offset and the prefix of each field.
const HEAD: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;
const HEAD_PREFIXES: [(usize, u8); 7] =
    [(0, 0xa0), (33, 0xa0), (66, 0x94), (87, 0xa0), (120, 0xa0), (153, 0xa0), (186, 0xb9)];

/// The block number in one list; nothing else of it is decoded.
fn number_of(format: &ListFormat, item: &[u8]) -> Result<u64, blockmill_rlp::Error> {
    let mut header = blockmill_rlp::Reader::new(item).list()?;
    if format.is_block {
        header = header.list()?;
    }
    // parent, ommers, beneficiary, three roots, bloom: of one size in every header
    let fields = header.rest();
    if fields.len() > HEAD && HEAD_PREFIXES.iter().all(|(at, prefix)| fields[*at] == *prefix) {
        header = blockmill_rlp::Reader::with_base(&fields[HEAD..], header.offset() + HEAD);
    } else {
        for _ in 0..7 {
            header.item()?;
        }
    }
    // difficulty
    header.item()?;
    header.u64()
}

/// Number of the first block of a file; `None` if the file is empty.
pub(crate) fn first_number(format: &'static ListFormat, path: &Path) -> Result<Option<u64>, Error> {
    let mut packed = Packed::default();
    let mut items = Items::open(format, path)?;
    if !items.read(ChunkLimit { blocks: 1, bytes: 0 }, &mut packed)? {
        return Ok(None);
    }
    let what = "block number";
    number_of(format, packed.item(0)).map(Some).map_err(|source| Error::Rlp {
        location: packed.location(0),
        what,
        source,
    })
}

/// The first byte of the first item in the first list. It distinguishes exports from header
/// streams: a list (the header) in an export, a hash of 32 bytes in a header stream.
pub(crate) fn first_item(head: &[u8]) -> Option<u8> {
    let prefix = match head.first() {
        Some(0xc0..=0xf7) => 1,
        Some(long @ 0xf8..) => 1 + usize::from(long - 0xf7),
        _ => head.len(),
    };
    head.get(prefix).copied()
}
