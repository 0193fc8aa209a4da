//! What RLP exports and header streams share: files of RLP lists, one after the other, plain or
//! compressed.

mod inspect;
mod items;
mod known;
mod reader;
mod sink;

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use crate::chunk::PackedBlocks;
use crate::{Chunk, ChunkLimit, Error, Format, MAX_BODY, MAX_HEADER, headers, rlp_export};

pub(crate) use inspect::inspect;
pub(crate) use items::Items;
pub(crate) use reader::Reader;
pub(crate) use sink::Sink;

/// Whole RLP lists of one chunk, all from one file.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// The file; none before the first read.
    pub file: Option<Arc<Path>>,
    /// True when offsets count the bytes that a compressed file unpacks to.
    pub unpacked: bool,
    /// Offset of the first list in the file.
    pub offset: u64,
    /// The lists.
    pub bytes: Vec<u8>,
    /// Where each list ends in `bytes`.
    pub ends: Vec<u32>,
    /// Bytes that were read from disk, compressed ones of a compressed file.
    pub disk_bytes: u64,
    /// Whether bodies are wanted too.
    pub bodies: bool,
    /// Are the lists headers, and not blocks?
    pub bare: bool,
}

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.ends.len()
    }

    fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    fn unpack(&mut self, into: &mut Chunk) -> Result<(), Error> {
        if self.bare {
            headers::unpack(self, into);
            return Ok(());
        }
        into.clear();
        rlp_export::unpack(self, into)
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

    /// Takes the lists from `first` on away.
    fn split_off(&mut self, first: usize) -> Self {
        let start = self.start(first);
        let ends = self.ends.drain(first..).map(|end| end - start as u32).collect();
        let bytes = self.bytes[start..].to_vec();
        self.bytes.truncate(start);
        let Self { file, unpacked, bodies, bare, .. } = self;
        let offset = self.offset + start as u64;
        let (file, unpacked, bodies, bare) = (file.clone(), *unpacked, *bodies, *bare);
        Self { file, unpacked, offset, bytes, ends, disk_bytes: 0, bodies, bare }
    }

    /// Keeps the lists from `first` to before `end` only.
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

/// What one list is, for error texts, and the most bytes that it may have.
fn item_kind(format: Format) -> (&'static str, usize) {
    match format {
        Format::RlpExport => ("block", MAX_HEADER + MAX_BODY),
        _ => ("header", MAX_HEADER),
    }
}

/// Bytes of a header's fields before the difficulty, and where each of these begins with what.
const HEAD: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;
const HEAD_PREFIXES: [(usize, u8); 7] =
    [(0, 0xa0), (33, 0xa0), (66, 0x94), (87, 0xa0), (120, 0xa0), (153, 0xa0), (186, 0xb9)];

/// The block number in one list; nothing else of it is decoded.
fn number_of(format: Format, item: &[u8]) -> Result<u64, blockmill_rlp::Error> {
    let mut header = blockmill_rlp::Reader::new(item).list()?;
    if format == Format::RlpExport {
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

/// Number of the first block of a file; none when the file is empty.
pub(crate) fn first_number(format: Format, path: &Path) -> Result<Option<u64>, Error> {
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

/// The first byte of the first item in the first list. It tells an export from a header stream: a
/// list, the header, in the one, and a hash of 32 bytes in the other.
pub(crate) fn first_item(head: &[u8]) -> Option<u8> {
    let prefix = match head.first() {
        Some(0xc0..=0xf7) => 1,
        Some(long @ 0xf8..) => 1 + usize::from(long - 0xf7),
        _ => head.len(),
    };
    head.get(prefix).copied()
}
