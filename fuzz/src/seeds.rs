//! Valid inputs to start from, generated here: small chains in every encoding and format. Only the
//! era file is one of the archive crate's tests.

mod chain_files;
mod execution;
mod neo_blocks;
mod neo_contracts;

use crate::access_lists;
use crate::archives::{TABLE_FILES, frame};
use crate::era;
use crate::files::STORE_FILES;
use crate::input::{put_files, put_part};
use crate::tables;
use blockmill_archive::freezer::{Layout, Writer};
use blockmill_archive::{ArchiveWriter, Chunk, Format, ReceiptEncoding, WriteOptions};
use blockmill_ethereum::U256;
use blockmill_ethereum::header::Header;
use blockmill_ethereum::receipts::{consensus_to_storage, recode, storage_to_consensus};
use blockmill_ethereum::transactions::TransactionType;
use blockmill_pipeline::record::{Program, RunRecord};
use blockmill_rlp::ethereum::{AccessListEntry, Authorization, Transaction};
use blockmill_rlp::{Encode, List, OnePass, Write};
use blockmill_store::{Blocks, ChainStore, CommitPart, Items, Options, Tip};
use std::fs;

/// Blocks of a seed archive.
const BLOCKS: u64 = 3;

/// The seeds of one target, all of which it accepts.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let blocks = || (0..BLOCKS).map(Block::new);
    match target {
        "rlp" | "rlp_identity" => vec![vec![0x80], Block::new(1).body, Block::new(2).header],
        "header" => blocks().map(|block| block.header).chain([newest_header()]).collect(),
        "bft_extra_data" => bft_extra_data(),
        "body" => blocks().map(|block| block.body).collect(),
        "transaction" => TransactionType::ALL.map(transaction).to_vec(),
        "receipts" => blocks().flat_map(|block| [block.receipts, block.storage]).collect(),
        "block_access_list" => vec![vec![0xc0], access_lists::seed()],
        "genesis_json" => vec![GENESIS.into(), GENESIS_SHANGHAI.into()],
        "run_record" => vec![run_record()],
        "era1" => vec![archive(Format::Era1, false)],
        "era1_records" => era1_records(),
        "ere" => vec![archive(Format::Ere, false)],
        // the same parts, in other places
        "ere_records" => era1_records(),
        "era" => vec![era::seed()],
        "era_records" => era::record_seeds(),
        "freezer" => vec![freezer(Layout::Geth117, "chain"), freezer(Layout::Geth19, "")],
        "rlp_export" => vec![archive(Format::RlpExport, false)],
        "header_stream" => vec![archive(Format::HeaderStream, false)],
        "gzip" => vec![archive(Format::RlpExport, true), archive(Format::HeaderStream, true)],
        "store" => vec![store(true), store(false)],
        "table_files" => [0, 9, 17, 31].map(tables).to_vec(),
        "ethash_cache" => vec![ethash_cache()],
        "bitcoin_block" => chain_files::blocks(),
        "bitcoin_headers" => vec![chain_files::headers()],
        "blkdat_scan" => chain_files::files(),
        "bitcoin_scripts" => chain_files::spends(),
        "bitcoin_undo" => vec![chain_files::undo()],
        "trie_update" => (0..4).map(trie_changes).collect(),
        "acc" => neo_blocks::dumps(),
        "neo_block" => neo_blocks::blocks(),
        "neo_transaction" => neo_blocks::transactions(),
        "neo_nef" => neo_contracts::nefs(),
        "neo_manifest" => neo_contracts::manifests(),
        "neo_script" => neo_contracts::scripts(),
        "witness" => vec![execution::witness()],
        "state_test" => vec![execution::state_test()],
        "state_log" => execution::log_records(),
        "snapshot" => execution::snapshots(),
        "signatures" => (0..5).map(signature_checks).collect(),
        // the others take numbers, of which these bytes are as good as any
        _ => vec![
            vec![0x11; 120],
            (0..=255).collect(),
            blockmill_hashes::keccak512(b"seed").to_vec(),
        ],
    }
}

/// Changes of some hundred keys in many blocks.
fn trie_changes(family: u8) -> Vec<u8> {
    let bytes = (0..100).flat_map(|i| blockmill_hashes::keccak512(&[family, i]));
    [family].into_iter().chain(bytes).collect()
}

/// Checks of one operation, built from numbers of every kind.
fn signature_checks(operation: u8) -> Vec<u8> {
    let blocks = (0..12).flat_map(|i| blockmill_hashes::keccak512(&[operation, i]));
    [operation].into_iter().chain(blocks).collect()
}

/// A block in every encoding.
struct Block {
    header: Vec<u8>,
    body: Vec<u8>,
    receipts: Vec<u8>,
    storage: Vec<u8>,
}

