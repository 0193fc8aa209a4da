//! The documents that are exchanged between the machines that verify shards and the machine that
//! merges them. `docs/formats/shard-summary.md` specifies them.

pub use super::hex::{Hex, NoHex};
use crate::Level;
use crate::error::Error;
use crate::fault::{Cause, Fault};
use crate::header::HEADER_BYTES;
use crate::multiset::Proof;
use blockmill_archive::blkdat::Corruption;
use blockmill_verdict::{BrokenRule, Cause as _, FaultReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of the format of the documents.
pub const SCHEMA: u32 = 2;

/// A document of any type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "document", rename_all = "lowercase")]
pub enum Document {
    /// The headers of a shard.
    Headers(Headers),
    /// The files of unspent coins, later with their multiset hash.
    Coins(Coins),
    /// The input of level `execution` for all shards.
    Execution(Execution),
    /// The blocks of a shard to verify.
    Table {
        /// The files of the shard.
        sources: Vec<SourceFile>,
        /// Its blocks.
        #[serde(flatten)]
        table: Table,
    },
    /// The results of a table.
    Bodies {
        /// The files of the shard.
        sources: Vec<SourceFile>,
        /// The results.
        #[serde(flatten)]
        bodies: Bodies,
    },
    /// The verdict on all shards.
    Verdict(Verdict),
}

/// The verdict on all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The network.
    pub chain: String,
    /// The level. `None` in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What was not checked: what the level leaves out, then what it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// Blocks of the best chain that were verified.
    pub blocks: u64,
    /// The height of the first one.
    pub first: Option<u32>,
    /// The height of the last one.
    pub last: Option<u32>,
    /// The hash of the last one.
    pub tip: Option<String>,
    /// The hash of the trusted first block, if the files begin in the middle of a chain.
    pub anchor: Option<String>,
    /// Transactions of these blocks.
    pub transactions: u64,
    /// Their inputs, without coinbases.
    pub inputs: u64,
    /// Blocks in branches other than the best chain.
    pub stale: u64,
    /// Coins created, spent and unspent, at level `execution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coins: Option<Proof>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// The headers of a shard: the content of its files, before a chain is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The files.
    pub sources: Vec<SourceFile>,
    /// The undo files of their blocks, at level `execution`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<SourceFile>,
    /// The records of the files, in order.
    pub records: Vec<Record>,
    /// Corrupt ranges, each with the index of its file.
    pub corruption: Vec<(u32, Corruption)>,
    /// Number of corrupt ranges that are not listed.
    pub unlisted: u64,
}

/// A block in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Index of the file in the shard.
    pub file: u32,
    /// Offset of the block's first byte in the file.
    pub offset: u64,
    /// Size of the block in bytes, as the record states it.
    pub size: u32,
    /// Its header.
    pub header: Hex<HEADER_BYTES>,
    /// The height that the block states, if its parent is not in the shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<u32>,
    /// Position of its undo data: the index of the undo file in the shard, and the offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<(u32, u32)>,
}

/// The blocks of a shard to verify, with what the headers of all shards say about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The undo files of the shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<SourceFile>,
    /// One row for each block.
    pub rows: Vec<Row>,
}

/// A block to verify, and its position in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The block.
    pub record: Record,
    /// Its height. `None` if the chain begins in the middle and its height is unknown. Height and
    /// hash determine the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The median time past.
    pub median_time_past: u32,
}

/// The results of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    /// The result of each row, in the order of the table.
    pub rows: Vec<BodyResult>,
    /// The multiset hash of the good blocks, at level `execution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiset: Option<Box<BodiesMultiset>>,
}

/// The salt of the multiset hash of a merge. Whoever can still change a file must not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salt {
    /// Drawn when all documents of headers and unspent coins were there.
    pub secret: Hex<32>,
    /// SHA-256 of these documents.
    pub files: Hex<32>,
}

