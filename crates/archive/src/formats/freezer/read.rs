//! Reads a freezer in order: runs of items on one thread, unpacked on any other.

use blockmill_verdict::Location;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use snap::raw::Decoder;

use super::index::Entry;
use super::table::{ACCESS_LISTS, BODIES, DIFFICULTIES, HASHES, HEADERS, RECEIPTS, Spec, Table};
use crate::chunk::PackedBlocks;
use crate::location::Track;
use crate::row::ReadBlocks;
use crate::snappy::unpack_block;
use crate::{Chunk, ChunkLimit, Column, Error, ReceiptEncoding, Want};

/// The tables that are read, in the order of [`Packed::tables`].
const TABLES: [Spec; 6] = [HEADERS, HASHES, DIFFICULTIES, BODIES, RECEIPTS, ACCESS_LISTS];

/// A reader of the blocks of one folder in a range of numbers.
///
/// The table of headers determines the blocks. Another table may begin later or end earlier (old
/// bodies and receipts get pruned): a chunk then ends where that table begins or ends, so that the
/// table has an item for each block of a chunk, or for none.
#[derive(Debug)]
pub(crate) struct Reader {
    tables: [Option<Table>; TABLES.len()],
    next: u64,
    end: u64,
}

impl Reader {
    /// Opens the tables in `folder` that are wanted.
    pub fn new(folder: &Path, want: Want, range: RangeInclusive<u64>) -> Result<Self, Error> {
        let wanted = [true, true, true, want.bodies, want.receipts, want.bodies];
        let mut tables = [const { None }; TABLES.len()];
        for ((slot, spec), wanted) in tables.iter_mut().zip(TABLES).zip(wanted) {
            *slot = if wanted { Table::open(folder, spec)? } else { None };
        }
        let headers = tables[0].as_ref().map_or(0..0, Table::range);
        let next = (*range.start()).clamp(headers.start, headers.end);
        let end = range.end().saturating_add(1).clamp(next, headers.end);
        Ok(Self { tables, next, end })
    }

    /// Reads the next chunk. False at the end.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        if self.next == self.end {
            return Ok(false);
        }
        let first = self.next;
        let (mut end, mut active) = (self.end, [false; TABLES.len()]);
        end = end.min(first.saturating_add(limit.blocks as u64));
        for (table, active) in self.tables.iter().zip(&mut active) {
            let range = table.as_ref().map_or(0..0, Table::range);
            *active = range.contains(&first);
            let bound = if first < range.start { range.start } else { range.end };
            if bound > first {
                end = end.min(bound);
            }
        }
        let mut count = (end - first) as usize;
        into.first = first;
        into.tables.iter_mut().for_each(PackedTable::clear);
        let tables = self.tables.iter_mut().zip(&mut into.tables).zip(active);
        let mut tables: Vec<_> = tables
            .filter_map(|((table, packed), active)| {
                Some((table.as_mut().filter(|_| active)?, packed))
            })
            .collect();
        for (table, packed) in &mut tables {
            table.read_entries(first, count, &mut packed.entries)?;
        }
        count = blocks_within(tables.iter().map(|(_, packed)| &**packed), count, limit.bytes);
        for (table, packed) in tables {
            packed.read_items(table, first, count)?;
        }
        self.next = first + count as u64;
        Ok(true)
    }
}

/// The number of blocks, of `count`, that fill `bytes`; at least one.
fn blocks_within<'a>(
    tables: impl Iterator<Item = &'a PackedTable> + Clone,
    count: usize,
    bytes: usize,
) -> usize {
    let mut sum = 0;
    for i in 0..count {
        sum += tables.clone().map(|table| table.item_size(i)).sum::<usize>();
        if sum >= bytes {
            return i + 1;
        }
    }
    count
}

/// Items of consecutive blocks, as they are on disk.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    first: u64,
    tables: [PackedTable; TABLES.len()],
}

/// The items of one table; empty when it has none for these blocks.
#[derive(Debug, Default)]
struct PackedTable {
    /// The entry before the first item, then one for each item.
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// The end of each item in `bytes`.
    ends: Vec<usize>,
    /// Each data file with the index of its first item here, and the offset of that item.
    files: Vec<(usize, Arc<Path>, u64)>,
}

