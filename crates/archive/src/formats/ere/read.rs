//! Reads the blocks of ere files and unpacks them. The parts of a block are far from each other, so
//! a chunk is one read from each wanted section.

use blockmill_verdict::{Digits, Location};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::index::Types;
use super::layout::{BODIES, HEADERS, Layout, NAMES, PROOFS, RECEIPTS, SECTIONS, TOTALS};
use crate::beacon_roots::{BeaconProof, ProofKind};
use crate::chunk::PackedBlocks;
use crate::formats::e2store::accumulator::proven;
use crate::formats::e2store::read::BlockFile;
use crate::formats::e2store::unpack::Unpacker;
use crate::formats::e2store::{Records, not_cut};
use crate::{Accumulates, Chunk, Compression, EraEnd, Error, Part, ReceiptEncoding, Want};

/// The longest proof that is read: 30 times one of the beacon chain.
const MAX_PROOF: usize = 64 << 10;

/// Type of a proof by the accumulator of the file.
const BY_ACCUMULATOR: u64 = 0;

/// Records of a section.
#[derive(Debug, Default)]
struct Column {
    bytes: Vec<u8>,
    /// Offset in the file of each record, then of the end of the last one; empty if the section
    /// was not read.
    offsets: Vec<u64>,
}

impl Column {
    /// Record `i` and its offset.
    fn record(&self, i: usize) -> (&[u8], u64) {
        let (base, start, end) = (self.offsets[0], self.offsets[i], self.offsets[i + 1]);
        (&self.bytes[(start - base) as usize..(end - base) as usize], start)
    }
}

/// Records of consecutive blocks of one file.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    sections: [Column; SECTIONS],
    blocks: usize,
    types: Option<Types>,
    first: u64,
    /// Place of the first block in the file.
    at: usize,
    /// The accumulator that the file states.
    accumulator: Option<[u8; 32]>,
    end: Option<EraEnd>,
    /// The hash of the last block in the file's name, if that is the last one here.
    hash_in_name: Option<String>,
    file: Option<Arc<Path>>,
    /// Compression of the whole file, in addition to the Snappy data in it.
    compression: Option<Compression>,
}

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.blocks
    }

    fn disk_bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.bytes.len() as u64).sum()
    }

    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        let (Some(file), Some(types)) = (self.file.take(), self.types) else {
            return Ok(());
        };
        chunk.unpacked_offsets = self.compression.is_some();
        self.unpack_blocks(file, &types, chunk).map_err(|error| error.unpacked_if(self.compression))
    }
}

impl Packed {
    /// Reads the wanted parts of some blocks.
    pub fn fill(&mut self, layout: &Layout, blocks: Range<usize>, want: Want) -> Result<(), Error> {
        for section in &mut self.sections {
            section.bytes.clear();
            section.offsets.clear();
        }
        for section in layout.wanted(want) {
            let Column { bytes, offsets } = &mut self.sections[section];
            offsets.extend_from_slice(&layout.sections[section][blocks.start..=blocks.end]);
            let (start, end) = (offsets[0], offsets[blocks.len()]);
            layout.file().read(start, end, bytes)?;
        }
        self.blocks = blocks.len();
        self.types = Some(layout.index.types);
        self.first = layout.first() + blocks.start as u64;
        self.at = blocks.start;
        self.accumulator = layout.accumulator.map(|(root, _)| root);
        self.file = Some(layout.file().path.clone());
        self.compression = layout.file().compression;
        let is_last = blocks.end == layout.blocks();
        self.hash_in_name = layout.name.as_ref().filter(|_| is_last).map(|name| name.hash.clone());
        self.end = is_last.then(|| EraEnd {
            accumulator: self.accumulator,
            first: layout.first(),
            blocks: layout.blocks() as u64,
        });
        Ok(())
    }

    fn unpack_blocks(
        &self,
        file: Arc<Path>,
        types: &Types,
        chunk: &mut Chunk,
    ) -> Result<(), Error> {
        chunk.first = Some(self.first);
        chunk.receipt_encoding = ReceiptEncoding::Slim;
        chunk.accumulates = Some(Accumulates::BlocksBeforeMerge);
        chunk.era_end = self.end;
        let mut unpacker = Unpacker::new(file, chunk);
        let mut proof = vec![];
        // block by block: an error leaves the blocks before it whole
        (0..self.blocks).try_for_each(|i| {
            self.unpack_block(&mut unpacker, types, i)?;
            let checked = self.check_proof(&mut unpacker, types, i, &mut proof);
            checked.inspect_err(|_| unpacker.chunk.truncate(i))
        })
    }

