//! The contents of an archive or a store as a value.

use super::{Outcome, answers};
use crate::answer::{Answer, Payload};
use blockmill_verdict::{Shortfall, Status};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The result of an inspection.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// [`Status::Ok`] if nothing is corrupt or missing.
    pub status: Status,
    /// What the archive contains.
    pub contents: Box<Contents>,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// What a reader of the result should know.
    pub notes: Vec<String>,
}

/// What an archive or a store contains. It serializes as the `result` of `inspect --json`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Contents {
    /// Archives of Ethereum blocks.
    Ethereum(blockmill_archive::Inspection),
    /// Bitcoin block files.
    Bitcoin(BitcoinFiles),
    /// Dumps of Neo blocks.
    Neo(NeoDumps),
    /// A Bitcoin or Neo store, or a snapshot of an Ethereum state: the document of
    /// `inspect --json`.
    Store(Value),
}

/// Bitcoin block files.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct BitcoinFiles {
    /// The network, if it is known.
    #[serde(skip)]
    pub network: Option<String>,
    /// Number of blocks in the files.
    #[serde(skip)]
    pub blocks: u64,
    /// The last block of the best chain; `None` if no block is connected to a genesis block.
    #[serde(skip)]
    pub tip: Option<BlockId>,
    /// Everything that was found, as in `inspect --json`.
    pub document: Value,
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// Its number or height.
    pub number: u64,
    /// Its hash, in the byte order that the chain stores.
    pub hash: [u8; 32],
}

/// Dumps of Neo blocks.
#[derive(Clone, Debug, Serialize)]
pub struct NeoDumps {
    /// The files, gaps and corruption.
    #[serde(flatten)]
    pub inspection: blockmill_archive::Inspection,
    /// The name of the format.
    pub format: &'static str,
    /// Number of transactions, if the blocks were decoded.
    pub transactions: Option<u64>,
}

/// Describes an archive or a store: format, chain, range, gaps, corruption. With `deep` every
/// record is read and decoded.
///
/// A corrupt or incomplete archive is no error: see [`Inspection::status`].
///
/// # Errors
/// Returns an [`Outcome`] if the paths cannot be opened or have nothing that can be read.
pub fn inspect(paths: &[impl AsRef<Path>], deep: bool) -> Result<Inspection, Outcome> {
    let answer = answers::inspect(paths, deep);
    let Answer { status, shortfalls, notes, result, .. } = answer;
    match result {
        Some(Payload::Contents(contents)) => Ok(Inspection { status, contents, shortfalls, notes }),
        result => Err(Answer { status, shortfalls, notes, result, ..answer }.into()),
    }
}
