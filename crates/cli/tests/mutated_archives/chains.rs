//! The archives that are corrupt: small chains, generated, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Format, Packed, ReceiptEncoding,
};
use blockmill_archive::{Want, WriteOptions};
use blockmill_ethereum::receipts::recode;
use blockmill_generate::bitcoin::{self, Order};
use blockmill_generate::ethereum::transfers;
use blockmill_rlp::{Encode, OnePass, RawList, Write as _};

use crate::oracle;

/// Files by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// How an archive is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// e2store: era, era1 and ere.
    Records,
    Freezer,
    Rlp,
    Headers,
    Blocks,
    BitcoinHeaders,
}

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    Gzip,
    Zstd,
}

/// An archive that nothing is wrong with.
pub struct Original {
    pub name: &'static str,
    pub kind: Kind,
    pub packing: Packing,
    /// Its files, unpacked.
    pub files: Files,
    /// Number of the first block.
    pub first: u64,
    /// Files that are never corrupt.
    pub sibling: Files,
    /// The file in the folder that is verified, or the folder itself.
    pub target: &'static str,
    pub flags: Vec<String>,
    /// The tip's hash as `--trust` takes it.
    pub tip: Option<String>,
    /// A block of another chain.
    pub foreign: Vec<u8>,
}

impl Original {
    /// An empty folder for one run.
    pub fn scratch(&self, worker: usize) -> PathBuf {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutated_archives");
        let path = base.join(format!("{} {worker}", self.name));
        if path.exists() {
            fs::remove_dir_all(&path).expect("an old folder");
        }
        fs::create_dir_all(&path).expect("a scratch folder");
        path
    }
}

/// The files of a folder and of those in it.
fn files_in(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a generated folder").map(|e| e.expect("an entry")) {
        let name = entry.file_name().into_string().expect("a plain name");
        if entry.path().is_dir() {
            let inner = files_in(&entry.path()).into_iter();
            files.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            files.insert(name, fs::read(entry.path()).expect("a generated file"));
        }
    }
    files
}

/// Blocks of three transfers each, with receipts: the genesis.json, and the chunk.
fn transfers(seed: u64) -> (Vec<u8>, Chunk) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recipe = transfers::Recipe { transfers: 24, block_transfers: 3, seed };
    transfers::generate(&recipe, folder.path(), |_| {}).expect("a chain of transfers");
    let genesis = fs::read(folder.path().join("genesis.json")).expect("its genesis.json");
    let archive = Archive::open(&[folder.path().join(transfers::FILE)]).expect("its blocks");
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).expect("a reader");
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    assert!(reader.read(&mut packed).expect("blocks"));
    packed.unpack(&mut chunk).expect("blocks");
    assert_eq!(chunk.blocks(), 9, "one chunk has the whole chain");
    chunk.first = Some(0);
    chunk.receipt_encoding = ReceiptEncoding::Consensus;
    let mut total = 0;
    for i in 0..chunk.blocks() {
        let transfers = if i == 0 { 0 } else { 3 };
        chunk.receipts.push(&receipts_of(transfers));
        let header = chunk.headers.iter().nth(i).expect("a header");
        total += oracle::difficulty(header);
        let mut word = [0; 32];
        word[24..].copy_from_slice(&total.to_be_bytes());
        chunk.total_difficulties.push(word);
    }
    (genesis, chunk)
}

/// The receipts of plain transfers: success, gas so far, no logs.
fn receipts_of(count: u64) -> Vec<u8> {
    let receipts = (1..=count).flat_map(|n| {
        let mut receipt = OnePass::default();
        receipt.list(|receipt| {
            receipt.u64(1);
            receipt.u64(n * 21_000);
            receipt.bytes(&[0; 256]);
            receipt.list(|_| ());
        });
        receipt.into_bytes()
    });
    RawList(&[&receipts.collect::<Vec<u8>>()]).encode()
}

