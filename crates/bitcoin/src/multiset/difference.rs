//! Finds the first wrong undo data or unspent coin. The multiset hash only says that there is one;
//! a run with a set of coins knows the correct values.

use super::{CoinArchive, Unproven};
use crate::BlockHash;
use crate::chainstate::Chainstate;
use crate::coins::{self, Key, PackedCoin};
use crate::error::Error;
use crate::types::{Coin, OutPoint};
use crate::undo::Reader;
use blockmill_verdict::{Digits, Status};

/// Returns the first difference of `archive` from `own`, the result of a run over `chain` (hashes
/// by height). `None` if they are equal.
pub(crate) fn difference(
    archive: &CoinArchive,
    own: &Chainstate,
    chain: &[BlockHash],
) -> Result<Option<Unproven>, Error> {
    let ends = own.undo_ends()?;
    let (mut expected, mut found) = (vec![], vec![]);
    for (height, end) in (0..).zip(&ends).skip(1) {
        let Some(hash) = chain.get(height as usize) else { break };
        own.read_undo(*end, &mut expected)?;
        let wrong = |(expected, found)| Some((String::new(), expected, found));
        let differs = match archive.undo(height, hash, &mut found) {
            Ok(true) => differing_undo(&expected, &found),
            Ok(false) => wrong(("undo data".into(), "none".into())),
            Err(Error::Core(error)) if error.status() == Status::Corrupt => wrong(error.of_undo()),
            Err(error) if error.status() == Status::Corrupt => {
                wrong(("undo data".into(), error.to_string()))
            }
            Err(error) => return Err(error),
        };
        if let Some((part, expected, found)) = differs {
            let ((file, offset), hash) = (archive.undo_location(hash), *hash);
            return Ok(Some(Unproven::Undo { height, hash, file, offset, part, expected, found }));
        }
    }
    differing_coin(archive, own)
}

/// The first difference of undo data: its position, the expected and the found value.
fn differing_undo(expected: &[u8], found: &[u8]) -> Option<(String, String, String)> {
    if expected == found {
        return None;
    }
    let (expected, found) = match (spent(expected), spent(found)) {
        (Ok(expected), Ok(found)) => (expected, found),
        (Err(error), _) | (_, Err(error)) => {
            return Some((String::new(), "undo data".into(), error));
        }
    };
    let counts = (expected.len(), found.len());
    for (number, pair) in (1..).zip(expected.into_iter().zip(found)) {
        let counts = (pair.0.len(), pair.1.len());
        let mut coins = pair.0.into_iter().zip(pair.1).enumerate();
        if let Some((input, (own, other))) = coins.find(|(_, (own, other))| own != other) {
            return Some((format!(", transaction {number}, input {input}"), own, other));
        }
        if counts.0 != counts.1 {
            let coins = |count: usize| format!("{count} coins");
            return Some((format!(", transaction {number}"), coins(counts.0), coins(counts.1)));
        }
    }
    // different bytes may be equivalent: older files have the version of each transaction
    let transactions = |count: usize| format!("{count} transactions");
    (counts.0 != counts.1).then(|| (String::new(), transactions(counts.0), transactions(counts.1)))
}

/// The coins of each transaction, as text.
fn spent(undo: &[u8]) -> Result<Vec<Vec<String>>, String> {
    let mut transactions = vec![];
    let mut read = || {
        let mut reader = Reader::new(undo)?;
        while let Some(count) = reader.transaction()? {
            let coins = (0..count).map(|_| reader.coin().map(|coin| shown(&coin)));
            transactions.push(coins.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(())
    };
    read().map_err(|error: coins::compress::Malformed| error.to_string())?;
    Ok(transactions)
}

fn shown(coin: &Coin) -> String {
    let Coin { height, coinbase, value, script } = coin;
    let of = if *coinbase { "a coinbase" } else { "a transaction" };
    format!("{value} of {of} of height {height} with script {}", Digits(script))
}

/// Returns the first unspent coin that differs, in the order of keys.
fn differing_coin(archive: &CoinArchive, own: &Chainstate) -> Result<Option<Unproven>, Error> {
    let own = own.coins();
    let mut pairs = own.iter()?;
    let mut next = pair(pairs.next()?);
    let mut differs = None;
    archive.each_coin(|key, coin| {
        if differs.is_some() {
            return Ok(());
        }
        let expected = next.take();
        differs = match &expected {
            Some((own, packed)) if own < key => differing(own, Some(packed), None),
            Some((own, packed)) if own == key && packed == coin => None,
            Some((own, packed)) if own == key => differing(key, Some(packed), Some(coin)),
            _ => differing(key, None, Some(coin)),
        };
        next = pair(pairs.next()?);
        Ok(())
    })?;
    Ok(differs.or_else(|| next.and_then(|(key, packed)| differing(&key, Some(&packed), None))))
}

fn pair(found: Option<(&[u8], &[u8])>) -> Option<(Key, Vec<u8>)> {
    let (key, coin) = found?;
    Some((*key.first_chunk()?, coin.to_vec()))
}

fn differing(key: &Key, expected: Option<&[u8]>, found: Option<&[u8]>) -> Option<Unproven> {
    let mut script = vec![];
    let mut text = |packed: Option<&[u8]>| match packed.map(PackedCoin::unpack) {
        Some(Some(packed)) => shown(&packed.coin(&mut script)),
        Some(None) => "bytes that do not encode a coin".into(),
        None => "none".into(),
    };
    let (expected, found) = (text(expected), text(found));
    let coin: OutPoint = coins::outpoint(key)?;
    Some(Unproven::Coin { coin, expected, found })
}
