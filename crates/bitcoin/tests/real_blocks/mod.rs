//! The real blocks of the fixtures, and blocks that tests make.

use blockmill_bitcoin::types::Block;

/// Blocks of one source, each as its bytes.
#[allow(dead_code)] // each test program uses its own part of this module
pub struct Source {
    /// For messages.
    pub name: String,
    /// In the order of the file.
    pub blocks: Vec<Vec<u8>>,
}

/// All real blocks.
#[allow(dead_code)]
pub fn all() -> Vec<Source> {
    let folder = blockmill_testkit::fixture("bitcoin");
    let mut sources = vec![
        framed(&folder.join("mainnet-0-4521.dat"), 4_522),
        framed(&folder.join("testnet3-0-400.dat"), 400),
    ];
    let text = std::fs::read_to_string(folder.join("regtest-1-206.hex.txt")).unwrap();
    sources.push(Source {
        name: "regtest".into(),
        blocks: text
            .lines()
            .filter(|line| !line.is_empty())
            .map(blockmill_testkit::hex::decode)
            .collect(),
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

/// A block of real bytes, decoded.
#[allow(dead_code)] // each test program uses its own part of this module
pub fn decoded(raw: &[u8]) -> Block {
    let mut block = Block { raw: raw.to_vec(), ..Block::default() };
    block.decode().unwrap();
    block
}
