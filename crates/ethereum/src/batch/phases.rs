//! What each phase of a batch adds. A phase fills its own part and reads those before it; all keep
//! their memory for the next blocks.

use super::bodies::BodyMemory;
use crate::execute::PreparedBlock;
use crate::execute::evm::{Ahead, Foresight};
use crate::execute::history::Foreseen;
use crate::execute::stages::ExecutedBlock;
use crate::fault::{Cause, Fault};
use crate::header::HeaderView;
use crate::{Address, Hash, U256};
use blockmill_archive::{Chunk, Packed, Part, Want};
use blockmill_hashes::ManyKeccak;
use std::time::Duration;

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
    /// Unpacks what was read. How many blocks, from the first one on, are whole, and the error that
    /// ended them.
    pub fn unpack(&mut self, want: Want) -> (usize, Result<(), blockmill_archive::Error>) {
        let unpacked = self.packed.unpack(&mut self.chunk);
        let whole = match &unpacked {
            Ok(()) => self.chunk.blocks(),
            Err(_) => complete_blocks(&self.chunk, want),
        };
        self.first_number = match self.chunk.first {
            Some(number) => number,
            None if whole > 0 => self.header(0).map_or(0, |header| header.number),
            None => 0,
        };
        (whole, unpacked)
    }

    /// Hashes the headers.
    pub fn hash(&mut self, hasher: ManyKeccak) {
        let headers = &self.chunk.headers;
        self.hashes.resize(headers.len(), [0; 32]);
        hasher.keccak256_column(&headers.bytes, &headers.ends, &mut self.hashes);
    }

    /// Number of block `i`, as far as the containers and the first header can tell.
    pub fn number(&self, i: usize) -> u64 {
        self.first_number.saturating_add(i as u64)
    }

    /// Header `i`, decoded.
    ///
    /// # Errors
    /// The header is not RLP of a header; none where the header checks have passed it.
    pub fn header(&self, i: usize) -> Result<HeaderView<'_>, blockmill_rlp::Error> {
        HeaderView::decode(self.chunk.headers.get(i))
    }
}

/// How many blocks were unpacked whole before an error. No receipts count as none yet: those of
/// the first block may be what is damaged.
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

/// What the header checks leave.
#[derive(Default)]
pub(crate) struct Headers {
    /// Difficulty of each header that was decoded.
    pub difficulties: Vec<U256>,
    /// How many headers, from the first one on, passed every check.
    pub good: usize,
}

/// What the checks of bodies and seals leave.
#[derive(Default)]
pub(crate) struct Content {
    /// Seals that were checked.
    pub seals_checked: u64,
    /// Headers under proof of work whose seals were not.
    pub seals_left: u64,
    /// Transactions in the bodies that were checked.
    pub transactions: u64,
    /// Senders that were recovered.
    pub senders: u64,
    /// Who signed the transactions, where that is kept.
    pub signers: Vec<Address>,
    /// At level execution, what is executed: at least the good blocks.
    pub prepared: Vec<PreparedBlock>,
    /// Buffers of the checks.
    pub(super) memory: BodyMemory,
}

impl Content {
    /// Forgets the counts of the batch before.
    pub fn clear(&mut self) {
        (self.seals_checked, self.seals_left) = (0, 0);
        (self.transactions, self.senders) = (0, 0);
    }
}

/// What was read and executed of the new blocks before their turn.
#[derive(Default)]
pub(crate) struct Speculated {
    /// Of each block, its transactions that were executed.
    pub ahead: Vec<Vec<Option<Box<Ahead>>>>,
    /// How many of these hash much.
    pub hashing: usize,
    /// Slots that were read because calls are expected to read them.
    pub foreseen: Foreseen,
    /// What became of these slots.
    pub foresight: Foresight,
}

/// At level execution, what the new blocks did.
#[derive(Default)]
pub(crate) struct ExecutedChunk {
    /// Each of them.
    pub blocks: Vec<ExecutedBlock>,
    /// A state on disk is that after the last new block, and waits to be written.
    pub settles: bool,
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
    /// So many blocks, of which nothing bad is known.
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

    /// True when the fault leaves in doubt the last good block as well.
    pub fn doubts_last_good(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.cause.doubts_previous())
    }
}

/// Busy times of one batch in the stages before writing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchTimes {
    /// Reading.
    pub read: Duration,
    /// Decompressing and decoding.
    pub decode: Duration,
    /// Hashing and verifying.
    pub validate: Duration,
    /// Of which hashing what was signed, and recovering the keys.
    pub senders: Duration,
    /// Executing transactions before their turn.
    pub ahead: Duration,
}
