//! Bitcoin: blocks, files of blocks, scripts and undo data.

use crate::input::{Input, folder};
use blockmill_archive::blkdat::{BodyReader, Record, Walk, open};
use blockmill_bitcoin::coins::PackedCoin;
use blockmill_bitcoin::coins::compress::{CoinReader, write_coin};
use blockmill_bitcoin::index::scan::{FindBlocks, HeaderScan};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::script::{BlockScripts, Flags, ScriptBatch, Scripts, SpentCoin};
use blockmill_bitcoin::types::{Amount, Block, BlockHash, Coin};
use blockmill_bitcoin::undo;
use blockmill_hashes::sha256d;
use blockmill_pipeline::Cancel;
use blockmill_signatures::Signatures;
use blockmill_verdict::Span;
use std::fs;

#[path = "../../crates/bitcoin/tests/naive/mod.rs"]
pub(crate) mod naive;
use naive::{Plain, Tx, TxIn, TxOut};

/// The fast decoder and the naive one give the same verdict and the same block.
pub fn bitcoin_block(data: &[u8]) -> bool {
    let mut block = Block { raw: data.to_vec(), ..Block::default() };
    let decoded = block.decode();
    let Some(plain) = Plain::decode(data) else {
        assert!(decoded.is_err());
        return false;
    };
    decoded.expect("the plain decoder accepts it");
    assert_eq!(plain_of(&block), plain);
    assert_eq!(block.hash, BlockHash(sha256d(&plain.header)));
    for (number, transaction) in plain.transactions.iter().enumerate() {
        let wtxid = if number == 0 { [0; 32] } else { sha256d(&transaction.encode(true)) };
        assert_eq!(block.txids[number], sha256d(&transaction.encode(false)));
        assert_eq!(block.wtxids[number], wtxid);
    }
    let stripped = plain.encode(false).len();
    assert_eq!((block.stripped_size(), block.weight()), (stripped, 3 * stripped + data.len()));
    plain.encode(true) == data
}

/// The parts of a block, copied out.
fn plain_of(block: &Block) -> Plain {
    let bytes = |span: Span| span.slice(&block.raw).to_vec();
    let transaction = |each: &blockmill_bitcoin::types::Transaction| Tx {
        version: each.version,
        inputs: block
            .inputs_of(each)
            .iter()
            .map(|input| TxIn {
                outpoint: block.outpoint_bytes(input).to_vec(),
                script: bytes(input.script),
                sequence: input.sequence,
                witness: block.witness(input).map(<[u8]>::to_vec).collect(),
            })
            .collect(),
        outputs: block
            .outputs_of(each)
            .iter()
            .map(|output| TxOut { value: output.value, script: bytes(output.script) })
            .collect(),
        lock_time: each.lock_time,
    };
    let transactions = block.transactions.iter().map(transaction).collect();
    Plain { header: block.raw[..80].to_vec(), transactions }
}

/// Any bytes as a block file: its blocks and corruption are the same when it is read from memory,
/// and every block that is found can be read.
pub fn blkdat_scan(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    if input.byte() == 1 {
        fs::write(folder.path().join("xor.dat"), input.array::<8>()).expect("a file");
    }
    fs::write(folder.path().join("blk00000.dat"), input.0).expect("a file");
    let Ok(files) = open(&[folder.path().to_path_buf()], None) else { return false };
    let mut finder = HeaderScan { threads: 2 };
    let expected = finder.find_blocks(&files, &Cancel::new()).expect("a file to read");
    let mut found = expected.found.iter();
    for (file, report) in files.files().iter().zip(&expected.reports) {
        let mut bytes = vec![0; file.length() as usize];
        let opened = file.open().expect("a file to open");
        let read = opened.read_full_at(&mut bytes, 0).expect("a file to read");
        assert_eq!(read, bytes.len());
        let mut walk = Walk::new(file, &bytes[..]);
        while let Some(Record { offset, size, header }) = walk.next_record().expect("memory") {
            let found = found.next().expect("the same block");
            assert_eq!((found.offset, found.size, found.header), (offset, size, header));
            assert_eq!(found.hash, BlockHash(sha256d(&header)));
        }
        assert_eq!(walk.into_report(), *report);
    }
    assert_eq!(found.next(), None);
    let (mut reader, mut body) = (BodyReader::new(&files, 1), vec![]);
    for found in &expected.found {
        // digits that are none are found when they are read
        if reader.read(found.location(), &mut body).is_ok() {
            assert_eq!((body.len(), &body[..80]), (found.size as usize, &found.header[..]));
        }
    }
    !expected.found.is_empty()
}

