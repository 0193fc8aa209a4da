//! Real blocks of the fixtures, read by the shortest means, not by the code under test.

use blockmill_rlp::{OnePass, Write};
use std::io::Read;

/// One block: header, body and, where the source has them, receipts.
#[derive(Clone)]
pub struct RealBlock {
    /// Where it comes from.
    pub name: String,
    pub header: Vec<u8>,
    pub body: Vec<u8>,
    pub receipts: Option<Vec<u8>>,
}

/// A block that stands as `[header, transactions, ommers, ...]`.
fn split(name: String, block: &[u8]) -> RealBlock {
    let mut list = blockmill_rlp::Reader::new(block).list().unwrap();
    let header = list.item().unwrap().raw.to_vec();
    let mut body = OnePass::default();
    body.list(|body| body.raw(list.rest()));
    RealBlock { name, header, body: body.into_bytes(), receipts: None }
}

/// The blocks of a chain in `chains`.
pub fn chain(name: &str) -> Vec<RealBlock> {
    export(name, &blockmill_testkit::read(format!("ethereum/chains/{name}/chain.rlp")))
}

/// The blocks of an RLP export.
pub fn export(name: &str, file: &[u8]) -> Vec<RealBlock> {
    let mut reader = blockmill_rlp::Reader::new(file);
    let mut blocks = vec![];
    while !reader.is_empty() {
        let item = reader.item().unwrap();
        blocks.push(split(format!("{name}, item {}", blocks.len()), item.raw));
    }
    blocks
}

/// The blocks of the witness files.
pub fn witnesses() -> Vec<RealBlock> {
    let mut blocks = vec![];
    for entry in std::fs::read_dir(blockmill_testkit::fixture("ethereum/witness")).unwrap() {
        let entry = entry.unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&blockmill_testkit::read(entry.path())).unwrap();
        let block = blockmill_testkit::hex::decode(json["block"].as_str().unwrap());
        blocks.push(split(entry.file_name().to_string_lossy().into_owned(), &block));
    }
    blocks
}

/// The blocks of an era1 file: records of type, length and Snappy frames.
pub fn era1(name: &str) -> Vec<RealBlock> {
    let file = blockmill_testkit::read(format!("ethereum/era1/{name}"));
    let (mut at, mut parts) = (0, [vec![], vec![], vec![]]);
    while at < file.len() {
        let len = u32::from_le_bytes(file[at + 2..at + 6].try_into().unwrap()) as usize;
        // 3: header, 4: body, 5: receipts
        if let Some(list) = usize::from(file[at]).checked_sub(3).and_then(|i| parts.get_mut(i)) {
            let mut item = vec![];
            let frames = &file[at + 8..at + 8 + len];
            snap::read::FrameDecoder::new(frames).read_to_end(&mut item).unwrap();
            list.push(item);
        }
        at += 8 + len;
    }
    let [headers, bodies, receipts] = parts;
    let both = headers.into_iter().zip(bodies).zip(receipts).enumerate();
    let block = |(i, ((header, body), receipts))| RealBlock {
        name: format!("{name}, block {i}"),
        header,
        body,
        receipts: Some(receipts),
    };
    both.map(block).collect()
}
