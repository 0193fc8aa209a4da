//! The execution blocks of an era file: which of its beacon blocks have one, and their numbers.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use blockmill_verdict::{Digits, Location};

use super::block::BeaconBlock;
use super::index::Index;
use super::name::EraName;
use super::read::Packed;
use super::ssz::Fault;
use super::state::State;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::framing::FrameDecoder;
use crate::formats::e2store::read::BlockFile;
use crate::formats::e2store::{BEACON_BLOCK, Records, not_cut};
use crate::{Error, MAX_BODY, Want};

/// An open file, its indices, and the number of its first execution block.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(super) index: Index,
    /// Beacon blocks before the first one with an execution payload. The merge divides them.
    pub(super) skipped: usize,
    /// Number of the first execution block; 0 if there is none.
    pub(super) first: u64,
}

impl Blocks {
    /// Opens `path` and finds its first execution block.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let index = Index::open(path)?;
        let compression = index.file.compression;
        Self::of(index).map_err(|error| error.unpacked_if(compression))
    }

    fn of(index: Index) -> Result<Self, Error> {
        let mut blocks = Self { skipped: index.slots.len(), first: 0, index };
        let (mut before, mut after) = (0, blocks.skipped);
        if let Some(first) = (after > 0).then(|| blocks.number(0)).transpose()?.flatten() {
            (blocks.skipped, blocks.first) = (0, first);
            return Ok(blocks);
        }
        // all blocks after the first one with a payload have one
        while before < after {
            let middle = before + (after - before) / 2;
            match blocks.number(middle)? {
                Some(number) => (after, blocks.first) = (middle, number),
                None => before = middle + 1,
            }
        }
        blocks.skipped = after;
        Ok(blocks)
    }

    /// Number of execution blocks.
    pub fn count(&self) -> usize {
        self.index.slots.len() - self.skipped
    }

    /// The number of the execution block in beacon block `i`; `None` if it has none.
    fn number(&self, i: usize) -> Result<Option<u64>, Error> {
        let (file, offset) = (&self.index.file, self.index.offsets[i]);
        let (mut bytes, mut block) = (vec![], vec![]);
        file.read(offset, self.index.offsets[i + 1], &mut bytes)?;
        let record = Records::new(&bytes, offset, &file.path)
            .expect(BEACON_BLOCK, "beacon block record")
            .map_err(not_cut)?;
        FrameDecoder::default()
            .unpack(record.data, MAX_BODY, &mut block)
            .map_err(|error| error.at(file.location(offset), "beacon block"))?;
        let read = || Ok(BeaconBlock::read(&block)?.payload()?.map(|payload| payload.number()));
        let highest = u64::MAX - self.index.slots.len() as u64;
        match read() {
            Ok(Some(number)) if number > highest => {
                let (what, found) = ("number of an execution block", number.to_string());
                Err(file.bad(offset, what, format!("at most {highest}"), found))
            }
            Ok(number) => Ok(number),
            Err(fault) => {
                let is_later = State::read(&self.index)?.is_later;
                Err(undecoded(fault, is_later, file.location(offset)))
            }
        }
    }
}

/// The error of a beacon block that is of no known fork.
pub(super) fn undecoded(fault: Fault, is_later: bool, location: Location) -> Error {
    if is_later {
        return Error::Unsupported {
            path: location.file,
            what: "an era file of a fork after Fulu, as Gloas is: its beacon blocks have no \
                   execution payload"
                .into(),
            instead: "give the ere files of these blocks, or have a node export them".into(),
        };
    }
    let Fault { expected, found } = fault;
    Error::BadRecord { location, what: "beacon block", expected, found }
}

/// An open file of which the state was read, too.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(super) blocks: Blocks,
    pub(super) state: Arc<State>,
}

impl BlockFile for Layout {
    type Packed = Packed;

    fn open(path: &Path) -> Result<Self, Error> {
        let blocks = Blocks::open(path)?;
        let compression = blocks.index.file.compression;
        let state = State::read(&blocks.index).map(Arc::new);
        let layout = state.map(|state| Self { blocks, state });
        layout
            .and_then(|layout| layout.check().map(|()| layout))
            .map_err(|error| error.unpacked_if(compression))
    }

    fn file(&self) -> &RecordFile {
        &self.blocks.index.file
    }

    fn first(&self) -> u64 {
        self.blocks.first
    }

    fn blocks(&self) -> usize {
        self.blocks.count()
    }

    fn beginning(&self) -> u64 {
        self.blocks.index.offsets[self.blocks.skipped]
    }

    fn bytes(&self, blocks: Range<usize>, _: Want) -> u64 {
        let offsets = &self.blocks.index.offsets[self.blocks.skipped..];
        offsets[blocks.end] - offsets[blocks.start]
    }

    fn fill(&self, blocks: Range<usize>, want: Want, into: &mut Packed) -> Result<(), Error> {
        into.fill(self, blocks, want)
    }
}

impl Layout {
    /// The roots in the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Compares the file's name and the empty slots with the state.
    fn check(&self) -> Result<(), Error> {
        let index = &self.blocks.index;
        if let Some(name) = EraName::of(&index.file.path) {
            let root = Digits(&self.state.era_root[..4]).to_string();
            let what = "era and root in the name of the file";
            if (name.era, &name.root) != (index.era(), &root) {
                let expected = format!("{:05} and {root}", index.era());
                let found = format!("{:05} and {}", name.era, name.root);
                return Err(index.file.bad(index.state(), what, expected, found));
            }
        }
        self.check_empty_slots()
    }

    /// At an empty slot, the latest block is that of the slot before.
    fn check_empty_slots(&self) -> Result<(), Error> {
        let (index, roots) = (&self.blocks.index, &self.state.block_roots);
        let mut full = index.slots.iter().peekable();
        for (slot, pair) in roots.windows(2).enumerate() {
            let slot = slot + 1;
            while full.next_if(|full| usize::from(**full) < slot).is_some() {}
            let is_empty = full.peek().is_none_or(|full| usize::from(**full) != slot);
            if is_empty && index.end_slot > 0 && pair[0] != pair[1] {
                let expected = format!("block {} by the state", Digits(&pair[1]));
                let found = "none".to_string();
                return Err(index.wrong_entry(slot, "beacon block of a slot", expected, found));
            }
        }
        Ok(())
    }
}