/// The coin multiset hash of the blocks of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodiesMultiset {
    /// The salt.
    pub salt: Salt,
    /// Hashes of the coins created, minus hashes of the coins spent, as one number, most
    /// significant digit first.
    pub hash: Hex<32>,
    /// Number of coins created.
    pub created: u64,
    /// Number of coins spent.
    pub spent: u64,
    /// Height and id of each coinbase.
    pub coinbases: Vec<(u32, Hex<32>)>,
    /// The contradiction in undo data at the lowest such block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_fault: Option<Finding>,
    /// The rule that the lowest such block breaks, provided that undo data is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Finding>,
}

/// A fault of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The block's height.
    pub height: u32,
    /// The fault.
    pub remote: RemoteFault,
}

/// A set of unspent coins: its files, later with its multiset hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coins {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The files.
    pub sources: Vec<SourceFile>,
    /// The multiset hash, under the salt of a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiset: Option<UnspentMultiset>,
}

/// The coin multiset hash of unspent coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnspentMultiset {
    /// The salt.
    pub salt: Salt,
    /// The negative sum of the hashes of all coins.
    pub hash: Hex<32>,
    /// Number of coins.
    pub coins: u64,
    /// The block after which they are unspent.
    pub tip: Hex<32>,
}

/// The input of level `execution` for all shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The salt of the multiset hash.
    pub salt: Salt,
    /// Scripts run above this height only.
    pub assumed_valid: u32,
    /// For each height, the median of the times of the block and the ten before it.
    pub median_times: DeltaEncoded,
}

/// Increasing numbers, encoded in documents as differences from the previous number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
pub struct DeltaEncoded(pub Vec<u32>);

impl From<Vec<u32>> for DeltaEncoded {
    fn from(mut deltas: Vec<u32>) -> Self {
        let mut last: u32 = 0;
        for delta in &mut deltas {
            last = last.wrapping_add(*delta);
            *delta = last;
        }
        Self(deltas)
    }
}

impl From<DeltaEncoded> for Vec<u32> {
    fn from(DeltaEncoded(mut numbers): DeltaEncoded) -> Self {
        let mut last = 0;
        for number in &mut numbers {
            (last, *number) = (*number, number.wrapping_sub(last));
        }
        numbers
    }
}

/// The result of one block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyResult {
    /// Index of its file in the shard.
    pub file: u32,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Number of its transactions; 0 if the block is bad.
    pub transactions: u64,
    /// Number of their inputs, without that of the coinbase.
    pub inputs: u64,
    /// The fault, if the block is bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<RemoteFault>,
    /// Bytes of the record after the block.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trailing_bytes: u32,
    /// Blocks in the trailing bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Record>,
    /// Corrupt ranges in the trailing bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corruption: Vec<Corruption>,
}

fn is_zero(bytes: &u32) -> bool {
    *bytes == 0
}

/// A fault reported by another process.
pub type RemoteFault = blockmill_verdict::RemoteFault<RemoteDetails>;

/// The part of a remote fault that is specific to Bitcoin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteDetails {
    /// Whether the fault may be in the stored bytes alone, so that another copy of the block may be
    /// good.
    pub is_corrupt: bool,
}

/// Converts a fault for another process.
pub(super) fn remote_fault(fault: &Fault) -> RemoteFault {
    if let Cause::Remote(remote) = &fault.cause {
        return (**remote).clone();
    }
    let details = RemoteDetails { is_corrupt: fault.cause.is_corrupt() };
    let (text, broken) = (fault.cause.to_string(), fault.cause.broken_rule());
    RemoteFault::new(fault.status(), text, broken, details)
}

/// Converts an error that is not about the bytes of a block for another process.
pub(super) fn remote_error(error: &Error) -> RemoteFault {
    let FaultReport { message, rule, expected, found, .. } = error.report();
    let broken = BrokenRule { rule, expected, found };
    RemoteFault::new(error.status(), message, broken, RemoteDetails { is_corrupt: false })
}

/// The report of a remote error about the block at `height`.
pub(super) fn remote_report(remote: &RemoteFault, height: u32) -> FaultReport {
    let BrokenRule { rule, expected, found } = remote.broken_rule();
    let block = Some(height.into());
    FaultReport { block, rule, expected, found, ..FaultReport::new(&remote.text) }
}
