//! The summary of a verified shard: the findings, and enough of both ends to link it to its
//! neighbours by every rule. `docs/formats/shard-summary.md` specifies the document.

use super::text::{Bytes, HashText, Number};
use crate::encoding::header_cause;
use crate::fault::{Cause, Fault, RemoteFault, remote_fault};
use crate::header::EncodedHeader;
use crate::link::{BlockId, Tip};
use crate::ommers::{Ancestor, AncestorWindow};
use crate::{Level, U256};
use blockmill_verdict::{Location, Shortfall, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the format of the document.
pub const SCHEMA: u32 = 2;

/// The summary of a verified shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The verdict on this shard alone.
    pub status: Status,
    /// The request.
    pub asked: Asked,
    /// The files that were read.
    pub sources: Vec<Source>,
    /// The archive's format; in a merge, that of the first shard.
    pub format: String,
    /// First and last block as the files state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<(u64, Option<u64>)>,
    /// Number of verified blocks.
    pub blocks: u64,
    /// The first verified block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<BlockName>,
    /// The last verified block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastBlock>,
    /// The first block, if it was trusted without its parent: the verdict depends on it. `None` for
    /// the genesis block, and for a shard that was verified after another summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<BlockName>,
    /// Total difficulty before the first block, if it is known or stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_before: Option<Number>,
    /// Sum of the difficulties of all verified blocks.
    pub difficulty_sum: Number,
    /// The first seven blocks.
    pub head: Head,
    /// The last seven blocks that ommers may refer to; empty at level `headers`.
    pub tail: Vec<TailBlock>,
    /// The end of proof of work, if the total difficulty is unknown.
    pub sides: Sides,
    /// Trusted blocks that the shard has.
    pub trusted: Vec<BlockName>,
    /// The fault of the block after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ShardFault>,
    /// The shortfalls of the archive.
    pub shortfalls: Vec<Shortfall>,
    /// Notes on its files.
    pub notes: Vec<String>,
    /// Counts of the work.
    pub counts: Counts,
}

/// The request of a shard. The same for all shards of a merge, except the range and the options,
/// which do not change verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Name of the chain.
    pub chain: String,
    /// Hash of its genesis block.
    pub genesis: HashText,
    /// The level.
    pub level: Level,
    /// The seals that were checked.
    pub seal: String,
    /// Seed of the sample.
    pub seal_seed: u64,
    /// The present, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// Hashes that some shard must have.
    pub trust: Vec<HashText>,
    /// First block, if not that of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Last block, if not that of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Values of the options.
    pub options: BTreeMap<String, String>,
}

/// A file or a folder that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// Its size on disk, in bytes.
    pub bytes: u64,
    /// SHA-256 of a file. `None` for a folder, of which a shard may be a small part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockName {
    /// Height.
    pub number: u64,
    /// Hash of its header.
    pub hash: HashText,
}

/// The last block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBlock {
    /// Height.
    pub number: u64,
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// Total difficulty up to it, if it is known or stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_difficulty: Option<Number>,
}

/// The first blocks as they were read, which a merge checks again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the first block, as the container or its header states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<u64>,
    /// Its location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// How many of the blocks satisfy every rule that needs no earlier block. One less than the
    /// number of blocks if only the header of the first block does.
    pub good: usize,
    /// Seven blocks, or all if there are fewer.
    pub blocks: Vec<HeadBlock>,
}

/// One of the first blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadBlock {
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// The encoded list of its ommers' headers; empty if it has none.
    pub ommers: Bytes,
    /// Total difficulty up to it, if the archive states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_difficulty: Option<Number>,
    /// Location of the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_at: Option<Location>,
    /// Location of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_at: Option<Location>,
    /// Location of the total difficulty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_at: Option<Location>,
}

/// One of the last blocks, for the ommers of later blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TailBlock {
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// Hashes of its ommers.
    pub ommers: Vec<HashText>,
}

/// The transition to proof of stake in blocks of unknown total difficulty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// The last block under proof of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_work: Option<LastWork>,
    /// The first block under proof of stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_stake: Option<FirstStake>,
}

/// The last block under proof of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWork {
    /// Number of earlier blocks of the shard.
    pub at: u64,
    /// Its number.
    pub number: u64,
    /// The sum of their difficulties.
    pub sum_before: Number,
}

