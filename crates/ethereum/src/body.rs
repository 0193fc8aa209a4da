//! What a block has besides its header: the body, decoded in place and compared with the header.
//! The folder has transactions and their rules, senders, ommers and receipts.

pub mod bloom;
mod list;
pub mod ommers;
pub mod receipts;
pub mod senders;
pub mod signing;
pub mod transaction_rules;
pub mod transactions;

use crate::Hash;
use crate::header::{EMPTY_OMMERS, EMPTY_ROOT, HeaderView};
use crate::params::Fork;
use crate::rule::{Rule, Violation};
use blockmill_rlp::ethereum::{Header, Withdrawal};
use blockmill_rlp::{Decode, Error, Reader};
use blockmill_trie::RootBuilder;
use blockmill_verdict::Hex;
use list::List;
use transactions::{GAS_PER_BLOB, KZG_VERSION, Transaction, TransactionType};

/// Most bytes of an encoded block from Osaka on (EIP-7934): 10 MiB less a margin of 2 MiB.
pub const MAX_BLOCK_SIZE: usize = 8 << 20;

/// A body whose every field was checked when it was decoded.
#[derive(Clone, Copy, Debug)]
pub struct BodyView<'a> {
    transactions: List<'a>,
    ommers: List<'a>,
    withdrawals: Option<List<'a>>,
    blobs: u64,
    newest_type: TransactionType,
}

impl<'a> BodyView<'a> {
    /// Decodes a body that fills `raw` exactly: `[transactions, ommers]`, and from Shanghai on
    /// `[transactions, ommers, withdrawals]`.
    pub fn decode(raw: &'a [u8]) -> Result<Self, BodyError> {
        let mut outer = Reader::new(raw);
        let list = outer.list()?;
        outer.finish()?;
        Self::decode_items(list)
    }

    /// Decodes the body of an encoded block, `[header, transactions, ommers, withdrawals]`; also
    /// returns the encoded header, which is not decoded.
    pub fn decode_block(raw: &'a [u8]) -> Result<(&'a [u8], Self), BodyError> {
        let mut outer = Reader::new(raw);
        let mut list = outer.list()?;
        outer.finish()?;
        let header = list.item()?;
        Ok((header.raw, Self::decode_items(list)?))
    }

    fn decode_items(mut list: Reader<'a>) -> Result<Self, BodyError> {
        let mut blobs = 0;
        let mut newest_type = TransactionType::Legacy;
        let transactions = List::read(&mut list, |items| {
            let transaction = transactions::read(items)?;
            blobs += transaction.blob_hashes.len() as u64;
            newest_type = newest_type.max(transaction.kind);
            Ok::<_, BodyError>(())
        })?;
        let ommers = List::read(&mut list, |items| Header::read(items).map(drop))?;
        let withdrawals = match list.is_empty() {
            true => None,
            false => Some(List::read(&mut list, |items| Withdrawal::read(items).map(drop))?),
        };
        list.finish()?;
        Ok(Self { transactions, ommers, withdrawals, blobs, newest_type })
    }

    /// The transactions.
    pub fn transactions(&self) -> impl Iterator<Item = Transaction<'a>> + use<'a> {
        self.transactions.values()
    }

    /// What the transactions trie holds, in order; the Keccak-256 of each is its hash.
    pub fn transaction_encodings(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.transactions.encodings()
    }

    /// The type of each transaction.
    pub fn transaction_types(&self) -> impl Iterator<Item = TransactionType> + use<'a> {
        self.transactions.items().filter_map(|item| match item.is_list {
            true => Some(TransactionType::Legacy),
            false => TransactionType::from_byte(*item.payload.first()?),
        })
    }

    /// How many transactions.
    pub fn transaction_count(&self) -> usize {
        self.transactions.count
    }

    /// The headers of the ommers.
    pub fn ommers(&self) -> impl Iterator<Item = HeaderView<'a>> + use<'a> {
        self.ommers.items().filter_map(|item| HeaderView::decode(item.raw).ok())
    }

    /// The list of the ommers' headers, encoded.
    pub(crate) fn encoded_ommers(&self) -> &'a [u8] {
        self.ommers.raw
    }

    /// How many ommers.
    pub fn ommer_count(&self) -> usize {
        self.ommers.count
    }

    /// The withdrawals; `None` before Shanghai.
    pub fn withdrawals(&self) -> Option<impl Iterator<Item = Withdrawal<'a>> + use<'a>> {
        Some(self.withdrawals?.values())
    }

    /// How many blobs the transactions carry.
    pub fn blob_count(&self) -> u64 {
        self.blobs
    }

    /// Bytes of the lists, without the prefix around them.
    fn payload_len(&self) -> usize {
        let withdrawals = self.withdrawals.map_or(0, |list| list.raw.len());
        self.transactions.raw.len() + self.ommers.raw.len() + withdrawals
    }
}

/// Compares a body with its header, under the rules of `fork`: types of transactions, size of the
/// block (EIP-7934), transactions root, ommers hash, withdrawals root and blob gas. Rules about the
/// ommers' own headers are elsewhere.
pub fn verify_body(
    fork: Fork,
    header: &HeaderView<'_>,
    body: &BodyView<'_>,
    roots: &mut RootBuilder,
) -> Result<(), Violation> {
    verify_types(fork, body)?;
    if fork >= Fork::Osaka {
        verify_size(header, body)?;
    }
    verify_transactions_root(header, body, roots)?;
    verify_ommers_hash(header, body)?;
    verify_withdrawals_root(header, body, roots)?;
    verify_blob_gas(header, body)
}

