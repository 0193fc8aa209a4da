//! RLP and its objects: headers, bodies, transactions, receipts.

use blockmill_archive::ReceiptEncoding;
use blockmill_ethereum::body::{BodyView, verify_body};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::receipts::{
    consensus_to_storage, receipts_root, recode, storage_to_consensus, verify_receipts,
};
use blockmill_ethereum::transactions::{self, Transaction, TransactionType};
use blockmill_rlp::ethereum::{
    BFT_MIX_HASH, BftEngine, BftExtraData, Body, Header, Log, Receipt, TrieNode, block_hash,
};
use blockmill_rlp::{Decode, Encode, Error, Item, List, RawList, Reader, U256};
use blockmill_trie::RootBuilder;
use std::collections::BTreeMap;

/// `validate` and `Reader` give the same verdict, and accepted bytes are canonical: encoding them
/// again gives the same bytes.
pub fn rlp(data: &[u8]) -> bool {
    let walked = walk(data);
    assert_eq!(blockmill_rlp::validate(data), walked);
    walked.is_ok()
}

/// Reads `data` as one item and everything in it.
fn walk(data: &[u8]) -> Result<(), Error> {
    let mut outer = Reader::new(data);
    let item = outer.item()?;
    check_again(&item);
    let mut open = vec![];
    if item.is_list {
        open.push(item.reader());
    }
    while let Some(reader) = open.last_mut() {
        if reader.is_empty() {
            open.pop();
            continue;
        }
        let item = reader.item()?;
        check_again(&item);
        if item.is_list {
            open.push(item.reader());
        }
    }
    outer.finish()
}

/// The item encoded again is the item.
fn check_again(item: &Item<'_>) {
    if item.is_list {
        encodes_to(item.raw, &RawList(&[item.payload]));
        assert_eq!(item.raw.len(), blockmill_rlp::list_len(item.payload.len()));
    } else {
        encodes_to(item.raw, item.payload);
        assert_eq!(item.raw.len(), blockmill_rlp::bytes_len(item.payload));
    }
    if let Ok(number) = u64::decode(item.raw) {
        encodes_to(item.raw, &number);
        assert_eq!(item.raw.len(), blockmill_rlp::u64_len(number));
    }
    if let Ok(number) = U256::decode(item.raw) {
        encodes_to(item.raw, &number);
    }
    if let Ok(log) = Log::decode(item.raw) {
        encodes_to(item.raw, &log);
    }
    if let Ok(node) = TrieNode::decode(item.raw) {
        encodes_to(item.raw, &node);
    }
}

/// `value` has this encoding, by every writer.
fn encodes_to(encoding: &[u8], value: &(impl Encode + ?Sized)) {
    assert_eq!(value.encode(), encoding);
    assert_eq!(value.encode_in_one_pass(), encoding);
    assert_eq!(value.encoded_len(), encoding.len());
    assert_eq!(value.hash(), blockmill_hashes::keccak256(encoding));
}

/// A header that decodes is encoded to the same bytes.
pub fn header(data: &[u8]) -> bool {
    let Ok(view) = HeaderView::decode(data) else { return false };
    let owned = view.to_owned();
    let again = owned.encode();
    assert_eq!(again, data);
    assert_eq!(block_hash(data), view.hash());
    assert!(view.bft().is_some() || owned.hash() == view.hash());
    assert_eq!(owned.view(&again).seal_hash(), view.seal_hash());
    true
}

/// What decodes as extra data of validators is written again from its parts, and a block with it is
/// hashed without its round and seals.
pub fn bft_extra_data(data: &[u8]) -> bool {
    let Ok(extra_data) = BftExtraData::decode(data) else { return false };
    let mut list = Reader::new(data).list().expect("it was decoded as a list");
    let items: Vec<&[u8]> = std::iter::from_fn(|| Some(list.item().ok()?.raw)).collect();
    let of = |end: &[&[u8]]| RawList(&[&items[..3], end].concat()).encode();
    let (for_seals, for_hash) = match extra_data.engine {
        BftEngine::Ibft2 => (of(&[items[3]]), of(&[])),
        BftEngine::Qbft => (of(&[items[3], &[0xc0]]), of(&[&[0x80], &[0xc0]])),
    };
    assert_eq!((extra_data.for_seals(), extra_data.for_hash()), (for_seals, for_hash.clone()));
    let with = |extra_data| Header {
        number: 1,
        difficulty: U256::ONE,
        mix_hash: &BFT_MIX_HASH,
        extra_data,
        ..Header::default()
    };
    let sealed = if data.len() > 32 { &for_hash } else { data };
    assert_eq!(block_hash(&with(data).encode()), with(sealed).hash());
    true
}

