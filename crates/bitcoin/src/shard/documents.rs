//! What goes between who looks at block files and who merges them. `docs/formats/summary.md` has
//! the documents.

pub use super::hex::{Hex, NoHex};
use crate::fault::{Cause, Error, Fault};
use crate::header::HEADER_BYTES;
use crate::multiset::Proof;
use blockmill_archive::blkdat::Corruption;
use blockmill_verdict::{BrokenRule, Cause as _, FaultReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of the documents' layout.
pub const SCHEMA: u32 = 2;

/// Any of the documents, with what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "document", rename_all = "lowercase")]
pub enum Document {
    /// What the files of a shard hold.
    Headers(Headers),
    /// The files of unspent coins, and what they come to.
    Coins(Coins),
    /// What level `execution` asks of all shards.
    Execution(Execution),
    /// What the bodies of a shard are to be held to.
    Table {
        /// The files of the shard.
        sources: Vec<Source>,
        /// Its blocks.
        #[serde(flatten)]
        table: Table,
    },
    /// What became of them.
    Bodies {
        /// The files of the shard.
        sources: Vec<Source>,
        /// The answer to its table.
        #[serde(flatten)]
        bodies: Bodies,
    },
    /// What all shards together come to.
    Verdict(Verdict),
}

/// What all shards together come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The network.
    pub chain: String,
    /// Blocks of the best chain that were verified.
    pub blocks: u64,
    /// The height of the first one.
    pub first: Option<u32>,
    /// The height of the last one.
    pub last: Option<u32>,
    /// The hash of the last one.
    pub tip: Option<String>,
    /// The hash of the block on which all rests, where the files begin in the middle of a chain.
    pub anchor: Option<String>,
    /// Transactions of these blocks.
    pub transactions: u64,
    /// Their inputs, coinbases not counted.
    pub inputs: u64,
    /// Blocks in branches beside the best chain.
    pub stale: u64,
    /// Coins created, spent and unspent, at level `execution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coins: Option<Proof>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of them.
    pub sha256: String,
}

/// The headers of a shard: what its files hold, before anything is known of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The files.
    pub sources: Vec<Source>,
    /// The undo files of their blocks, at level `execution`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<Source>,
    /// What was found in them, in their order.
    pub records: Vec<Record>,
    /// What is damaged, by the index of the file.
    pub damage: Vec<(u32, Corruption)>,
    /// Corrupt places that are not listed.
    pub unlisted: u64,
}

/// A block that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file, as an index of the shard's.
    pub file: u32,
    /// Where in the file the block's first byte is.
    pub offset: u64,
    /// Bytes of the block, as its frame says.
    pub size: u32,
    /// Its header.
    pub header: Hex<HEADER_BYTES>,
    /// What the block says of its height, where its parent is not in the shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<u32>,
    /// Where its undo data begins: the undo file, as an index of the shard's, and the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<(u32, u32)>,
}

/// The blocks of a shard that are to be verified, and what the headers of all shards say of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The undo files of the shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<Source>,
    /// One row for each block.
    pub rows: Vec<Row>,
}

/// A block, and what its body has to be held to beside its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The block.
    pub record: Record,
    /// Its height; none where the chain begins in the middle and does not tell it. With the hash it
    /// decides on the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The median time past.
    pub median_time_past: u32,
}

/// What became of the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    /// Each row, in the order of the table.
    pub rows: Vec<Looked>,
    /// What the good ones come to, at level `execution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Box<Part>>,
}

/// What makes the sum of a merge its own. Who can still change a file must not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salt {
    /// Drawn when everything else was there.
    pub secret: Hex<32>,
    /// SHA-256 of what it was drawn for: all that headers and unspent coins tell.
    pub files: Hex<32>,
}