/// The first block under proof of stake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstStake {
    /// Number of earlier blocks of the shard.
    pub at: u64,
    /// The sum of their difficulties.
    pub sum_before: Number,
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// Location of the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_at: Option<Location>,
}

/// The fault of a block of the shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardFault {
    /// Number of earlier blocks of the shard.
    pub at: u64,
    /// Its number, if known.
    pub block: u64,
    /// Its hash, if its header could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashText>,
    /// Location of the wrong part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The fault.
    pub remote: RemoteFault,
}

/// Counts of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes read from the archive.
    pub bytes: u64,
    /// Checked seals.
    pub seals_checked: u64,
    /// Headers under proof of work without a checked seal.
    pub seals_left: u64,
    /// Transactions in checked bodies.
    pub transactions: u64,
    /// Recovered senders.
    pub senders: u64,
    /// Verified era1 accumulators.
    pub accumulators: u64,
    /// Ommers with parents before the first block, which a merge must check.
    pub unchecked_ommers: u64,
}

impl ShardFault {
    /// The fault of a block after `at` blocks of its shard.
    pub(crate) fn new(at: u64, fault: &Fault) -> Self {
        Self {
            at,
            block: fault.block,
            hash: fault.hash.map(HashText),
            location: fault.known_location().cloned(),
            remote: remote_fault(fault),
        }
    }

    /// The fault.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let cause = Cause::Remote(Box::new(self.remote.clone()));
        let (hash, location) = (self.hash.map(|hash| hash.0), self.location.clone());
        Fault { block: self.block, hash, location, cause }
    }
}

impl From<&BlockId> for BlockName {
    fn from(id: &BlockId) -> Self {
        Self { number: id.number, hash: HashText(id.hash) }
    }
}

impl From<&BlockName> for BlockId {
    fn from(name: &BlockName) -> Self {
        Self { number: name.number, hash: name.hash.0 }
    }
}

impl From<&Tip> for LastBlock {
    fn from(tip: &Tip) -> Self {
        Self {
            number: tip.id.number,
            hash: HashText(tip.id.hash),
            header: Bytes(tip.header.raw().to_vec()),
            total_difficulty: tip.total_difficulty.map(Number),
        }
    }
}

impl LastBlock {
    /// The block as a tip, with this total difficulty.
    ///
    /// # Errors
    /// Its header cannot be decoded: the summary does not agree with itself.
    pub(crate) fn tip(&self, total_difficulty: Option<U256>) -> Result<Tip, Box<Fault>> {
        let id = BlockId { number: self.number, hash: self.hash.0 };
        let header = EncodedHeader::decode(self.header.0.clone()).map_err(|error| {
            Box::new(Fault {
                block: self.number,
                hash: Some(self.hash.0),
                location: None,
                cause: header_cause(&self.header.0, error),
            })
        })?;
        Ok(Tip { id, header, total_difficulty })
    }
}

impl From<&Ancestor> for TailBlock {
    fn from(ancestor: &Ancestor) -> Self {
        let (hash, header, ommers) = ancestor.parts();
        let ommers = ommers.iter().copied().map(HashText).collect();
        Self { hash: HashText(*hash), header: Bytes(header.to_vec()), ommers }
    }
}

impl From<&TailBlock> for Ancestor {
    fn from(block: &TailBlock) -> Self {
        let ommers = block.ommers.iter().map(|hash| hash.0).collect();
        Self::from_parts(block.hash.0, block.header.0.clone(), ommers)
    }
}

impl ShardSummary {
    /// The number of the first block as it was read, or as the files state it, if known.
    pub(crate) fn starts_at(&self) -> Option<u64> {
        let asked = self.asked.from.unwrap_or(0);
        self.head.starts_at.or(self.stated.map(|(first, _)| first.max(asked)))
    }

    /// The last blocks, for the ommers of later blocks. Empty at level `headers`, which reads no
    /// ommers.
    pub(crate) fn window(&self) -> AncestorWindow {
        let mut window = AncestorWindow::default();
        if self.asked.level == Level::Headers {
            return window;
        }
        self.tail.iter().for_each(|block| window.push(block.into()));
        window
    }
}
