//! Converts one archive format into another.
//!
//! Formats differ in what they store: receipts with or without bloom and type, total difficulty,
//! the genesis block. What the target needs and the source lacks is computed where it follows from
//! the rest, and is an error where it does not.

mod error;
mod executed;

pub use error::ConvertError;
pub use executed::{convert_executed, needs_execution};

use crate::U256;
use crate::body::BodyView;
use crate::body::receipts;
use crate::encoding::{body_cause, header_cause};
use crate::fault::{Cause, Fault};
use crate::header::{EMPTY_ROOT, HeaderView};
use crate::link::{BlockId, gaps};
use crate::params::{ChainSpec, Fork};
use crate::rule::{Rule, Violation};
use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Column, Format, Packed, Part, ReceiptEncoding, Want,
    WriteOptions,
};
use blockmill_pipeline::Cancel;
use std::path::{Path, PathBuf};

/// What to write.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// The chain, if it is known: its genesis block and name.
    pub spec: Option<&'a ChainSpec>,
    /// The format to write.
    pub format: Format,
    /// Compress with gzip, where the format can.
    pub gzip: bool,
    /// First block; `None` for the archive's first.
    pub from: Option<u64>,
    /// Last block; `None` for the archive's last.
    pub until: Option<u64>,
    /// era1, ere: replace files of the same eras.
    pub replace: bool,
    /// Set when the conversion should stop.
    pub cancel: &'a Cancel,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// First and last block.
    pub range: (u64, u64),
    /// Block access lists (EIP-7928) that were left out, as the format has no place for them.
    pub lists_left_out: u64,
    /// Blocks without receipts, in a format that can leave them out: the archive has none.
    pub without_receipts: u64,
    /// Blocks that came again and were skipped, if any did.
    pub note: Option<String>,
}

/// Writes the blocks of `archive` to `out`. Encodings are checked, the rules of the chain are not.
pub fn convert(
    archive: &Archive,
    conversion: &Conversion<'_>,
    out: &Path,
) -> Result<Converted, ConvertError> {
    let network = conversion.spec.map_or(String::new(), |spec| spec.name.clone());
    let options = WriteOptions { gzip: conversion.gzip, network, replace: conversion.replace };
    let mut writer = ArchiveWriter::create(conversion.format, out, &options)?;
    let mut state = State::new(archive, *conversion)?;
    let bodies = conversion.format.parts().bodies;
    let want = Want { bodies, receipts: state.needs_receipts() };
    let mut reader = archive.reader(
        want,
        ChunkLimit::default(),
        state.read_from..=conversion.until.unwrap_or(u64::MAX),
    )?;
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    if let Some(genesis) = state.genesis_chunk()? {
        writer.append(&genesis)?;
    }
    let live = conversion.cancel.live();
    live.enter("convert", archive.disk_bytes());
    while reader.read(&mut packed)? {
        if conversion.cancel.is_cancelled() {
            return Err(ConvertError::Stopped);
        }
        live.advance(packed.disk_bytes());
        packed.unpack(&mut chunk)?;
        state.complete(&mut chunk)?;
        if chunk.blocks() > 0 {
            writer.append(&chunk)?;
        }
    }
    writer.finish()?;
    match (state.first, state.next) {
        (Some(first), Some(next)) => {
            let State { lists_left_out, without_receipts, .. } = state;
            let range = (first, next - 1);
            Ok(Converted { range, lists_left_out, without_receipts, note: reader.note() })
        }
        _ => Err(ConvertError::Empty),
    }
}

/// The total difficulty before block `first` of a store; `None` if the store does not know the
/// total difficulty of its last block.
fn total_before(archive: &Archive, first: u64) -> Result<Option<U256>, ConvertError> {
    let Some(last) = archive.last_total_difficulty() else { return Ok(None) };
    let mut reader = archive.reader(Want::default(), ChunkLimit::default(), first..=u64::MAX)?;
    let (mut packed, mut chunk, mut sum) = (Packed::new(), Chunk::new(), U256::ZERO);
    let mut number = first;
    while reader.read(&mut packed)? {
        packed.unpack(&mut chunk)?;
        for (i, header) in chunk.headers.iter().enumerate() {
            let header = HeaderView::decode(header)
                .map_err(|error| fault(&chunk, Part::Header, i, number, Cause::Header(error)))?;
            (sum, number) = (sum.saturating_add(header.difficulty), header.number + 1);
        }
    }
    Ok(U256::from_be_bytes(last).checked_sub(sum))
}

/// What is carried from chunk to chunk.
struct State<'a> {
    conversion: Conversion<'a>,
    read_from: u64,
    starts_at_one: bool,
    total: Option<U256>,
    first: Option<u64>,
    next: Option<u64>,
    /// Header and file of the last block of the chunk before.
    last: Option<(Vec<u8>, Option<PathBuf>)>,
    lists_left_out: u64,
    without_receipts: u64,
}

