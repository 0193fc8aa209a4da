//! Reads the beacon blocks of era files, compares their roots with the state, and turns their
//! payloads into execution blocks.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use blockmill_rlp::ethereum::block_hash;
use blockmill_trie::RootBuilder;
use blockmill_verdict::{Digits, Location};

use super::block::{BeaconBlock, Payload};
use super::layout::{Layout, undecoded};
use super::state::State;
use crate::chunk::PackedBlocks;
use crate::formats::e2store::read::BlockFile;
use crate::formats::e2store::unpack::Unpacker;
use crate::formats::e2store::{BEACON_BLOCK, Records, not_cut};
use crate::{Chunk, Compression, Error, MAX_BODY, Part, Want};

/// Records of consecutive beacon blocks of one file.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    /// Offset in the file of each record, then of the end of the last one.
    offsets: Vec<u64>,
    /// The slot of each block, counted from the first slot of the era.
    slots: Vec<u16>,
    first_slot: u64,
    /// Number of the first execution block.
    first: u64,
    with_bodies: bool,
    file: Option<(Arc<Path>, Arc<State>)>,
    /// Compression of the whole file, in addition to the Snappy data in it.
    compression: Option<Compression>,
}

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.slots.len()
    }

    fn disk_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        let Some((file, state)) = self.file.take() else { return Ok(()) };
        chunk.unpacked_offsets = self.compression.is_some();
        self.unpack_blocks(file, &state, chunk).map_err(|error| error.unpacked_if(self.compression))
    }
}

impl Packed {
    /// Reads the records of some execution blocks.
    pub fn fill(&mut self, layout: &Layout, blocks: Range<usize>, want: Want) -> Result<(), Error> {
        let index = &layout.blocks.index;
        let skipped = layout.blocks.skipped;
        let (start, end) = (skipped + blocks.start, skipped + blocks.end);
        self.bytes.clear();
        self.offsets.clear();
        self.offsets.extend_from_slice(&index.offsets[start..=end]);
        self.slots.clear();
        self.slots.extend_from_slice(&index.slots[start..end]);
        layout.file().read(index.offsets[start], index.offsets[end], &mut self.bytes)?;
        self.first_slot = index.first_slot();
        self.first = layout.first() + blocks.start as u64;
        self.with_bodies = want.bodies;
        self.file = Some((index.file.path.clone(), layout.state.clone()));
        self.compression = index.file.compression;
        Ok(())
    }

    fn unpack_blocks(
        &self,
        file: Arc<Path>,
        state: &State,
        chunk: &mut Chunk,
    ) -> Result<(), Error> {
        chunk.first = Some(self.first);
        let mut unpacker = Unpacker::new(file, chunk);
        let (mut block, mut roots) = (vec![], RootBuilder::new());
        // block by block: an error leaves the blocks before it whole
        (0..self.slots.len())
            .try_for_each(|i| self.unpack_block(&mut unpacker, state, i, &mut block, &mut roots))
    }

    fn unpack_block(
        &self,
        unpacker: &mut Unpacker,
        state: &State,
        i: usize,
        bytes: &mut Vec<u8>,
        roots: &mut RootBuilder,
    ) -> Result<(), Error> {
        let (file, offset) = (unpacker.file.clone(), self.offsets[i]);
        let at = |offset: u64| (offset - self.offsets[0]) as usize;
        let record = &self.bytes[at(offset)..at(self.offsets[i + 1])];
        let mut records = Records::new(record, offset, &file);
        let record = records.expect(BEACON_BLOCK, "beacon block record").map_err(not_cut)?;
        records.expect_end()?;
        bytes.clear();
        unpacker.other(record, MAX_BODY, "beacon block", bytes)?;
        let location = || Location::new(&*file, offset);
        let fault = |fault| undecoded(fault, state.is_later, location());
        let block = BeaconBlock::read(bytes).map_err(fault)?;
        let root = block.root().map_err(fault)?;
        let slot = self.first_slot + u64::from(self.slots[i]);
        let bad = |what, expected: String, found: String| {
            let expected = format!("{expected} in slot {slot}");
            Error::BadRecord { location: location(), what, expected, found }
        };
        if block.slot != slot {
            let (what, expected) = ("slot of a beacon block", format!("{slot}, as in the index,"));
            return Err(bad(what, expected, block.slot.to_string()));
        }
        let expected = &state.block_roots[usize::from(self.slots[i])];
        if root != *expected {
            let (expected, found) = (Digits(expected).to_string(), Digits(&root).to_string());
            return Err(bad("root of a beacon block", expected, found));
        }
        let Some(payload) = block.payload().map_err(fault)? else {
            let (expected, found) = ("one, as in a block before,".into(), "none".into());
            return Err(bad("execution payload", expected, found));
        };
        let number = self.first + i as u64;
        if payload.number() != number {
            let found = payload.number().to_string();
            return Err(bad("number of an execution block", number.to_string(), found));
        }
        let header = payload.header(roots).map_err(fault)?;
        let (found, expected) = (payload.hash(), block_hash(&header));
        if found != expected {
            let (expected, found) = (Digits(&expected).to_string(), Digits(&found).to_string());
            let what = "hash of an execution block, by the fields of its payload";
            return Err(bad(what, expected, found));
        }
        self.push(unpacker, &header, &payload, offset).map_err(fault)
    }

    fn push(
        &self,
        unpacker: &mut Unpacker,
        header: &[u8],
        payload: &Payload,
        offset: u64,
    ) -> Result<(), super::ssz::Fault> {
        let body = if self.with_bodies { Some(payload.body()?) } else { None };
        unpacker.chunk.headers.push(header);
        unpacker.chunk.track(Part::Header).push(&unpacker.file, offset);
        if let Some(body) = body {
            unpacker.chunk.bodies.push(&body);
            unpacker.chunk.track(Part::Body).push(&unpacker.file, offset);
        }
        Ok(())
    }
}
