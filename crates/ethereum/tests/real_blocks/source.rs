//! Real blocks of the fixtures, read by the shortest means, not by the code under test.

use rlp::{OnePass, Write};
use std::io::Read;
use std::path::PathBuf;

/// Hex, with or without 0x.
pub fn hex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// One block: header, body and, where the source has them, receipts.
#[derive(Clone)]
pub struct RealBlock {
    /// Where it comes from.
    pub name: String,
    pub header: Vec<u8>,
    pub body: Vec<u8>,
    pub receipts: Option<Vec<u8>>,
}

/// The folder of Ethereum fixtures; `None`, with a word about it, when it is not there.
pub fn fixtures() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("BLOCKMILL_FIXTURES") else {
        println!("skipped: BLOCKMILL_FIXTURES is not set");
        return None;
    };
    Some(PathBuf::from(folder).join("ethereum"))
}

/// A block that stands as `[header, transactions, ommers, ...]`.
fn split(name: String, block: &[u8]) -> RealBlock {
    let mut list = rlp::Reader::new(block).list().unwrap();
    let header = list.item().unwrap().raw.to_vec();
    let mut body = OnePass::default();
    body.list(|body| body.raw(list.rest()));
    RealBlock { name, header, body: body.into_bytes(), receipts: None }
}

/// The blocks of a chain in `chains`.
pub fn chain(name: &str) -> Option<Vec<RealBlock>> {
    let file = std::fs::read(fixtures()?.join("chains").join(name).join("chain.rlp")).unwrap();
    let mut reader = rlp::Reader::new(&file);
    let mut blocks = vec![];
    while !reader.is_empty() {
        let item = reader.item().unwrap();
        blocks.push(split(format!("{name}, item {}", blocks.len()), item.raw));
    }
    Some(blocks)
}

/// The blocks of the witness files.
pub fn witnesses() -> Option<Vec<RealBlock>> {
    let mut blocks = vec![];
    for entry in std::fs::read_dir(fixtures()?.join("witness")).unwrap() {
        let entry = entry.unwrap();
        let file = std::fs::File::open(entry.path()).unwrap();
        let decoder = zstd::Decoder::new(file).unwrap();
        let json: serde_json::Value =
            serde_json::from_reader(std::io::BufReader::new(decoder)).unwrap();
        let block = hex(json["block"].as_str().unwrap());
        blocks.push(split(entry.file_name().to_string_lossy().into_owned(), &block));
    }
    Some(blocks)
}

/// The blocks of an era1 file: records of type, length and Snappy frames.
pub fn era1(name: &str) -> Option<Vec<RealBlock>> {
    let file = std::fs::read(fixtures()?.join("era1").join(name)).unwrap();
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
    Some(both.map(block).collect())
}