impl<'a> State<'a> {
    fn new(archive: &Archive, conversion: Conversion<'a>) -> Result<Self, ConvertError> {
        let first = archive.range().map_or(0, |(first, _)| first);
        let from = conversion.from.unwrap_or(0).max(first);
        let parts = conversion.format.parts();
        let sums = parts.total_difficulties && !archive.has_total_difficulties();
        // totals are sums over all blocks, so the sum begins with the archive
        let read_from = if sums { 0 } else { conversion.from.unwrap_or(0) };
        let starts_at_one = from == 1 && first == 1 && parts.genesis;
        let total = if sums && first > 1 { total_before(archive, first)? } else { None };
        Ok(Self {
            conversion,
            read_from,
            starts_at_one,
            total,
            first: None,
            next: None,
            last: None,
            lists_left_out: 0,
            without_receipts: 0,
        })
    }

    fn needs_receipts(&self) -> bool {
        self.conversion.format.parts().receipts.is_some()
    }

    fn lacking(&self, block: u64, what: &'static str) -> ConvertError {
        ConvertError::Lacking { block, what, format: self.conversion.format }
    }

    /// Block 0, if the source leaves it out and the target begins with it.
    fn genesis_chunk(&mut self) -> Result<Option<Chunk>, ConvertError> {
        if !self.starts_at_one {
            return Ok(None);
        }
        let Some(spec) = self.conversion.spec else {
            return Err(self.lacking(0, "a genesis block"));
        };
        let mut chunk = Chunk::new();
        chunk.first = Some(0);
        chunk.headers.push(&spec.genesis.raw);
        let header = HeaderView::decode(&spec.genesis.raw).ok();
        let withdrawals = header.is_some_and(|header| header.withdrawals_root.is_some());
        chunk.bodies.push(if withdrawals {
            &[0xc3, 0xc0, 0xc0, 0xc0]
        } else {
            &[0xc2, 0xc0, 0xc0]
        });
        chunk.receipts.push(&[0xc0]);
        chunk.receipt_encoding = self.conversion.format.parts().receipts.unwrap_or_default();
        let total = header.map_or(U256::ZERO, |header| header.difficulty);
        chunk.total_difficulties.push(total.to_be_bytes());
        (self.total, self.first, self.next) = (Some(total), Some(0), Some(1));
        Ok(Some(chunk))
    }

    /// Fills in what the target stores, and drops what it does not or what was not asked for.
    fn complete(&mut self, chunk: &mut Chunk) -> Result<(), ConvertError> {
        let blocks = chunk.headers.len();
        let parts = self.conversion.format.parts();
        let mut skip = 0;
        let mut totals = Vec::with_capacity(blocks);
        for i in 0..blocks {
            let header = self.decoded(chunk, i)?;
            let (number, difficulty) = (header.number, header.difficulty);
            if self.conversion.from.is_some_and(|from| number < from) {
                skip = i + 1;
            } else if self.first.is_none() {
                self.first = Some(number);
            }
            let before = match (self.total, number) {
                (Some(total), _) => Some(total),
                (None, 0) => Some(U256::ZERO),
                (None, _) => None,
            };
            let stated = chunk.total_difficulties.get(i).map(|t| U256::from_be_bytes(*t));
            self.total = stated.or(before.map(|total| total.saturating_add(difficulty)));
            match self.total {
                Some(total) => totals.push(total.to_be_bytes()),
                // after the merge, a format may leave it out
                None if parts.total_difficulties && !(parts.optional && difficulty.is_zero()) => {
                    return Err(self.lacking(number, "a total difficulty"));
                }
                None => {}
            }
            self.next = Some(number + 1);
        }
        chunk.total_difficulties = totals;
        if !parts.access_lists {
            let lists = chunk.access_lists.iter().skip(skip).filter(|list| !list.is_empty());
            self.lists_left_out += lists.count() as u64;
            chunk.access_lists.clear();
        }
        self.remember_last(chunk);
        if parts.bodies && chunk.bodies.len() < blocks {
            let block = self.next.unwrap_or(0).saturating_sub((blocks - chunk.bodies.len()) as u64);
            return Err(self.lacking(block, "bodies"));
        }
        if self.needs_receipts() {
            self.complete_receipts(chunk)?;
        }
        if skip > 0 {
            drop_first(chunk, skip);
        }
        Ok(())
    }

