//! A store of blocks as an archive: the reader that a program registers with `archive`. Bytes:
//! `docs/formats/segment.md`.
//!
//! A store states the hash of each block, and each of its pieces has a checksum. Receipts have the
//! encoding of the archive that they came from, and the store does not state which: it is detected
//! from each list, and a chunk ends where the encoding changes. The block access list (EIP-7928) of
//! a block is stored after its body, as [`split_body`] says.

use std::fmt;
use std::fs::{File, TryLockError};
use std::ops::Range;
use std::path::Path;

use crate::Level;
use blockmill_archive::{
    Chunk, ChunkLimit, Error, ReceiptEncoding, StoreContent, StoreReader, StoredBlocks, Want,
};
use blockmill_store::ChainStore;

/// Lets this process read stores of blocks as archives. A program calls it when it starts.
pub fn register() {
    blockmill_archive::register_store_reader(StoreReader { is_store, open, notes });
}

fn failed(error: blockmill_store::Error) -> Error {
    Error::Store { status: error.status(), source: Box::new(error) }
}

fn is_store(folder: &Path) -> Result<bool, Error> {
    ChainStore::is_in(folder).map_err(failed)
}

fn open(folder: &Path) -> Result<Box<dyn StoredBlocks>, Error> {
    Ok(Box::new(Stored(ChainStore::open_read_only(folder).map_err(failed)?.0)))
}

fn notes(folder: &Path) -> Vec<String> {
    let lock = File::open(folder.join("lock"));
    let used =
        lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    let note = "the store is being written to: this is what it held at the start";
    used.then(|| note.to_string()).into_iter().collect()
}

/// Cuts what a store has as the body of a block: the body, and the block access list after it,
/// empty if there is none. Both are one RLP item. What is no RLP is left in one piece.
pub fn split_body(stored: &[u8]) -> (&[u8], &[u8]) {
    let mut items = blockmill_rlp::Reader::new(stored);
    match items.item() {
        Ok(body) => (body.raw, items.rest()),
        Err(_) => (stored, &[]),
    }
}

/// A store that is read as an archive.
struct Stored(ChainStore);

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stored({:?} to {:?})", self.0.first(), self.0.tip().map(|tip| tip.number))
    }
}

impl Stored {
    fn find_content(&self) -> blockmill_store::Result<Option<StoreContent>> {
        let store = &self.0;
        let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return Ok(None) };
        let added = tip.number > first && store.is_first_added();
        let last = store.body(tip.number)?.unwrap_or_default();
        Ok(Some(StoreContent {
            first: first + u64::from(added),
            last: tip.number,
            bodies: store.body(first)?.is_some(),
            receipts: store.receipts(first)?.is_some(),
            executed: tip.level >= Level::Execution as u8,
            access_lists: !split_body(&last).1.is_empty(),
            chain: tip.chain,
            total_difficulty: tip.total_difficulty,
        }))
    }

    fn append(
        &self,
        numbers: Range<u64>,
        want: Want,
        limit: ChunkLimit,
        into: &mut Chunk,
    ) -> blockmill_store::Result<()> {
        let (mut bytes, mut known) = (0, None);
        for number in numbers {
            let is_full = into.stated_hashes.len() >= limit.blocks || bytes >= limit.bytes;
            // a chunk has at least one block, however low its limit is
            if is_full && !into.stated_hashes.is_empty() {
                break;
            }
            let receipts = if want.receipts { self.0.receipts(number)? } else { None };
            let encoding = receipts.as_deref().and_then(encoding_of);
            if known.is_some() && encoding.is_some() && known != encoding {
                break;
            }
            known = known.or(encoding);
            let (Some(header), Some(hash)) = (self.0.header(number)?, self.0.hash_of(number)?)
            else {
                break;
            };
            let body = if want.bodies { self.0.body(number)? } else { None };
            into.headers.push(&header);
            into.stated_hashes.push(hash);
            if let Some(stored) = &body {
                let (body, access_list) = split_body(stored);
                into.bodies.push(body);
                into.push_access_list(access_list);
                bytes += stored.len();
            }
            receipts.iter().for_each(|receipts| into.receipts.push(receipts));
            bytes += header.len() + receipts.map_or(0, |receipts| receipts.len());
        }
        into.receipt_encoding = known.unwrap_or_default();
        Ok(())
    }
}

impl StoredBlocks for Stored {
    fn content(&self) -> Result<Option<StoreContent>, Error> {
        self.find_content().map_err(failed)
    }

    fn read(
        &mut self,
        numbers: Range<u64>,
        want: Want,
        limit: ChunkLimit,
        into: &mut Chunk,
    ) -> Result<(), Error> {
        self.append(numbers, want, limit, into).map_err(failed)
    }
}

/// Detects the encoding of a list of receipts; `None` when it is empty. In the consensus encoding,
/// a receipt of a typed transaction is a byte string, and a legacy one has four items, of which the
/// third is the bloom. A slim receipt has four items, of which the third is a number. In geth's
/// database a receipt is a list of three items, or of six or more.
fn encoding_of(list: &[u8]) -> Option<ReceiptEncoding> {
    const BLOOM: usize = 256;
    let mut receipts = blockmill_rlp::Reader::new(list).list().ok()?;
    if receipts.is_empty() {
        return None;
    }
    let Ok(mut fields) = receipts.clone().list() else {
        return Some(ReceiptEncoding::Consensus);
    };
    let mut lengths = vec![];
    while let (false, Ok(item)) = (fields.is_empty(), fields.item()) {
        lengths.push(item.payload.len());
    }
    receipts.item().ok()?;
    Some(match lengths[..] {
        [_, _, BLOOM, _] => ReceiptEncoding::Consensus,
        [_, _, _, _] => ReceiptEncoding::Slim,
        _ => ReceiptEncoding::Storage,
    })
}