/// The same chain in a format.
fn ethereum(name: &'static str, format: Format) -> Original {
    let (genesis, mut chunk) = transfers(1);
    let (_, other) = transfers(2);
    if let Some(encoding) = format.parts().receipts {
        let mut stored = blockmill_archive::Column::new();
        for receipts in chunk.receipts.iter() {
            let mut out = vec![];
            let encodings = (ReceiptEncoding::Consensus, encoding);
            recode(receipts, encodings, [], &mut out).expect("sound receipts");
            stored.push(&out);
        }
        (chunk.receipts, chunk.receipt_encoding) = (stored, encoding);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = match format {
        Format::Era1 | Format::Ere => "chain",
        Format::Era => unreachable!("era files are not written"),
        Format::Freezer => "ancient",
        Format::RlpExport => "chain.rlp",
        Format::HeaderStream => "headers.rlp",
        Format::Store => unreachable!("stores have tests of their own"),
    };
    let options = WriteOptions { gzip: false, network: "custom".into(), replace: false };
    let out = folder.path().join(target);
    let mut writer = ArchiveWriter::create(format, &out, &options).expect("a writer");
    let tip = chunk.headers.iter().last().map(blockmill_hashes::keccak256).expect("a tip");
    writer.append(&chunk).expect("blocks");
    writer.finish().expect("an archive");
    let foreign = other.headers.iter().last().expect("a header").to_vec();
    let kind = match format {
        Format::Era1 | Format::Ere | Format::Era => Kind::Records,
        Format::Freezer | Format::Store => Kind::Freezer,
        Format::RlpExport => Kind::Rlp,
        Format::HeaderStream => Kind::Headers,
    };
    // nothing leads to the state roots of these blocks
    let level: &[_] = if kind == Kind::Headers { &[] } else { &["--level", "bodies"] };
    let flags = [&["--seal", "off", "--chain", "genesis.json"], level].concat();
    let body = other.bodies.iter().last().expect("a body");
    let items = blockmill_rlp::Reader::new(body).list().expect("a list").rest();
    let whole = RawList(&[&foreign, items]).encode();
    Original {
        name,
        kind,
        packing: Packing::None,
        files: files_in(folder.path()),
        first: 0,
        sibling: Files::from([("genesis.json".into(), genesis)]),
        target,
        flags: flags.into_iter().map(String::from).collect(),
        tip: Some(blockmill_testkit::hex::encode_0x(tip)),
        foreign: if kind == Kind::Rlp { whole } else { foreign },
    }
}

pub fn era1() -> Original {
    ethereum("era1", Format::Era1)
}

pub fn ere() -> Original {
    ethereum("ere", Format::Ere)
}

/// An era file of Capella: blocks 39 to 41 of a chain of the fixtures.
pub fn era() -> Original {
    const NAME: &str = "execapis-00003-1998ddb2.era";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/era");
    let path = folder.join(format!("{NAME}.zst"));
    let packed = fs::read(&path).expect("an era file");
    let archive = Archive::open(&[path]).expect("an era file");
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).expect("a reader");
    let (mut blocks, mut chunk) = (Packed::new(), Chunk::new());
    assert!(reader.read(&mut blocks).expect("blocks"));
    blocks.unpack(&mut chunk).expect("blocks");
    let tip = chunk.headers.iter().last().expect("a header");
    let genesis = blockmill_testkit::fixture("ethereum/chains/execution-apis/genesis.json");
    let flags = ["--seal", "off", "--chain", "genesis.json", "--level", "bodies"];
    Original {
        name: "era",
        kind: Kind::Records,
        packing: Packing::None,
        files: Files::from([(NAME.into(), zstd::decode_all(&packed[..]).expect("zstd"))]),
        first: 39,
        sibling: Files::from([("genesis.json".into(), fs::read(genesis).expect("a genesis"))]),
        target: NAME,
        flags: flags.map(String::from).into(),
        tip: Some(blockmill_testkit::hex::encode_0x(blockmill_hashes::keccak256(tip))),
        foreign: tip.to_vec(),
    }
}

pub fn freezer() -> Original {
    ethereum("ancient folder", Format::Freezer)
}

pub fn rlp() -> Original {
    ethereum("RLP export", Format::RlpExport)
}

pub fn rlp_gzip() -> Original {
    Original { packing: Packing::Gzip, ..ethereum("RLP export in gzip", Format::RlpExport) }
}

pub fn rlp_zstd() -> Original {
    Original { packing: Packing::Zstd, ..ethereum("RLP export in zstd", Format::RlpExport) }
}

pub fn headers() -> Original {
    ethereum("header stream", Format::HeaderStream)
}

/// A chain with spends, two stale branches and a block that comes twice.
pub fn blocks(xor: bool) -> Original {
    let generate = |seed| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recipe = bitcoin::Recipe {
            inputs: 24,
            blocks: 20,
            block_inputs: 8,
            coins: None,
            padding: 0,
            unlinked: false,
            unusual: 0,
            stale: 2,
            duplicates: 1,
            seed,
            order: Order::Height,
            xor,
            file_size: 9_000,
        };
        let threads = NonZero::<usize>::MIN;
        bitcoin::generate(&recipe, folder.path(), threads, |_| {}).expect("a chain");
        files_in(folder.path())
    };
    let (files, other) = (generate(1), generate(2));
    let foreign = oracle::blocks_of(&other).pop().expect("a block");
    Original {
        name: if xor { "obfuscated block files" } else { "block files" },
        kind: Kind::Blocks,
        packing: Packing::None,
        files,
        first: 0,
        sibling: Files::new(),
        target: ".",
        flags: vec!["--chain".into(), "regtest".into()],
        tip: None,
        foreign,
    }
}

/// The headers of the longest chain of such blocks.
pub fn bitcoin_headers() -> Original {
    let blocks = blocks(false);
    let headers: Vec<u8> = oracle::headers_of(&blocks.files);
    let flags = ["--chain", "regtest", "--level", "headers"];
    Original {
        name: "Bitcoin headers",
        kind: Kind::BitcoinHeaders,
        files: Files::from([("blockchain_headers".into(), headers)]),
        target: "blockchain_headers",
        flags: flags.map(String::from).into(),
        foreign: blocks.foreign[..80].to_vec(),
        ..blocks
    }
}

/// A file as it lies on disk.
pub fn pack(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::None => bytes.to_vec(),
        Packing::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        Packing::Zstd => {
            let mut encoder = zstd::Encoder::new(vec![], 1).expect("an encoder");
            encoder.include_checksum(true).expect("an encoder");
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        }
    }
}
