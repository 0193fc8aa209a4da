//! The dumps of the fixtures, and their blocks.
#![allow(dead_code)]

pub mod oracle;
mod run;
pub mod shown;

pub use run::Run;

use blockmill_hashes::ManySha256;
use blockmill_neo::types::Block;

/// A dump of neo-go.
#[derive(Clone, Copy, Debug)]
pub struct Dump {
    pub name: &'static str,
    pub file: &'static str,
    pub config: &'static str,
    /// Whether headers have state roots.
    pub state_root: bool,
    pub blocks: usize,
    pub transactions: usize,
}

impl Dump {
    pub const CHAIN50: Self = Self {
        name: "chain50x2",
        file: "neo/chain50x2.acc",
        config: "neo/chain50x2.yml",
        state_root: false,
        blocks: 51,
        transactions: 99,
    };
    pub const EMPTY: Self = Self {
        name: "empty2000-sr",
        file: "neo/gen/empty2000-sr.acc.zst",
        config: "neo/gen/empty2000-sr.yml",
        state_root: true,
        blocks: 2004,
        transactions: 405,
    };
    pub const MIXED: Self = Self {
        name: "mix200x200-sr",
        file: "neo/gen/mix200x200-sr.acc.zst",
        config: "neo/gen/mix200x200-sr.yml",
        state_root: true,
        blocks: 205,
        transactions: 40_023,
    };
    pub const ALL: [Self; 3] = [Self::CHAIN50, Self::EMPTY, Self::MIXED];
}

/// The encoded blocks of a whole dump.
pub fn records(dump: Dump) -> Vec<Vec<u8>> {
    split(&blockmill_testkit::read(dump.file))
}

/// The encoded blocks in the bytes of a whole dump.
pub fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (count, mut rest) = bytes.split_first_chunk().unwrap();
    let mut records = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk() {
        let (record, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        records.push(record.to_vec());
        rest = more;
    }
    assert_eq!(records.len(), u32::from_le_bytes(*count) as usize);
    records
}

/// The blocks of a whole dump, decoded.
pub fn blocks(dump: Dump) -> Vec<Block> {
    decoded(records(dump), dump.state_root)
}

/// Decodes blocks. `state_root`: their headers have state roots.
pub fn decoded(records: Vec<Vec<u8>>, state_root: bool) -> Vec<Block> {
    let hasher = ManySha256::detect();
    let decoded = |raw| {
        let mut block = Block { raw, ..Block::default() };
        block.decode(state_root, &hasher).unwrap();
        block
    };
    records.into_iter().map(decoded).collect()
}