impl PackedTable {
    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.ends.clear();
        self.files.clear();
    }

    /// Offset of item `i` in its data file.
    fn start(&self, i: usize) -> u32 {
        // The order was checked when the entries were read.
        self.entries[i + 1].start_after(self.entries[i]).unwrap_or(0)
    }

    fn item_size(&self, i: usize) -> usize {
        (self.entries[i + 1].end - self.start(i)) as usize
    }

    /// Reads the bytes of the first `count` items, in one piece from each data file. The first is
    /// item number `first`.
    fn read_items(&mut self, table: &mut Table, first: u64, count: usize) -> Result<(), Error> {
        let mut from = 0;
        while from < count {
            let file = self.entries[from + 1].file;
            let same = self.entries[from + 1..=count].iter().take_while(|e| e.file == file).count();
            let (to, start) = (from + same, self.start(from));
            let (end, base) = (self.entries[to].end, self.bytes.len());
            let last = first + to as u64 - 1;
            let path = table.read_data(file, start..end, last, &mut self.bytes)?;
            self.files.push((from, path, start.into()));
            let ends = self.entries[from + 1..=to].iter().map(|e| base + (e.end - start) as usize);
            self.ends.extend(ends);
            from = to;
        }
        Ok(())
    }

    /// Calls `each` with the bytes, the file and the offset of every item.
    fn for_each(
        &self,
        mut each: impl FnMut(&[u8], &Arc<Path>, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (i, (from, path, offset)) in self.files.iter().enumerate() {
            let to = self.files.get(i + 1).map_or(self.ends.len(), |next| next.0);
            let mut start = if *from == 0 { 0 } else { self.ends[from - 1] };
            let mut offset = *offset;
            for end in &self.ends[*from..to] {
                each(&self.bytes[start..*end], path, offset)?;
                offset += (end - start) as u64;
                start = *end;
            }
        }
        Ok(())
    }

    /// Decompresses every item into `column`.
    fn unpack(&self, spec: Spec, column: &mut Column, track: &mut Track) -> Result<(), Error> {
        let mut decoder = Decoder::new();
        self.for_each(|item, path, offset| {
            unpack_block(&mut decoder, item, spec.limit, &mut column.bytes)
                .map_err(|error| error.at(Location::new(&**path, offset), spec.what))?;
            column.end_item();
            track.push(path, offset);
            Ok(())
        })
    }
}

impl PackedBlocks for Packed {
    /// Number of blocks.
    fn blocks(&self) -> usize {
        self.tables[0].ends.len()
    }

    /// Bytes read from disk, index entries included.
    fn disk_bytes(&self) -> u64 {
        let of_table = |t: &PackedTable| t.bytes.len() + t.ends.len() * super::index::ENTRY;
        self.tables.iter().map(of_table).sum::<usize>() as u64
    }

    /// Unpacks the items into `chunk`. After an error it holds the blocks before
    /// the first bad item of any table.
    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        let [headers, hashes, difficulties, bodies, receipts, access_lists] = &self.tables;
        let [header_track, body_track, receipts_track, difficulty_track, list_track] =
            &mut chunk.tracks;
        chunk.first = Some(self.first);
        chunk.receipt_encoding = ReceiptEncoding::Storage;
        let outcomes = [
            headers.unpack(HEADERS, &mut chunk.headers, header_track),
            bodies.unpack(BODIES, &mut chunk.bodies, body_track),
            receipts.unpack(RECEIPTS, &mut chunk.receipts, receipts_track),
            unpack_hashes(hashes, &mut chunk.stated_hashes),
            unpack_difficulties(difficulties, &mut chunk.total_difficulties, difficulty_track),
            access_lists.unpack(ACCESS_LISTS, &mut chunk.access_lists, list_track),
        ];
        let unpacked = [
            chunk.headers.len(),
            chunk.bodies.len(),
            chunk.receipts.len(),
            chunk.stated_hashes.len(),
            chunk.total_difficulties.len(),
            chunk.access_lists.len(),
        ];
        let errors = outcomes.into_iter().zip(unpacked).filter_map(|(o, n)| Some((o.err()?, n)));
        match errors.min_by_key(|(_, unpacked)| *unpacked) {
            Some((error, unpacked)) => {
                chunk.truncate(unpacked);
                Err(error)
            }
            None => Ok(()),
        }
    }
}

impl ReadBlocks for Reader {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|packed| self.read(limit, packed))
    }
}

fn unpack_hashes(table: &PackedTable, hashes: &mut Vec<[u8; 32]>) -> Result<(), Error> {
    table.for_each(|item, path, offset| {
        hashes.push(item.try_into().map_err(|_| bad_hash(path, offset, item.len()))?);
        Ok(())
    })
}

fn unpack_difficulties(
    table: &PackedTable,
    difficulties: &mut Vec<[u8; 32]>,
    track: &mut Track,
) -> Result<(), Error> {
    table.for_each(|item, path, offset| {
        let mut reader = blockmill_rlp::Reader::new(item);
        let value = reader.u256().and_then(|value| reader.finish().map(|()| value.to_be_bytes()));
        let (location, what) = (|| Location::new(&**path, offset), DIFFICULTIES.what);
        difficulties.push(value.map_err(|source| Error::Rlp {
            location: location(),
            what,
            source,
        })?);
        track.push(path, offset);
        Ok(())
    })
}

fn bad_hash(path: &Path, offset: u64, len: usize) -> Error {
    Error::BadRecord {
        location: Location::new(path, offset),
        what: HASHES.what,
        expected: "32 bytes".into(),
        found: format!("{len} bytes"),
    }
}
