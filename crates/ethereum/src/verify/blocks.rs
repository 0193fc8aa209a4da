//! The blocks of a batch as they were read, and the verdict on them.

use crate::Hash;
use crate::fault::{Cause, Fault};
use blockmill_archive::{Chunk, Packed, Part, Want};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::block_hashes;

/// Consecutive blocks of an archive, with their hashes.
#[derive(Default)]
pub(crate) struct Blocks {
    /// As read from disk.
    pub packed: Packed,
    /// Unpacked.
    pub chunk: Chunk,
    /// Hash of each header.
    pub hashes: Vec<Hash>,
    /// Number of the first header.
    pub first_number: u64,
}

impl Blocks {
    /// Unpacks what was read. Returns how many blocks, from the first one on, are whole, and the
    /// error that ended them.
    pub fn unpack(&mut self, want: Want) -> (usize, Result<(), blockmill_archive::Error>) {
        let unpacked = self.packed.unpack(&mut self.chunk);
        let whole = match &unpacked {
            Ok(()) => self.chunk.blocks(),
            Err(_) => complete_blocks(&self.chunk, want),
        };
        (whole, unpacked)
    }

    /// Numbers the blocks: by the container where it states a number, else by the first header,
    /// where it could be decoded.
    pub fn count_from(&mut self, first_header: Option<u64>) {
        self.first_number = self.chunk.first.or(first_header).unwrap_or(0);
    }

    /// Hashes the headers.
    pub fn hash(&mut self, hasher: ManyKeccak) {
        let headers = &self.chunk.headers;
        self.hashes.resize(headers.len(), [0; 32]);
        block_hashes(&hasher, &headers.bytes, &headers.ends, &mut self.hashes);
    }

    /// The encoded access list of block `i` (EIP-7928), if the archive has it.
    #[inline]
    pub fn access_list(&self, i: usize) -> Option<&[u8]> {
        Some(self.chunk.access_list(i)).filter(|list| !list.is_empty())
    }

    /// Number of block `i`, by the number that the container or the first header states.
    #[inline]
    pub fn number(&self, i: usize) -> u64 {
        self.first_number.saturating_add(i as u64)
    }
}

/// How many blocks were unpacked whole before an error. A block without receipts does not count:
/// the receipts of the first block may be what is damaged.
fn complete_blocks(chunk: &Chunk, want: Want) -> usize {
    let mut blocks = chunk.headers.len();
    if want.bodies {
        blocks = blocks.min(chunk.bodies.len());
    }
    if want.receipts {
        blocks = blocks.min(chunk.receipts.len());
    }
    if !chunk.total_difficulties.is_empty() {
        blocks = blocks.min(chunk.total_difficulties.len());
    }
    blocks
}

/// What is known of the blocks of a batch so far.
#[derive(Default)]
pub(crate) struct Verdict {
    /// How many blocks, from the first one on, have passed every check so far.
    pub good: usize,
    /// What is wrong with block `good`.
    pub fault: Option<Fault>,
}

impl Verdict {
    /// Begins with `good` blocks that no check has refused.
    pub fn begin(&mut self, good: usize) {
        *self = Self { good, fault: None };
    }

    /// Refuses block `i` and those after it, unless an earlier one is refused already.
    pub fn refuse(&mut self, blocks: &Blocks, i: usize, part: Part, cause: Cause) {
        if i >= self.good && self.fault.is_some() {
            return;
        }
        self.good = i;
        self.fault = Some(Fault {
            block: blocks.number(i),
            hash: blocks.hashes.get(i).copied(),
            location: blocks.chunk.location(part, i),
            cause,
        });
    }

    /// Does the fault leave the last good block in doubt as well?
    pub fn doubts_last_good(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.cause.doubts_previous())
    }
}
