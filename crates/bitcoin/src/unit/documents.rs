//! What goes between who looks at block files and who joins them. `docs/formats/boundary.md` has
//! the documents.

use crate::fault::{Cause, Fault};
use crate::header::HEADER_BYTES;
use archive::blkdat::Damage;
use chain::{Digits, Status};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Version of the documents' layout.
pub const SCHEMA: u32 = 1;

/// Any of the documents, with what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "document", rename_all = "lowercase")]
pub enum Document {
    /// What the files of a unit hold.
    Headers(Headers),
    /// What the bodies of a unit are to be held to.
    Table {
        /// The files of the unit.
        sources: Vec<Source>,
        /// Its blocks.
        #[serde(flatten)]
        table: Table,
    },
    /// What became of them.
    Bodies {
        /// The files of the unit.
        sources: Vec<Source>,
        /// The answer to its table.
        #[serde(flatten)]
        bodies: Bodies,
    },
    /// What all units together come to.
    Verdict(Verdict),
}

/// What all units together come to.
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
}

/// A block file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path.
    #[serde(serialize_with = "chain::path::serialize")]
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of them.
    pub sha256: String,
}

/// The headers of a unit: what its files hold, before anything is known of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub chain: String,
    /// The files.
    pub sources: Vec<Source>,
    /// What was found in them, in their order.
    pub records: Vec<Record>,
    /// What is damaged, by the index of the file.
    pub damage: Vec<(u32, Damage)>,
    /// Damaged places that are not listed.
    pub unlisted: u64,
}

/// A block that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file, as an index of the unit's.
    pub file: u32,
    /// Where in the file the block's first byte is.
    pub offset: u64,
    /// Bytes of the block, as its frame says.
    pub size: u32,
    /// Its header.
    pub header: HeaderText,
    /// What the block says of its height, where its parent is not in the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<u32>,
}

/// The bytes of a header, in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeaderText(pub [u8; HEADER_BYTES]);

/// A text is no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoHeader(String);

impl fmt::Display for NoHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected the 160 hexadecimal digits of a header, found {:?}", self.0)
    }
}

impl std::error::Error for NoHeader {}

impl TryFrom<String> for HeaderText {
    type Error = NoHeader;

    fn try_from(text: String) -> Result<Self, NoHeader> {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| match *pair {
            [high, low] => Some((16 * digit(high)? + digit(low)?) as u8),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        let header = bytes.and_then(|bytes| bytes.try_into().ok());
        header.map(Self).ok_or(NoHeader(text))
    }
}

impl From<HeaderText> for String {
    fn from(header: HeaderText) -> Self {
        Digits(&header.0).to_string()
    }
}

/// The blocks of a unit that are to be verified, and what the headers of all units say of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
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
}

/// What became of one block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Its file, as an index of the unit's.
    pub file: u32,
    /// Where in the file its first byte is.
    pub offset: u64,
    /// Its transactions; none where it is not good.
    pub transactions: u64,
    /// Their inputs, the coinbase's not counted.
    pub inputs: u64,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<Told>,
    /// Bytes of the record behind the block.
    #[serde(default, skip_serializing_if = "is_none")]
    pub spare: u32,
    /// Blocks that stand in these bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Record>,
}

/// Are there no bytes?
fn is_none(bytes: &u32) -> bool {
    *bytes == 0
}

/// What is wrong with a block, as who looked at it tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// What it says of the chain and of the files.
    pub status: Status,
    /// May another copy with the same header be good?
    pub is_damage: bool,
    /// What is wrong, in a sentence.
    pub text: String,
    /// The rule that is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl From<&Fault> for Told {
    fn from(fault: &Fault) -> Self {
        if let Cause::Told(told) = &fault.cause {
            return (**told).clone();
        }
        let report = fault.report();
        Self {
            status: fault.status(),
            is_damage: fault.is_damage(),
            text: fault.cause.to_string(),
            rule: report.rule,
            expected: report.expected,
            found: report.found,
        }
    }
}