fn verify_types(fork: Fork, body: &BodyView<'_>) -> Result<(), Violation> {
    let newest = transactions::newest_type(fork);
    if body.newest_type > newest {
        let expected = format!("at most {}", newest as u8);
        return Err(Violation::new(Rule::TransactionType, expected, body.newest_type as u8));
    }
    Ok(())
}

fn verify_size(header: &HeaderView<'_>, body: &BodyView<'_>) -> Result<(), Violation> {
    let size = blockmill_rlp::list_len(header.raw.len() + body.payload_len());
    if size > MAX_BLOCK_SIZE {
        let expected = format!("at most {MAX_BLOCK_SIZE} bytes");
        return Err(Violation::new(Rule::BlockSize, expected, size));
    }
    Ok(())
}

fn verify_transactions_root(
    header: &HeaderView<'_>,
    body: &BodyView<'_>,
    roots: &mut RootBuilder,
) -> Result<(), Violation> {
    let root = match body.transactions.count {
        0 => EMPTY_ROOT,
        _ => roots.ordered(body.transactions.encodings()),
    };
    if root != *header.transactions_root {
        let expected = Hex(header.transactions_root);
        return Err(Violation::new(Rule::TransactionsRoot, expected, Hex(&root)));
    }
    Ok(())
}

fn verify_ommers_hash(header: &HeaderView<'_>, body: &BodyView<'_>) -> Result<(), Violation> {
    let hash = match body.ommers.count {
        0 => EMPTY_OMMERS,
        _ => blockmill_hashes::keccak256(body.ommers.raw),
    };
    if hash != *header.ommers_hash {
        return Err(Violation::new(Rule::BodyOmmersHash, Hex(header.ommers_hash), Hex(&hash)));
    }
    Ok(())
}

fn verify_withdrawals_root(
    header: &HeaderView<'_>,
    body: &BodyView<'_>,
    roots: &mut RootBuilder,
) -> Result<(), Violation> {
    const RULE: Rule = Rule::BodyWithdrawalsRoot;
    let (expected, list) = match (header.withdrawals_root, body.withdrawals) {
        (None, None) => return Ok(()),
        (Some(expected), Some(list)) => (expected, list),
        // go-ethereum exports the genesis block without its empty list
        (Some(root), None) if header.number == 0 && *root == EMPTY_ROOT => return Ok(()),
        (Some(root), None) => return Err(Violation::new(RULE, Hex(root), "no withdrawals")),
        (None, Some(_)) => {
            return Err(Violation::new(RULE, "no withdrawals", "a list of withdrawals"));
        }
    };
    let root = match list.count {
        0 => EMPTY_ROOT,
        _ => roots.ordered(list.encodings()),
    };
    if root != *expected {
        return Err(Violation::new(RULE, Hex(expected), Hex(&root)));
    }
    Ok(())
}

fn verify_blob_gas(header: &HeaderView<'_>, body: &BodyView<'_>) -> Result<(), Violation> {
    let found = body.blobs * GAS_PER_BLOB;
    let expected = header.blob_gas_used.unwrap_or(0);
    if found != expected {
        return Err(Violation::new(Rule::BodyBlobGas, expected, found));
    }
    Ok(())
}

/// Compares a block access list, where the archive has one, with the header's hash of it
/// (EIP-7928). An empty `list` says that the archive has none.
pub fn verify_access_list_hash(header: &HeaderView<'_>, list: &[u8]) -> Result<(), Violation> {
    match list {
        [] => Ok(()),
        list => verify_hash_of_access_list(header, &blockmill_hashes::keccak256(list)),
    }
}

/// The same for a list with this hash.
pub(crate) fn verify_hash_of_access_list(
    header: &HeaderView<'_>,
    hash: &Hash,
) -> Result<(), Violation> {
    const RULE: Rule = Rule::BodyAccessList;
    match header.block_access_list_hash {
        Some(expected) if expected == hash => Ok(()),
        Some(expected) => Err(Violation::new(RULE, Hex(expected), Hex(hash))),
        None => Err(Violation::new(RULE, "no list before Amsterdam", Hex(hash))),
    }
}

/// Why a body is malformed. Offsets count from the start of the bytes that were decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Not the RLP that a body has here.
    #[error(transparent)]
    Rlp(#[from] Error),
    /// A typed transaction's signature whose y parity is neither 0 nor 1.
    #[error("byte {offset}: y parity is {found}, expected 0 or 1")]
    Parity {
        /// The field's first byte.
        offset: usize,
        /// Its value.
        found: u64,
    },
    /// A blob transaction without blobs, or a code delegation without authorizations.
    #[error("byte {offset}: list is empty, expected at least one item")]
    EmptyList {
        /// Where the list ends.
        offset: usize,
    },
    /// A versioned hash that names no KZG commitment.
    #[error("byte {offset}: blob hash version is {found}, expected {KZG_VERSION}")]
    BlobVersion {
        /// The hash's first byte.
        offset: usize,
        /// Its first byte.
        found: u8,
    },
}