impl Block {
    /// Block `number`; the first one is empty.
    fn new(number: u64) -> Self {
        let kinds: &[_] = if number == 0 { &[] } else { &TransactionType::ALL };
        let transactions: Vec<_> = kinds.iter().map(|kind| transaction(*kind)).collect();
        let ommers: Vec<_> = (1..number).map(|n| header(n).encode()).collect();
        let stored: Vec<_> = kinds.iter().map(|_| stored_receipt()).collect();
        let (mut receipts, mut storage) = (vec![], vec![]);
        storage_to_consensus(&list(&stored), kinds.iter().copied(), &mut receipts)
            .expect("receipts as they are stored");
        consensus_to_storage(&receipts, &mut storage).expect("receipts as they are hashed");
        let body = list(&[list(&transactions), list(&ommers)]);
        Self { header: header(number).encode(), body, receipts, storage }
    }
}

fn header(number: u64) -> Header {
    Header { number, difficulty: U256::from(131_072), timestamp: number * 13, ..Header::default() }
}

/// A header with every field.
fn newest_header() -> Vec<u8> {
    let number = Some(0x0102);
    let hash = Some([0xaa; 32]);
    Header {
        base_fee: Some(U256::from(7)),
        withdrawals_root: hash,
        blob_gas_used: number,
        excess_blob_gas: number,
        parent_beacon_root: hash,
        requests_hash: hash,
        block_access_list_hash: hash,
        slot_number: number,
        ..header(9)
    }
    .encode()
}

/// Extra data of IBFT 2.0 and of QBFT: a validator, a vote, a round, a seal.
fn bft_extra_data() -> Vec<Vec<u8>> {
    let (validators, seals) = (list(&[[7u8; 20].encode()]), list(&[[8u8; 65].encode()]));
    let vote = list(&[[9u8; 20].encode(), vec![0x81, 0xff]]);
    let vanity = [1u8; 32].encode();
    let of = |round: &[u8]| {
        list(&[vanity.clone(), validators.clone(), vote.clone(), round.to_vec(), seals.clone()])
    };
    vec![of(&[0x84, 0, 0, 0, 1]), of(&[5])]
}

/// An RLP list of encoded items.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    out.into_bytes()
}

/// A transaction in its form in a body.
fn transaction(kind: TransactionType) -> Vec<u8> {
    let gwei = U256::from(1_000_000_000);
    let address = &[7; 20];
    let entry = AccessListEntry { address, storage_keys: List::Values(&[[3; 32]]) };
    let delegation =
        Authorization { chain_id: U256::ONE, address, nonce: 1, y_parity: 1, r: gwei, s: gwei };
    let transaction = Transaction {
        kind,
        chain_id: U256::ONE,
        nonce: 1,
        max_priority_fee: gwei,
        max_fee: gwei,
        gas_limit: 21_000,
        to: Some(address),
        value: gwei,
        input: b"input",
        access_list: List::Values(&[entry]),
        max_blob_fee: gwei,
        blob_hashes: List::Values(&[[1; 32]]),
        authorizations: List::Values(&[delegation]),
        v: U256::ONE,
        r: gwei,
        s: gwei,
    };
    transaction.encode()
}

/// A receipt with one log, as geth stores it.
fn stored_receipt() -> Vec<u8> {
    let mut receipt = OnePass::default();
    receipt.list(|receipt| {
        receipt.u64(1);
        receipt.u64(21_000);
        receipt.list(|logs| {
            logs.list(|log| {
                log.fixed(&[7; 20]);
                log.list(|topics| [[8; 32], [9; 32]].iter().for_each(|topic| topics.fixed(topic)));
                log.bytes(b"data");
            });
        });
    });
    receipt.into_bytes()
}

/// A few blocks, with receipts as `format` has them.
fn chunk(format: Format) -> Chunk {
    let mut chunk = Chunk::new();
    for block in (0..BLOCKS).map(Block::new) {
        chunk.headers.push(&block.header);
        chunk.bodies.push(&block.body);
        let encoding = format.parts().receipts.unwrap_or_default();
        let encodings = (ReceiptEncoding::Consensus, encoding);
        recode(&block.receipts, encodings, [], &mut chunk.receipts.bytes)
            .expect("receipts as they are hashed");
        chunk.receipts.end_item();
        chunk.receipt_encoding = encoding;
    }
    chunk
}

/// The one file of a small archive.
fn archive(format: Format, gzip: bool) -> Vec<u8> {
    let folder = crate::input::folder();
    let path = match format {
        Format::Era1 | Format::Ere => folder.path().to_path_buf(),
        _ => folder.path().join("x.rlp"),
    };
    let options = WriteOptions { gzip, network: "mainnet".into(), replace: false };
    let mut writer = ArchiveWriter::create(format, &path, &options).expect("a new folder");
    writer.append(&chunk(format)).expect("blocks from 0 on");
    writer.finish().expect("a folder that takes files");
    let file = fs::read_dir(folder.path()).expect("the folder is there").next();
    let file = file.expect("one file").expect("the folder can be listed");
    fs::read(file.path()).expect("the file was written")
}

