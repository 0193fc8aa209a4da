//! The real blocks of the fixtures, and blocks that tests make.

use blockmill_bitcoin::decode::Block;
use std::path::PathBuf;

/// A folder that the environment names, or `None` (with a line that says so).
pub fn folder(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: {variable} is not set");
    }
    folder
}

/// Blocks of one source, each as its bytes.
#[allow(dead_code)] // each test program uses its own part of this module
pub struct Source {
    /// For messages.
    pub name: String,
    /// In the order of the file.
    pub blocks: Vec<Vec<u8>>,
}

/// All real blocks; empty (with a line that says so) without fixtures.
#[allow(dead_code)]
pub fn all() -> Vec<Source> {
    let Some(folder) = folder("BLOCKMILL_FIXTURES").map(|folder| folder.join("bitcoin")) else {
        return Vec::new();
    };
    let mut sources = vec![
        framed(&folder.join("mainnet-0-4521.dat"), 4_522),
        framed(&folder.join("testnet3-0-400.dat"), 400),
    ];
    let text = std::fs::read_to_string(folder.join("regtest-1-206.hex.txt")).unwrap();
    sources.push(Source {
        name: "regtest".into(),
        blocks: text.lines().filter(|line| !line.is_empty()).map(hex).collect(),
    });
    assert_eq!(sources[2].blocks.len(), 206);
    let mut paths: Vec<_> =
        folder.join("blocks").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 9);
    sources.extend(paths.iter().map(|path| Source {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        blocks: vec![std::fs::read(path).unwrap()],
    }));
    sources
}

/// Whole records of a block file: 4 bytes of the network, 4 of the length, the block. `least` are
/// there.
#[allow(dead_code)]
fn framed(path: &std::path::Path, least: usize) -> Source {
    let bytes = std::fs::read(path).unwrap();
    let mut blocks = Vec::new();
    let mut rest = &bytes[..];
    while let Some((head, body)) = rest.split_first_chunk::<8>() {
        let length = u32::from_le_bytes(*head[4..].first_chunk().unwrap()) as usize;
        let Some((block, after)) = body.split_at_checked(length) else { break };
        blocks.push(block.to_vec());
        rest = after;
    }
    assert!(blocks.len() >= least, "{} blocks in {}", blocks.len(), path.display());
    Source { name: path.file_name().unwrap().to_string_lossy().into_owned(), blocks }
}

/// Bytes from hexadecimal text.
pub fn hex(text: &str) -> Vec<u8> {
    let byte = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// A block of real bytes, decoded.
#[allow(dead_code)] // each test program uses its own part of this module
pub fn decoded(raw: &[u8]) -> Block {
    let mut block = Block { raw: raw.to_vec(), ..Block::default() };
    block.decode().unwrap();
    block
}

/// Numbers that are the same in each run (xorshift).
#[allow(dead_code)]
pub struct Numbers(pub u64);

#[allow(dead_code)]
impl Numbers {
    /// The next below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }
}