    /// Compares the accumulator that the proof of block `i` gives with the one of the file. Keeps
    /// proofs by roots of the beacon chain, and counts those that cannot be checked.
    fn check_proof(
        &self,
        unpacker: &mut Unpacker,
        types: &Types,
        i: usize,
        proof: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let column = &self.sections[PROOFS];
        if column.offsets.is_empty() {
            return Ok(());
        }
        let (bytes, offset) = column.record(i);
        let file = unpacker.file.clone();
        let mut records = Records::new(bytes, offset, &file);
        let record = records.expect(types.sections[PROOFS], NAMES[PROOFS]).map_err(not_cut)?;
        records.expect_end()?;
        proof.clear();
        unpacker.other(record, MAX_PROOF, "proof", proof)?;
        let location = || Location::new(&*file, offset);
        let (kind, branch) = fields(proof).map_err(|source| Error::Rlp {
            location: location(),
            what: "proof",
            source,
        })?;
        let hash = blockmill_rlp::ethereum::block_hash(unpacker.chunk.headers.get(i));
        if let Some(kind) = ProofKind::of(kind) {
            let location = Location { unpacked: self.compression.is_some(), ..location() };
            match BeaconProof::read(kind, branch, &hash, i, location) {
                Some(proof) => unpacker.chunk.open_proofs.push(proof),
                None => unpacker.chunk.unchecked_proofs += 1,
            }
            return Ok(());
        }
        let found = match self.accumulator {
            Some(root) if kind == BY_ACCUMULATOR => {
                proven(&hash, self.at + i, branch).map(|is| (is, root))
            }
            _ => None,
        };
        match found {
            Some((found, expected)) if found != expected => {
                let what = "accumulator by the proof that the block is canonical";
                let (expected, found) = (Digits(&expected).to_string(), Digits(&found).to_string());
                Err(Error::BadRecord { location: location(), what, expected, found })
            }
            Some(_) => Ok(()),
            None => {
                unpacker.chunk.unchecked_proofs += 1;
                Ok(())
            }
        }
    }

    fn unpack_block(&self, unpacker: &mut Unpacker, types: &Types, i: usize) -> Result<(), Error> {
        let file = unpacker.file.clone();
        for (section, part) in
            [(HEADERS, Part::Header), (BODIES, Part::Body), (RECEIPTS, Part::Receipts)]
        {
            let column = &self.sections[section];
            if column.offsets.is_empty() {
                continue;
            }
            let (bytes, offset) = column.record(i);
            let mut records = Records::new(bytes, offset, &file);
            let record = records.expect(types.sections[section], NAMES[section]);
            let record = record.map_err(not_cut)?;
            records.expect_end()?;
            let named = self.hash_in_name.as_deref();
            match named.filter(|_| section == HEADERS && i + 1 == self.blocks) {
                Some(named) => unpacker.part_if(record, part, |header| {
                    check_hash(named, header, Location::new(&*file, offset))
                })?,
                None => unpacker.part(record, part)?,
            }
        }
        let totals = &self.sections[TOTALS];
        if totals.offsets.is_empty() {
            return Ok(());
        }
        let (bytes, offset) = totals.record(i);
        unpacker.total_difficulty(&mut Records::new(bytes, offset, &file)).map_err(not_cut)
    }
}

/// Type and bytes of a proof.
fn fields(proof: &[u8]) -> Result<(u64, &[u8]), blockmill_rlp::Error> {
    let mut outer = blockmill_rlp::Reader::new(proof);
    let mut fields = outer.list()?;
    outer.finish()?;
    let found = (fields.u64()?, fields.bytes()?);
    fields.finish()?;
    Ok(found)
}

/// Compares the hash of the last header with the one in the file's name.
fn check_hash(named: &str, header: &[u8], location: Location) -> Result<(), Error> {
    let hash = blockmill_rlp::ethereum::block_hash(header);
    let expected = Digits(&hash[..4]).to_string();
    if expected == named {
        return Ok(());
    }
    let what = "hash of the last block in the name of the file";
    Err(Error::BadRecord { location, what, expected, found: named.into() })
}