/// The body's statements about its lists agree with the lists.
pub fn body(data: &[u8]) -> bool {
    let whole = BodyView::decode_block(data);
    let view = match (BodyView::decode(data), whole) {
        (Ok(view), _) | (_, Ok((_, view))) => view,
        (Err(_), Err(_)) => return false,
    };
    assert_eq!(view.transactions().count(), view.transaction_count());
    assert_eq!(view.transaction_types().count(), view.transaction_count());
    assert_eq!(view.ommers().count(), view.ommer_count());
    let blobs: usize = view.transactions().map(|tx| tx.blob_hashes.len()).sum();
    assert_eq!(blobs as u64, view.blob_count());
    for (transaction, encoding) in view.transactions().zip(view.transaction_encodings()) {
        assert_eq!(transaction.canonical().encode(), encoding);
    }
    let root = RootBuilder::new().ordered(view.transaction_encodings());
    assert_eq!(root, naive_root(view.transaction_encodings()));
    let header = blockmill_ethereum::header::Header::default();
    let raw = header.encode();
    for fork in [Fork::Frontier, Fork::London, Fork::Shanghai, Fork::Cancun, Fork::Osaka] {
        let _ = verify_body(fork, &header.view(&raw), &view, &mut RootBuilder::new());
    }
    let _ = verify_receipts(
        &header.view(&raw),
        &view,
        data,
        ReceiptEncoding::Consensus,
        &mut RootBuilder::new(),
    );
    true
}

/// The root of the trie over a list, by the definition.
fn naive_root<'a>(items: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut leaves = BTreeMap::new();
    for (position, item) in (0u64..).zip(items) {
        leaves.insert(position.encode(), item.to_vec());
    }
    blockmill_trie::naive::root(&leaves)
}

/// A transaction that decodes is encoded to the same bytes, and is one of a body, the only one.
pub fn transaction(data: &[u8]) -> bool {
    let Ok(transaction) = Transaction::decode(data) else { return false };
    assert_eq!(transaction.encode(), data);
    let canonical = transaction.canonical().encode();
    assert_eq!(Transaction::decode_canonical(&canonical).as_ref(), Ok(&transaction));
    if transactions::read(&mut Reader::new(data)).is_err() {
        return false;
    }
    let (kind, blobs) = (transaction.kind, transaction.blob_hashes.len());
    let body = Body { transactions: List::Values(&[transaction]), ..Body::default() }.encode();
    let body = BodyView::decode(&body).expect("a body of a good transaction");
    assert_eq!(body.transaction_types().collect::<Vec<_>>(), [kind]);
    assert_eq!(body.blob_count(), blobs as u64);
    true
}

/// Conversion to storage form and back drops nothing but a wrong bloom.
pub fn receipts(data: &[u8]) -> bool {
    let mut storage = vec![];
    if consensus_to_storage(data, &mut storage).is_err() {
        return old_receipts(data);
    }
    let kinds = kinds(data).expect("receipts that were converted");
    let mut consensus = vec![];
    storage_to_consensus(&storage, kinds, &mut consensus).expect("our own storage form");
    assert_eq!(consensus.len(), data.len());
    let mut again = vec![];
    consensus_to_storage(&consensus, &mut again).expect("our own consensus form");
    assert_eq!(again, storage);
    let (mut slim, mut again) = (vec![], vec![]);
    let (form, slim_form) = (ReceiptEncoding::Consensus, ReceiptEncoding::Slim);
    recode(data, (form, slim_form), [], &mut slim).expect("receipts that were converted");
    recode(&slim, (slim_form, form), [], &mut again).expect("our own slim form");
    assert_eq!(again, consensus);
    receipts_root(data, &mut RootBuilder::new()).expect("receipts that were converted");
    true
}

/// Receipts in storage form, those of old databases too: the newest storage form is a fixed point.
fn old_receipts(data: &[u8]) -> bool {
    let Ok(items) = Reader::new(data).list() else { return false };
    let mut left = items;
    let count = std::iter::from_fn(|| left.item().ok()).count();
    let kinds = |count| std::iter::repeat_n(TransactionType::DynamicFee, count);
    let mut consensus = vec![];
    if storage_to_consensus(data, kinds(count), &mut consensus).is_err() {
        return false;
    }
    let (mut storage, mut again) = (vec![], vec![]);
    consensus_to_storage(&consensus, &mut storage).expect("our own consensus form");
    storage_to_consensus(&storage, kinds(count), &mut again).expect("our own storage form");
    assert_eq!(again, consensus);
    true
}

/// The type of each receipt of a list in consensus form.
fn kinds(list: &[u8]) -> Option<Vec<TransactionType>> {
    let receipts = List::<Receipt<'_>>::decode(list).ok()?;
    let kind = |receipt: Receipt<'_>| TransactionType::from_byte(receipt.kind as u8);
    Some(receipts.iter().map(|receipt| kind(receipt).unwrap_or(TransactionType::Legacy)).collect())
}
