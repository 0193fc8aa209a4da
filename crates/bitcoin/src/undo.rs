//! Undo data: the coins that a block spent, for disconnecting it. Our stores use Core's encoding;
//! `docs/formats/core-datadir.md` specifies the bytes.

pub(crate) mod disconnect;

use crate::coins::compress::{self, CoinReader, Malformed, read_varint};
use crate::types::Coin;
use crate::{BlockHash, Hash};
use blockmill_hashes::{Sha256, sha256};
use blockmill_verdict::split_array;

/// Appends the undo data of a block.
///
/// `inputs` has the number of coins that each transaction except the coinbase spent, `coins` these
/// coins in order. Allocates only in `out`. If the numbers of coins and inputs differ, it fails and
/// leaves `out` unchanged.
pub fn encode<'a>(
    inputs: impl ExactSizeIterator<Item = usize>,
    coins: impl IntoIterator<Item = Coin<'a>>,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let (start, mut coins) = (out.len(), coins.into_iter());
    let (mut expected, mut found) = (0, 0);
    write_compact_size(out, inputs.len() as u64);
    for count in inputs {
        write_compact_size(out, count as u64);
        expected += count as u64;
        for coin in coins.by_ref().take(count) {
            write_spent(out, &coin);
            found += 1;
        }
    }
    found += coins.count() as u64;
    if found != expected {
        out.truncate(start);
        return Err(Malformed::Count { what: "spent coins", expected, found });
    }
    Ok(())
}

/// Appends a spent coin.
#[inline]
fn write_spent(out: &mut Vec<u8>, coin: &Coin) {
    compress::write_origin(out, coin);
    if coin.height > 0 {
        // Core 0.14 and earlier store the version of the transaction here
        out.push(0);
    }
    compress::write_output(out, coin);
}

/// The checksum after undo data in Core's files: SHA-256d of the parent's hash and the data.
#[must_use]
pub fn checksum(parent: &BlockHash, data: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(&parent.0);
    hash.update(data);
    sha256(&hash.finalize())
}

/// Reads the undo data of a block, coin by coin, without allocating.
///
/// ```text
/// while let Some(inputs) = undo.transaction()? {
///     for _ in 0..inputs { undo.coin()?; }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Number of transactions left.
    transactions: u64,
    /// Number of coins of the transaction left.
    coins: u64,
    scripts: CoinReader,
}

impl<'a> Reader<'a> {
    /// Starts to read the data of one block.
    pub fn new(mut data: &'a [u8]) -> Result<Self, Malformed> {
        let transactions = read_count(&mut data, "transactions")?;
        Ok(Reader { rest: data, transactions, coins: 0, scripts: CoinReader::default() })
    }

    /// Number of transactions left.
    #[must_use]
    pub fn transactions_left(&self) -> u64 {
        self.transactions
    }

    /// Advances to the next transaction, and returns the number of coins that it spent. `None`
    /// after the last one, if no bytes are left. All earlier coins must have been read.
    pub fn transaction(&mut self) -> Result<Option<u64>, Malformed> {
        if self.coins > 0 {
            return Err(Malformed::Count { what: "unread coins", expected: 0, found: self.coins });
        }
        if self.transactions == 0 {
            return match self.rest.len() as u64 {
                0 => Ok(None),
                bytes => Err(Malformed::Trailing { what: "undo data", bytes }),
            };
        }
        self.transactions -= 1;
        self.coins = read_count(&mut self.rest, "coins")?;
        Ok(Some(self.coins))
    }

    /// The next coin of the transaction.
    pub fn coin(&mut self) -> Result<Coin<'_>, Malformed> {
        if self.coins == 0 {
            return Err(Malformed::Count { what: "more coins", expected: 0, found: 1 });
        }
        self.coins -= 1;
        let (height, coinbase) = compress::read_origin(&mut self.rest)?;
        if height > 0 {
            // older files have the version of the transaction here
            read_varint(&mut self.rest, "the version of a coin", u32::MAX.into())?;
        }
        self.scripts.output(&mut self.rest, height, coinbase)
    }
}

/// Reads the undo data of a block to its end. Returns the number of its transactions.
pub(crate) fn read_through(data: &[u8]) -> Result<u64, Malformed> {
    let mut undo = Reader::new(data)?;
    let transactions = undo.transactions_left();
    while let Some(coins) = undo.transaction()? {
        for _ in 0..coins {
            undo.coin()?;
        }
    }
    Ok(transactions)
}

/// Appends a count in the encoding of Bitcoin's messages.
#[inline]
pub(crate) fn write_compact_size(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0xfc => out.push(number as u8),
        0xfd..=0xffff => {
            out.push(0xfd);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xfe);
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        _ => {
            out.push(0xff);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Reads a count from the front. There cannot be more items than bytes after it.
#[inline]
pub(crate) fn read_count(from: &mut &[u8], what: &'static str) -> Result<u64, Malformed> {
    let found = read_any_count(from, what)?;
    let limit = from.len() as u64;
    match found <= limit {
        true => Ok(found),
        false => Err(Malformed::TooLarge { what, limit, found }),
    }
}

/// Reads a count from the front, without checking it against the bytes after it.
#[inline]
pub(crate) fn read_any_count(from: &mut &[u8], what: &'static str) -> Result<u64, Malformed> {
    let [first] = *split_array(from, what)?;
    let (number, least) = match first {
        0xfd => (u16::from_le_bytes(*split_array(from, what)?).into(), 0xfd),
        0xfe => (u32::from_le_bytes(*split_array(from, what)?).into(), 0x1_0000),
        0xff => (u64::from_le_bytes(*split_array(from, what)?), 0x1_0000_0000),
        _ => (first.into(), 0),
    };
    if number < least {
        return Err(Malformed::Unexpected { what, expected: least, found: number });
    }
    Ok(number)
}