/// Blocks for `era1_records`: framed by the target, and framed here.
fn era1_records() -> Vec<Vec<u8>> {
    let (mut plain, mut framed) = (vec![1], vec![0]);
    for block in (0..BLOCKS).map(Block::new) {
        for part in [&block.header, &block.body, &block.receipts] {
            put_part(&mut plain, part);
            put_part(&mut framed, &frame(part));
        }
        plain.extend([1; 32]);
        framed.extend([1; 32]);
    }
    vec![plain, framed]
}

/// An ancient folder of new or of old, its data in several files.
fn freezer(layout: Layout, tables: &str) -> Vec<u8> {
    let folder = crate::input::folder();
    let path = folder.path().join("ancient");
    let mut writer = Writer::with(&path, layout, 1000).expect("a new folder");
    writer.append(&chunk(Format::Freezer)).expect("blocks from 0 on");
    writer.finish().expect("a folder that takes files");
    let mut out = vec![];
    put_files(&mut out, &TABLE_FILES, &path.join(tables));
    out
}

/// The files of a small store with a table and a log file.
fn tables(kind: u8) -> Vec<u8> {
    let folder = crate::input::folder();
    let options = tables::options(kind);
    let opened = tables::open(folder.path(), &options);
    let (mut store, mut table, mut log, _) = opened.expect("an empty folder");
    for round in 0..2u8 {
        for number in 0..60 {
            let key = [&b"abc"[..usize::from(number % 4)], &[number, round]].concat();
            table.insert(&key, &vec![number; usize::from(number)]).expect("room");
        }
        log.append(&[round; 300]).expect("room");
        let parts = &mut [CommitPart::Table(&mut table), CommitPart::Log(&mut log)];
        store.commit(parts, &[round]).expect("a commit");
    }
    let mut seed = vec![kind, 1];
    put_files(&mut seed, &tables::FILES, folder.path());
    seed
}

/// A store that was synced, or only committed.
fn store(synced: bool) -> Vec<u8> {
    let folder = crate::input::folder();
    let options = Options { file_bytes: 4096, run_items: 2, ..Options::default() };
    let (mut store, _) = ChainStore::open(folder.path(), &options).expect("an empty folder");
    for number in 0..5 {
        let block = Block::new(number % BLOCKS);
        let (header, body) = (&block.header[..40], &block.body[..]);
        let ends = [header.len() as u32, body.len() as u32];
        let hash = blockmill_hashes::keccak256(&number.to_le_bytes());
        let blocks = Blocks {
            first: number,
            hashes: &[hash],
            headers: Items { bytes: header, ends: &ends[..1] },
            bodies: Some(Items { bytes: body, ends: &ends[1..] }),
            receipts: None,
        };
        store.append(&blocks).expect("a block that follows");
        store.commit(&Tip { number, hash, ..Tip::default() }).expect("a block to commit");
    }
    if synced {
        store.sync().expect("a folder that takes files");
    }
    let mut out = vec![u8::from(synced)];
    put_files(&mut out, &STORE_FILES, folder.path());
    out
}

/// Header of a cache file of epoch 0, with the checksum of rows of zeros.
fn ethash_cache() -> Vec<u8> {
    let rows = vec![0; 16_776_896];
    let mut out = b"BMETHASH".to_vec();
    out.extend(1u32.to_le_bytes());
    out.extend(crc32fast::hash(&rows).to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend((rows.len() as u64).to_le_bytes());
    out
}

fn run_record() -> Vec<u8> {
    let folder = crate::input::folder();
    let path = folder.path().join("run.json");
    let mut record = RunRecord::new(Program::default(), "import");
    record.notes.push("a note".into());
    record.write(&path).expect("a folder that takes files");
    fs::read(&path).expect("the file was written")
}

const GENESIS: &str = r#"{
  "config": {"chainId": 1337, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0,
    "eip158Block": 0, "byzantiumBlock": 4, "ethash": {}},
  "difficulty": "0x20000", "gasLimit": "0x47b760", "nonce": "0x42", "timestamp": "0x10",
  "extraData": "0x1234",
  "alloc": {
    "0000000000000000000000000000000000000001": {"balance": "0x1"},
    "0x0000000000000000000000000000000000000002": {"balance": "7", "nonce": "0x1",
      "code": "0x6001", "storage": {"0x01": "0x02"}}
  }
}"#;

const GENESIS_SHANGHAI: &str = r#"{
  "config": {"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0,
    "eip158Block": 0, "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0,
    "istanbulBlock": 0, "berlinBlock": 0, "londonBlock": 0, "terminalTotalDifficulty": 0,
    "terminalTotalDifficultyPassed": true, "shanghaiTime": 0},
  "difficulty": "0x0", "gasLimit": "0x1c9c380", "alloc": {}
}"#;