/// Any bytes after a genesis header: the scan finds each 80 of them, and names what is left.
pub fn bitcoin_headers(data: &[u8]) -> bool {
    let folder = folder();
    let path = folder.path().join("blockchain_headers");
    let genesis = Params::regtest().genesis;
    let bytes = [&genesis[..80], data].concat();
    fs::write(&path, &bytes).expect("a file");
    let files = open(&[path], None).expect("the genesis header names the network");
    let found = HeaderScan { threads: 2 }.find_blocks(&files, &Cancel::new()).expect("a file");
    let (headers, rest) = bytes.as_chunks::<80>();
    assert_eq!(found.found.len(), headers.len());
    for (i, (found, header)) in found.found.iter().zip(headers).enumerate() {
        assert_eq!((found.offset, found.size, &found.header), (80 * i as u64, 80, header));
        assert_eq!(found.hash, BlockHash(sha256d(header)));
    }
    let corruption = &found.reports[0].corruption;
    assert_eq!(corruption.len(), usize::from(!rest.is_empty()), "{corruption:?}");
    rest.is_empty()
}

/// Flags, the coins (value and script each) and a block: the fast way and the library agree on its
/// second transaction.
pub fn bitcoin_scripts(data: &[u8]) -> bool {
    let mut input = Input(data);
    let all = [Flags::DERSIG, Flags::NULLDUMMY, Flags::CLTV, Flags::CSV];
    let flags = all.iter().fold(Flags::P2SH, |sum, flag| sum.with(*flag));
    let flags = match input.byte() {
        0 => Flags::P2SH,
        1 => flags,
        2 => flags.with(Flags::WITNESS),
        _ => flags.with(Flags::WITNESS).with(Flags::TAPROOT),
    };
    let (mut coins, mut scripts) = (vec![], vec![]);
    for _ in 0..input.byte() % 8 {
        let value = Amount::from_sat(input.number() % Amount::MAX.to_sat());
        let start = scripts.len() as u32;
        scripts.extend_from_slice(input.part());
        let script = Span { start, end: scripts.len() as u32 };
        coins.push(SpentCoin { value, height: 1, coinbase: false, script });
    }
    let mut block = Block { raw: input.0.to_vec(), ..Block::default() };
    if block.decode().is_err() || block.transactions.len() != 2 {
        return false;
    }
    // what spends nothing, or one output twice, does not come so far
    let inputs = block.inputs_of(&block.transactions[1]);
    let mut spent: Vec<_> = inputs.iter().map(|input| block.outpoint_bytes(input)).collect();
    spent.sort();
    spent.dedup();
    if inputs.is_empty() || spent.len() != coins.len() || spent.len() != inputs.len() {
        return false;
    }
    let part =
        BlockScripts { block: &block, transactions: 1..2, coins: &coins, scripts: &scripts, flags };
    let part = [part];
    let verify = |scripts, signatures: &Signatures| {
        ScriptBatch::default().verify(&part, scripts, signatures)
    };
    let expected = verify(Scripts::Library, &Signatures::scalar());
    for signatures in [Signatures::scalar(), Signatures::detect()] {
        assert_eq!(verify(Scripts::Templates, &signatures), expected);
    }
    expected.is_ok()
}

/// Undo data and coins: a decoded value is the same after encoding and decoding it again.
pub fn bitcoin_undo(data: &[u8]) -> bool {
    if let Some(coin) = PackedCoin::unpack(data) {
        let (mut again, mut script) = (vec![], vec![]);
        PackedCoin::pack(&coin.coin(&mut script), &mut again);
        let found = PackedCoin::unpack(&again).expect("it was packed");
        assert_eq!(found.coin(&mut vec![]), coin.coin(&mut script));
    }
    let mut reader = CoinReader::default();
    if let Ok(coin) = reader.read(data) {
        let mut again = vec![];
        write_coin(&mut again, &coin);
        assert_eq!(CoinReader::default().read(&again), Ok(coin));
    }
    let Some((counts, coins)) = read_undo(data) else { return false };
    let mut again = vec![];
    undo::encode(counts.iter().copied(), coins.iter().map(Owned::coin), &mut again)
        .expect("a coin for each input");
    assert!(read_undo(&again) == Some((counts, coins)));
    true
}

#[derive(PartialEq)]
struct Owned(u32, bool, Amount, Vec<u8>);

impl Owned {
    fn coin(&self) -> Coin<'_> {
        Coin { height: self.0, coinbase: self.1, value: self.2, script: &self.3 }
    }
}

fn read_undo(data: &[u8]) -> Option<(Vec<usize>, Vec<Owned>)> {
    let mut reader = undo::Reader::new(data).ok()?;
    let (mut counts, mut coins) = (vec![], vec![]);
    while let Some(count) = reader.transaction().ok()? {
        counts.push(count as usize);
        for _ in 0..count {
            let coin = reader.coin().ok()?;
            coins.push(Owned(coin.height, coin.coinbase, coin.value, coin.script.to_vec()));
        }
    }
    Some((counts, coins))
}