    /// Header `i`, which must follow the one before.
    fn decoded<'c>(&self, chunk: &'c Chunk, i: usize) -> Result<HeaderView<'c>, ConvertError> {
        let block = self.next.unwrap_or(0);
        let raw = chunk.headers.get(i);
        let header = HeaderView::decode(raw)
            .map_err(|error| fault(chunk, Part::Header, i, block, header_cause(raw, error)))?;
        match self.next {
            Some(next) if next != header.number => {
                let cause = match self.gap(chunk, i, next, &header) {
                    Some(gap) => Cause::Archive(gap),
                    None => Cause::Rule(Violation::new(Rule::Number, next, header.number)),
                };
                Err(fault(chunk, Part::Header, i, next, cause))
            }
            _ => Ok(header),
        }
    }

    /// The gap before header `i`, if a block is missing there.
    fn gap(
        &self,
        chunk: &Chunk,
        i: usize,
        next: u64,
        header: &HeaderView<'_>,
    ) -> Option<blockmill_archive::Error> {
        let (raw, file) = match i.checked_sub(1) {
            Some(i) => (chunk.headers.get(i), file_of(chunk, i)),
            None => self.last.as_ref().map(|(raw, file)| (&raw[..], file.clone()))?,
        };
        let last = BlockId {
            number: next.checked_sub(1)?,
            hash: blockmill_rlp::ethereum::block_hash(raw),
        };
        gaps::before(header, chunk.location(Part::Header, i)?, last, file)
    }

    fn remember_last(&mut self, chunk: &Chunk) {
        let Some(i) = chunk.headers.len().checked_sub(1) else { return };
        self.last = Some((chunk.headers.get(i).to_vec(), file_of(chunk, i)));
    }

    /// Turns receipts into the target's encoding; blocks without transactions need none.
    fn complete_receipts(&mut self, chunk: &mut Chunk) -> Result<(), ConvertError> {
        let target = self.conversion.format.parts().receipts.unwrap_or_default();
        let present = chunk.receipts.len();
        if present == chunk.blocks() && chunk.receipt_encoding == target {
            return Ok(());
        }
        let mut column = Column::new();
        for i in 0..chunk.blocks() {
            let block = self.next.unwrap_or(0).saturating_sub((chunk.blocks() - i) as u64);
            if i < present {
                put_receipts(chunk, i, block, target, &mut column.bytes)?;
            } else if self.decoded_again(chunk, i)?.receipts_root == &EMPTY_ROOT {
                column.bytes.push(0xc0);
            } else if self.conversion.format.parts().optional {
                self.without_receipts += chunk.blocks() as u64;
                chunk.receipts.clear();
                return Ok(());
            } else {
                return Err(self.lacking(block, "receipts"));
            }
            column.end_item();
        }
        chunk.receipts = column;
        chunk.receipt_encoding = target;
        Ok(())
    }

    /// Header `i`, which [`State::decoded`] has accepted before.
    fn decoded_again<'c>(
        &self,
        chunk: &'c Chunk,
        i: usize,
    ) -> Result<HeaderView<'c>, ConvertError> {
        let raw = chunk.headers.get(i);
        let block = self.next.unwrap_or(0);
        HeaderView::decode(raw)
            .map_err(|error| fault(chunk, Part::Header, i, block, header_cause(raw, error)))
    }
}

/// Appends the receipts of block `i` in the encoding `target`.
fn put_receipts(
    chunk: &Chunk,
    i: usize,
    block: u64,
    target: ReceiptEncoding,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    let list = chunk.receipts.get(i);
    let source = chunk.receipt_encoding;
    let converted = match (source, target) {
        (source, target) if source == target => {
            out.extend_from_slice(list);
            Ok(())
        }
        (ReceiptEncoding::Storage, _) => {
            let raw = chunk.bodies.get(i);
            // the rules of the chain are not known here
            let newest = Fork::ALL[Fork::ALL.len() - 1];
            let body = BodyView::decode(raw).map_err(|error| {
                fault(chunk, Part::Body, i, block, body_cause(raw, error, newest))
            })?;
            receipts::recode(list, (source, target), body.transaction_types(), out)
        }
        _ => receipts::recode(list, (source, target), [], out),
    };
    converted.map_err(|error| {
        let violation = Violation::new(Rule::ReceiptEncoding, "well-formed receipts", error);
        fault(chunk, Part::Receipts, i, block, Cause::Rule(violation))
    })
}

fn fault(chunk: &Chunk, part: Part, i: usize, block: u64, cause: Cause) -> ConvertError {
    let location = chunk.location(part, i);
    ConvertError::Fault(Box::new(Fault { block, hash: None, location, cause }))
}

fn file_of(chunk: &Chunk, i: usize) -> Option<PathBuf> {
    chunk.location(Part::Header, i).map(|location| location.file)
}

/// Removes the first `count` blocks.
fn drop_first(chunk: &mut Chunk, count: usize) {
    let Chunk { headers, bodies, receipts, access_lists, .. } = chunk;
    let columns = [headers, bodies, receipts, access_lists];
    for column in columns.into_iter().filter(|column| !column.is_empty()) {
        let mut kept = Column::new();
        column.iter().skip(count).for_each(|item| kept.push(item));
        *column = kept;
    }
    let totals = &mut chunk.total_difficulties;
    totals.drain(..count.min(totals.len()));
    chunk.first = chunk.first.map(|first| first + count as u64);
}