/// The part of a sum over all coins that some blocks have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The salt.
    pub salt: Salt,
    /// The sum: hashes of what was created, less those of what was spent, as one number, its
    /// highest digit first.
    pub sum: Hex<32>,
    /// Coins that were created.
    pub created: u64,
    /// Coins that were spent.
    pub spent: u64,
    /// Height and id of each coinbase.
    pub coinbases: Vec<(u32, Hex<32>)>,
    /// What speaks against undo data, of the lowest block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Finding>,
    /// What the lowest block breaks, if undo data is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Finding>,
}

/// What is wrong at a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its height.
    pub height: u32,
    /// What.
    pub remote: RemoteFault,
}

/// A set of unspent coins: which files have it, and what they come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coins {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The files.
    pub sources: Vec<Source>,
    /// What they come to, under the salt of a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Unspent>,
}

/// The part of a sum over all coins that unspent ones have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unspent {
    /// The salt.
    pub salt: Salt,
    /// The sum, what is unspent being taken away.
    pub sum: Hex<32>,
    /// How many coins there are.
    pub coins: u64,
    /// The block behind which they are unspent.
    pub tip: Hex<32>,
}

/// What level `execution` asks of the blocks of all shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The salt of the sum.
    pub salt: Salt,
    /// Scripts run above this height only.
    pub assumed_valid: u32,
    /// By height, the median of the times of the block and the ten before it.
    pub median_times: Steps,
}

/// Numbers that grow, as documents have them: each less the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
pub struct Steps(pub Vec<u32>);

impl From<Vec<u32>> for Steps {
    fn from(mut steps: Vec<u32>) -> Self {
        let mut last: u32 = 0;
        for step in &mut steps {
            last = last.wrapping_add(*step);
            *step = last;
        }
        Self(steps)
    }
}

impl From<Steps> for Vec<u32> {
    fn from(Steps(mut numbers): Steps) -> Self {
        let mut last = 0;
        for number in &mut numbers {
            (last, *number) = (*number, number.wrapping_sub(last));
        }
        numbers
    }
}

/// What became of one block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Its file, as an index of the shard's.
    pub file: u32,
    /// Where in the file its first byte is.
    pub offset: u64,
    /// Its transactions; none where it is not good.
    pub transactions: u64,
    /// Their inputs, the coinbase's not counted.
    pub inputs: u64,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<RemoteFault>,
    /// Bytes of the record behind the block.
    #[serde(default, skip_serializing_if = "is_none")]
    pub spare: u32,
    /// Blocks that stand in these bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Record>,
    /// What is damaged in these bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<Corruption>,
}

/// Are there no bytes?
fn is_none(bytes: &u32) -> bool {
    *bytes == 0
}

/// A fault that another process found.
pub type RemoteFault = blockmill_verdict::RemoteFault<RemoteDetails>;

/// What a remote fault of this chain adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteDetails {
    /// May another copy with the same header be good?
    pub is_damage: bool,
}

/// `fault` as another process reads it.
pub(super) fn remote_fault(fault: &Fault) -> RemoteFault {
    if let Cause::Remote(remote) = &fault.cause {
        return (**remote).clone();
    }
    let details = RemoteDetails { is_damage: fault.cause.is_damage() };
    let (text, broken) = (fault.cause.to_string(), fault.cause.broken_rule());
    RemoteFault::new(fault.status(), text, broken, details)
}

/// An error that is not about the bytes of a block, as another process reads it.
pub(super) fn remote_error(error: &Error) -> RemoteFault {
    let FaultReport { message, rule, expected, found, .. } = error.report();
    let broken = BrokenRule { rule, expected, found };
    RemoteFault::new(error.status(), message, broken, RemoteDetails { is_damage: false })
}

/// The parts of an error about the block at `height`.
pub(super) fn remote_report(remote: &RemoteFault, height: u32) -> FaultReport {
    let BrokenRule { rule, expected, found } = remote.broken_rule();
    let block = Some(height.into());
    FaultReport { block, rule, expected, found, ..FaultReport::new(&remote.text) }
}
