//! Chains in memory, to be edited and written in any format.

use crate::program::{Scratch, blockmill, succeed};
use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Format, Packed, ReceiptEncoding, Want, WriteOptions,
};
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::{U256, receipts};
use blockmill_rlp::{Encode, OnePass, Write};
use std::path::Path;

/// All formats, under their names on the command line.
pub const FORMATS: [&str; 5] = ["headers", "rlp", "rlp-gz", "freezer", "era1"];

/// Blocks from 0 on. Receipts are in consensus encoding.
#[derive(Clone)]
pub struct Blocks {
    pub headers: Vec<Vec<u8>>,
    pub bodies: Vec<Vec<u8>>,
    pub receipts: Vec<Vec<u8>>,
}

impl Blocks {
    /// Blocks 0 to `last` of the generated main network.
    pub fn generated(last: u64) -> Self {
        let scratch = Scratch::new(&format!("generated-{last}-{:?}", std::thread::current().id()));
        let path = scratch.path("era1");
        let last = last.to_string();
        let mut generate = blockmill("generate ethereum --format era1 --headers");
        succeed(generate.arg(last).arg("--out").arg(&path));
        Self::read(&path)
    }

    /// Reads an archive that has receipts in consensus encoding, or none.
    pub fn read(path: &Path) -> Self {
        let archive = Archive::open(&[path.to_path_buf()]).expect("a good archive");
        let want = Want { bodies: true, receipts: true };
        let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).expect("blocks");
        let mut blocks = Self { headers: vec![], bodies: vec![], receipts: vec![] };
        let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
        while reader.read(&mut packed).expect("a chunk") {
            packed.unpack(&mut chunk).expect("good blocks");
            blocks.headers.extend(chunk.headers.iter().map(<[u8]>::to_vec));
            blocks.bodies.extend(chunk.bodies.iter().map(<[u8]>::to_vec));
            blocks.receipts.extend(chunk.receipts.iter().map(<[u8]>::to_vec));
        }
        blocks
    }

    /// The decoded header of block `i`.
    pub fn header(&self, i: usize) -> Header {
        HeaderView::decode(&self.headers[i]).expect("a good header").to_owned()
    }

    /// Changes the header of block `i`, and the parent hashes of all that follow.
    pub fn edit(&mut self, i: usize, change: impl FnOnce(&mut Header)) {
        let mut header = self.header(i);
        change(&mut header);
        self.headers[i] = header.encode();
        self.relink(i + 1);
    }

    /// Makes each header from block `from` on follow the one before it.
    pub fn relink(&mut self, from: usize) {
        for i in from..self.headers.len() {
            let mut header = self.header(i);
            header.parent_hash = blockmill_hashes::keccak256(&self.headers[i - 1]);
            self.headers[i] = header.encode();
        }
    }

    /// A block from `at` on that has transactions.
    pub fn with_transactions(&self, at: usize) -> usize {
        (at..self.bodies.len()).find(|i| self.bodies[*i].len() > 3).expect("such a block")
    }

    /// The blocks from `first` to before `end` of the block numbers.
    pub fn part(&self, first: usize, end: usize) -> Self {
        Self {
            headers: self.headers[first..end].to_vec(),
            bodies: self.bodies[first..end].to_vec(),
            receipts: self.receipts[first..end].to_vec(),
        }
    }

    /// Exchanges two blocks.
    pub fn swap(&mut self, i: usize, j: usize) {
        self.headers.swap(i, j);
        self.bodies.swap(i, j);
        self.receipts.swap(i, j);
    }

    /// Takes block `i` out.
    pub fn remove(&mut self, i: usize) {
        self.headers.remove(i);
        self.bodies.remove(i);
        self.receipts.remove(i);
    }

    /// Writes all blocks. Total difficulties are sums from block 0 on, whatever the blocks are.
    pub fn write(&self, format: &str, path: &Path) {
        let (format, gzip) = match format {
            "headers" => (Format::HeaderStream, false),
            "rlp" => (Format::RlpExport, false),
            "rlp-gz" => (Format::RlpExport, true),
            "freezer" => (Format::Freezer, false),
            _ => (Format::Era1, false),
        };
        let options = WriteOptions { gzip, network: "mainnet".into(), replace: false };
        let mut writer = ArchiveWriter::create(format, path, &options).expect("a new archive");
        let mut total = U256::ZERO;
        for i in 0..self.headers.len() {
            let mut chunk = Chunk::new();
            if matches!(format, Format::Era1 | Format::Freezer) {
                let header = self.header(i);
                chunk.first = Some(header.number);
                total += header.difficulty;
            }
            chunk.headers.push(&self.headers[i]);
            if format != Format::HeaderStream {
                chunk.bodies.push(&self.bodies[i]);
                self.put_receipts(i, format, &mut chunk);
            }
            chunk.total_difficulties.push(total.to_be_bytes());
            writer.append(&chunk).expect("blocks that can be written");
        }
        writer.finish().expect("a whole archive");
    }

    fn put_receipts(&self, i: usize, format: Format, chunk: &mut Chunk) {
        if format == Format::Freezer {
            let mut stored = vec![];
            receipts::consensus_to_storage(&self.receipts[i], &mut stored).expect("receipts");
            chunk.receipts.push(&stored);
            chunk.receipt_encoding = ReceiptEncoding::Storage;
        } else if format == Format::Era1 {
            chunk.receipts.push(&self.receipts[i]);
        }
    }
}

/// An RLP list of encoded items.
pub fn list<T: AsRef<[u8]>>(items: &[T]) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item.as_ref())));
    out.into_bytes()
}

/// The encodings of the items in an RLP list.
pub fn items(list: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = blockmill_rlp::Reader::new(list).list().expect("a list");
    let mut items = vec![];
    while !reader.is_empty() {
        items.push(reader.item().expect("an item").raw.to_vec());
    }
    items
}
