//! Core's chainstate: the unspent coins after the best block, by outpoint. Values are XORed with a
//! key of the database. `docs/formats/core-datadir.md` specifies the bytes.

use super::{Error, XorKey};
use crate::BlockHash;
use crate::coins::compress::{CoinReader, Malformed, read_varint, write_coin, write_varint};
use crate::types::{Coin, OutPoint, Txid};
use blockmill_leveldb::{BulkWriter, Library, Loaded, Scan};
use blockmill_verdict::split_array;
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Key of a coin: this, the transaction's id, the output's number as a VARINT.
const COIN: u8 = b'C';
/// Key of the hash of the best block.
const BEST_BLOCK: u8 = b'B';
/// Key of the two best blocks of an interrupted write.
const HEAD_BLOCKS: u8 = b'H';
/// Key of the XOR key, which is not XORed itself: a name after its length.
const XOR_KEY: &[u8; 15] = b"\x0e\x00obfuscate_key";
/// Maximum size of a VARINT of 32 bits.
const VOUT_BYTES: usize = 5;

/// Writes a chainstate. Transactions must be in the order of their ids; the coins of each may be in
/// any order.
#[derive(Debug)]
pub(super) struct CoinWriter {
    database: BulkWriter,
    xor_key: XorKey,
    transaction: Txid,
    /// The coins of the transaction so far: the output as a VARINT, and the range of the value.
    coins: Vec<([u8; VOUT_BYTES], usize, Range<usize>)>,
    values: Vec<u8>,
    key: Vec<u8>,
}

impl CoinWriter {
    /// Starts the chainstate after a best block.
    pub(super) fn create(folder: &Path, xor_key: XorKey, best: &BlockHash) -> Result<Self, Error> {
        let mut database = BulkWriter::create(folder, Library::LevelDb)?;
        if xor_key != XorKey::default() {
            let mut value = [8; 9];
            value[1..].copy_from_slice(&xor_key.0);
            database.put(XOR_KEY, &value)?;
        }
        let mut value = best.0;
        xor_key.apply(&mut value, 0);
        database.put(&[BEST_BLOCK], &value)?;
        let (coins, values, key) = (Vec::new(), Vec::new(), Vec::new());
        Ok(CoinWriter { database, xor_key, transaction: Txid::default(), coins, values, key })
    }

    /// Appends a coin.
    pub(super) fn push(&mut self, outpoint: &OutPoint, coin: &Coin) -> Result<(), Error> {
        if outpoint.txid != self.transaction {
            self.end_transaction()?;
            self.transaction = outpoint.txid;
        }
        self.key.clear();
        write_varint(&mut self.key, outpoint.vout.into());
        let mut vout = [0; VOUT_BYTES];
        vout[..self.key.len()].copy_from_slice(&self.key);
        let start = self.values.len();
        write_coin(&mut self.values, coin);
        self.xor_key.apply(&mut self.values[start..], 0);
        self.coins.push((vout, self.key.len(), start..self.values.len()));
        Ok(())
    }

    fn end_transaction(&mut self) -> Result<(), Error> {
        let CoinWriter { database, transaction, coins, values, key, .. } = self;
        // no VARINT is a prefix of another, so trailing zeros do not matter
        coins.sort_unstable_by_key(|(vout, _, _)| *vout);
        for (vout, length, value) in coins.drain(..) {
            key.clear();
            key.push(COIN);
            key.extend_from_slice(&transaction.0);
            key.extend_from_slice(&vout[..length]);
            database.put(key, &values[value])?;
        }
        values.clear();
        Ok(())
    }

    /// Finishes the chainstate.
    pub(super) fn finish(mut self) -> Result<Loaded, Error> {
        self.end_transaction()?;
        Ok(self.database.finish()?)
    }
}

/// Reads the coins of a chainstate, in the order of its keys.
#[derive(Debug)]
pub struct Coins {
    folder: PathBuf,
    database: Scan,
    xor_key: XorKey,
    best: BlockHash,
    /// Number of entries so far.
    entries: u64,
    value: Vec<u8>,
    reader: CoinReader,
    /// Whether the current entry was not returned yet.
    waiting: bool,
}

impl Coins {
    /// Opens a chainstate and reads the entries before the coins.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let mut coins = Coins {
            folder: folder.to_path_buf(),
            database: Scan::open(folder)?,
            xor_key: XorKey::default(),
            best: BlockHash::default(),
            entries: 0,
            value: Vec::new(),
            reader: CoinReader::default(),
            waiting: false,
        };
        let mut best = None;
        while coins.advance()? {
            match coins.database.key() {
                key if key == XOR_KEY => {
                    let key = read_xor_key(coins.database.value()).map_err(coins.at())?;
                    coins.xor_key = key;
                }
                [BEST_BLOCK] => {
                    let from = &mut coins.value.as_slice();
                    best =
                        Some(BlockHash(*split_array(from, "the best block").map_err(coins.at())?));
                }
                [COIN, ..] => {
                    coins.waiting = true;
                    break;
                }
                _ => {}
            }
        }
        let missing = || Error::Missing { path: folder.into(), what: "the best block".into() };
        coins.best = best.ok_or_else(missing)?;
        Ok(coins)
    }

    /// The block after which these coins are unspent.
    #[must_use]
    pub fn best_block(&self) -> BlockHash {
        self.best
    }

    /// The next coin. `None` after the last one.
    pub fn next_coin(&mut self) -> Result<Option<(OutPoint, Coin<'_>)>, Error> {
        loop {
            if !mem::take(&mut self.waiting) && !self.advance()? {
                return Ok(None);
            }
            match self.database.key().first() {
                Some(&COIN) => break,
                Some(&HEAD_BLOCKS) => {
                    let what = "a finished write of the coins".into();
                    return Err(Error::Missing { path: self.folder.clone(), what });
                }
                _ => {}
            }
        }
        let outpoint = read_key(self.database.key()).map_err(self.at())?;
        let at = (&self.folder, self.entries);
        match self.reader.read(&self.value) {
            Ok(coin) => Ok(Some((outpoint, coin))),
            Err(source) => Err(Error::at(at.0, at.1)(source)),
        }
    }

    /// Advances to the next entry, and decodes its value.
    fn advance(&mut self) -> Result<bool, Error> {
        let found = self.database.advance()?;
        self.entries += u64::from(found);
        self.value.clear();
        self.value.extend_from_slice(self.database.value());
        self.xor_key.apply(&mut self.value, 0);
        Ok(found)
    }

    fn at(&self) -> impl FnOnce(Malformed) -> Error {
        Error::at(&self.folder, self.entries)
    }
}

fn read_xor_key(mut value: &[u8]) -> Result<XorKey, Malformed> {
    let (what, from) = ("the XOR key", &mut value);
    let [length] = *split_array(from, what)?;
    match length {
        8 => Ok(XorKey(*split_array(from, what)?)),
        found => Err(Malformed::Unexpected { what, expected: 8, found: found.into() }),
    }
}

/// The outpoint in the key of a coin.
fn read_key(mut key: &[u8]) -> Result<OutPoint, Malformed> {
    let (what, from) = ("the key of a coin", &mut key);
    let [_kind] = *split_array(from, what)?;
    let txid = Txid(*split_array(from, what)?);
    let vout = read_varint(from, what, u32::MAX.into())? as u32;
    match from.len() as u64 {
        0 => Ok(OutPoint { txid, vout }),
        bytes => Err(Malformed::Trailing { what, bytes }),
    }
}
