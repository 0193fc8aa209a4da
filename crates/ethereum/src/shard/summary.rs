//! What verifying a shard leaves: enough of both of its ends to tie it to its neighbours by every
//! rule, and what was found. `docs/formats/summary.md` has the document.

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

/// Version of the document's layout.
pub const SCHEMA: u32 = 2;

/// A shard that was verified: which, how deep, what was found, and its two ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was found, in one word. It holds for the shard alone.
    pub status: Status,
    /// What was asked for.
    pub asked: Asked,
    /// What was read.
    pub sources: Vec<Source>,
    /// The archive's format; that of the first shard in a merge.
    pub format: String,
    /// First and last block as the files state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<(u64, Option<u64>)>,
    /// Blocks that were verified.
    pub blocks: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<BlockName>,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastBlock>,
    /// The block that was believed without a parent: what the verdict rests on. None where that is
    /// the genesis block, or the block that the shard was verified after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<BlockName>,
    /// Total difficulty before the first block, where it is known or stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_before: Option<Number>,
    /// Sum of the difficulties of all blocks that were verified.
    pub difficulty_sum: Number,
    /// The first seven blocks.
    pub head: Head,
    /// The last seven blocks that ommers may refer to; none at level `headers`.
    pub tail: Vec<TailBlock>,
    /// Where proof of work ends, as long as nothing tells the total difficulty.
    pub sides: Sides,
    /// Trusted blocks that were met.
    pub trusted: Vec<BlockName>,
    /// What is wrong with the block behind the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ShardFault>,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// What its files say of themselves.
    pub notes: Vec<String>,
    /// How much was done.
    pub counts: Counts,
}

/// What the shards of one chain were asked for; the same for all that are merged, but for the range
/// and the settings of options, which change no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Name of the chain.
    pub chain: String,
    /// Hash of its genesis block.
    pub genesis: HashText,
    /// How deep.
    pub level: Level,
    /// Which seals.
    pub seal: String,
    /// Seed of the sample.
    pub seal_seed: u64,
    /// The present, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// Hashes that must be met somewhere.
    pub trust: Vec<HashText>,
    /// First block, where it was not the archive's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Last block, where it was not the archive's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Settings of the options.
    pub options: BTreeMap<String, String>,
}

/// A file or a folder that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// Its bytes on disk.
    pub bytes: u64,
    /// SHA-256 of a file; none of a folder, of which a shard may be a small part.
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
    /// Total difficulty up to it, where it is known or stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_difficulty: Option<Number>,
}

/// The first blocks, as they were read: those that a merge looks at again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The first block's number, as the container or its header states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<u64>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Of the blocks, how many keep every rule that needs nothing from before the shard. One less
    /// than there are where only the first block's header does.
    pub good: usize,
    /// Seven blocks, or all there are.
    pub blocks: Vec<HeadBlock>,
}

/// One of the first blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadBlock {
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// The encoded list of its ommers' headers; empty where it has none.
    pub ommers: Bytes,
    /// Total difficulty up to it, where the archive states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_difficulty: Option<Number>,
    /// Where the header stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_at: Option<Location>,
    /// Where the body stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_at: Option<Location>,
    /// Where the total difficulty stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_at: Option<Location>,
}

/// One of the last blocks, for the ommers of those behind the shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TailBlock {
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// Hashes of its ommers.
    pub ommers: Vec<HashText>,
}

/// On which side of the merge blocks are whose total difficulty is not known.
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
    /// How many blocks of the shard stand before it.
    pub at: u64,
    /// Its number.
    pub number: u64,
    /// The sum of their difficulties.
    pub sum_before: Number,
}

/// The first block under proof of stake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstStake {
    /// How many blocks of the shard stand before it.
    pub at: u64,
    /// The sum of their difficulties.
    pub sum_before: Number,
    /// Hash of its header.
    pub hash: HashText,
    /// Its header.
    pub header: Bytes,
    /// Where the header stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_at: Option<Location>,
}

/// What is wrong with a block of the shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardFault {
    /// How many blocks of the shard stand before it.
    pub at: u64,
    /// Its number, as far as it is known.
    pub block: u64,
    /// Its hash, when its header could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashText>,
    /// Where the part at fault stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What is wrong.
    pub remote: RemoteFault,
}

/// How much was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of the archive that were read.
    pub bytes: u64,
    /// Seals that were checked.
    pub seals_checked: u64,
    /// Headers under proof of work whose seals were not checked.
    pub seals_left: u64,
    /// Transactions in the bodies that were checked.
    pub transactions: u64,
    /// Senders that were recovered.
    pub senders: u64,
    /// era1 accumulators that were recomputed and found equal.
    pub accumulators: u64,
    /// Ommers whose parents stand before the first block, so that a merge has to check them.
    pub unchecked_ommers: u64,
}

impl ShardFault {
    /// `fault` of the block that `at` blocks of its shard stand before.
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
    pub(crate) fn tip(&self, total_difficulty: Option<U256>) -> Result<Tip, Fault> {
        let id = BlockId { number: self.number, hash: self.hash.0 };
        let header = EncodedHeader::decode(self.header.0.clone()).map_err(|error| Fault {
            block: self.number,
            hash: Some(self.hash.0),
            location: None,
            cause: header_cause(&self.header.0, error),
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
    /// The first block's number as it was read, or as the files state it; none where neither tells.
    pub(crate) fn starts_at(&self) -> Option<u64> {
        let asked = self.asked.from.unwrap_or(0);
        self.head.starts_at.or(self.stated.map(|(first, _)| first.max(asked)))
    }

    /// The last blocks, for the ommers of those that follow. Who verified headers alone has read no
    /// ommers, and knows none of these blocks.
    pub(crate) fn window(&self) -> AncestorWindow {
        let mut window = AncestorWindow::default();
        if self.asked.level == Level::Headers {
            return window;
        }
        self.tail.iter().for_each(|block| window.push(block.into()));
        window
    }
}
