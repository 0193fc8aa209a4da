//! Headers and bodies that cannot be decoded: the block breaks a rule, or its bytes are damaged.
//!
//! Bytes that are canonical RLP at every depth were written on purpose: then a field of the wrong
//! size, a number too large, an unknown type or a forbidden value breaks a rule of the chain. No
//! client writes bytes that are not canonical RLP: they are damaged.

use crate::body::transactions::{self, KZG_VERSION, TransactionType, creates_contract};
use crate::body::{BodyError, BodyView};
use crate::fault::Cause;
use crate::header::HeaderView;
use crate::params::{ChainSpec, Fork};
use crate::rule::{Rule, Violation};
use crate::transaction_rules::TransactionError;
use blockmill_rlp::ethereum::Header;
use blockmill_rlp::{Encode, Item, RawList, Reader};

/// Fields of a header under Frontier.
const FIRST_FIELDS: usize = 15;
/// Fields of a header under the newest fork that is known.
const FIELDS: usize = FIRST_FIELDS + Header::LATER.len();

/// Why the header `raw`, which does not decode, is refused.
pub(crate) fn header_cause(raw: &[u8], error: blockmill_rlp::Error) -> Cause {
    match blockmill_rlp::validate(raw) {
        Ok(()) => Cause::Rule(
            later_fork(raw)
                .unwrap_or_else(|| Violation::new(Rule::HeaderEncoding, "a header", error)),
        ),
        Err(_) => Cause::Header(error),
    }
}

/// The rule for a header with all fields that are known, and more: those of a later fork.
fn later_fork(raw: &[u8]) -> Option<Violation> {
    let mut list = Reader::new(raw).list().ok()?;
    let items: Vec<&[u8]> = std::iter::from_fn(|| Some(list.item().ok()?.raw)).collect();
    let known = items.get(..FIELDS).filter(|_| items.len() > FIELDS)?;
    HeaderView::decode(&RawList(known).encode()).ok()?;
    let (expected, found) = (format!("at most {FIELDS} fields"), items.len());
    Some(Violation::new(Rule::UnknownFork, expected, found))
}

/// Why the body `raw` of a block under `fork`, which does not decode, is refused.
pub(crate) fn body_cause(raw: &[u8], error: BodyError, fork: Fork) -> Cause {
    body_violation(raw, error, fork).map_or(Cause::Body(error), Cause::Rule)
}

/// Decodes a single block `[header, transactions, ommers, withdrawals]` of a chain.
///
/// # Errors
/// The rule that the header or the body breaks; [`Rule::HeaderEncoding`] or [`Rule::BodyEncoding`]
/// for bytes that are not canonical RLP.
pub(crate) fn decode_block<'a>(
    spec: &ChainSpec,
    raw: &'a [u8],
) -> Result<(HeaderView<'a>, BodyView<'a>), Violation> {
    let header = decode_header(raw)?;
    let (_, body) = BodyView::decode_block(raw).map_err(|error| {
        let malformed = || Violation::new(Rule::BodyEncoding, "a body", error);
        let Some(body) = body_of(raw) else { return malformed() };
        body_violation(&body, error, spec.rules_of(&header).fork).unwrap_or_else(malformed)
    })?;
    Ok((header, body))
}

/// Decodes the header of a block, and nothing else of it.
///
/// # Errors
/// The rule that the header breaks, as [`decode_block`] has it.
pub(crate) fn decode_header(block: &[u8]) -> Result<HeaderView<'_>, Violation> {
    let malformed = |error| Violation::new(Rule::HeaderEncoding, "a header", error);
    let mut outer = Reader::new(block);
    let header = outer.list().and_then(|mut list| list.item()).map_err(malformed)?;
    HeaderView::decode(header.raw).map_err(|error| match header_cause(header.raw, error) {
        Cause::Rule(violation) => violation,
        _ => malformed(error),
    })
}

/// The items of a block after its header, as a list.
fn body_of(block: &[u8]) -> Option<Vec<u8>> {
    let mut outer = Reader::new(block);
    let mut list = outer.list().ok()?;
    outer.finish().ok()?;
    list.item().ok()?;
    let mut items = vec![];
    while !list.is_empty() {
        items.push(list.item().ok()?.raw);
    }
    Some(RawList(&items).encode())
}

/// The rule that a body breaks which does not decode; `None` if its bytes are damaged.
fn body_violation(raw: &[u8], error: BodyError, fork: Fork) -> Option<Violation> {
    blockmill_rlp::validate(raw).ok()?;
    let Some((index, item)) = first_broken(raw) else {
        return Some(Violation::new(Rule::BodyEncoding, "a body", error));
    };
    transaction_violation(&item, error, fork).map(|violation| violation.in_transaction(index))
}

/// The rule that the transaction `item` breaks, which does not decode as an item of a body under
/// `fork`; `None` if its bytes are damaged.
pub(crate) fn transaction_violation(
    item: &Item<'_>,
    error: BodyError,
    fork: Fork,
) -> Option<Violation> {
    let newest = transactions::newest_type(fork);
    match item.payload.first().and_then(|byte| TransactionType::from_byte(*byte)) {
        // fields of a type of a later fork mean nothing here
        Some(found) if !item.is_list && found > newest => {
            Some(TransactionError::Type { newest, found }.into())
        }
        _ => fields_violation(item, error),
    }
}

/// The first transaction that does not decode, and its index.
fn first_broken(body: &[u8]) -> Option<(usize, Item<'_>)> {
    let mut transactions = Reader::new(body).list().ok()?.list().ok()?;
    let items = std::iter::from_fn(|| transactions.item().ok());
    items.enumerate().find(|(_, item)| {
        transactions::read(&mut Reader::with_base(item.raw, item.offset)).is_err()
    })
}

/// The rule that a transaction breaks with its fields; `None` if its bytes are damaged.
fn fields_violation(item: &Item<'_>, error: BodyError) -> Option<Violation> {
    let kind = match (item.is_list, item.payload.split_first()) {
        (true, _) => TransactionType::Legacy,
        (false, None) => return Some(unknown_type("none")),
        (false, Some((byte, list))) => {
            let Some(kind) = TransactionType::from_byte(*byte) else {
                return Some(unknown_type(byte));
            };
            blockmill_rlp::validate(list).ok()?;
            kind
        }
    };
    let of = |rule, expected: &str, found: &dyn std::fmt::Display| {
        Some(Violation::new(rule, expected, found))
    };
    match error {
        BodyError::Parity { found, .. } => of(Rule::SignatureV, "0 or 1", &found),
        BodyError::EmptyList { .. } if kind == TransactionType::SetCode => {
            of(Rule::Authorizations, "at least one", &"none")
        }
        BodyError::EmptyList { .. } => of(Rule::BlobHashes, "at least one", &"none"),
        BodyError::BlobVersion { found, .. } => {
            of(Rule::BlobHashes, &format!("hashes of version {KZG_VERSION}"), &found)
        }
        BodyError::Rlp(_) if creates_contract(item.payload) => {
            of(Rule::Receiver, "an address, as this type creates no contract", &"none")
        }
        BodyError::Rlp(error) => of(Rule::TransactionEncoding, "a transaction", &error),
    }
}

fn unknown_type(found: impl std::fmt::Display) -> Violation {
    Violation::new(Rule::TransactionType, "a known type", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use crate::header::later::AtGenesis;

    #[test]
    fn more_fields_than_known_are_of_a_later_fork_if_the_known_ones_are_sound() {
        let rule = |fields: &[&[u8]]| {
            let raw = RawList(fields).encode();
            let error = HeaderView::decode(&raw).unwrap_err();
            match header_cause(&raw, error) {
                Cause::Rule(violation) => violation.rule,
                cause => panic!("{cause:?}"),
            }
        };
        let mut newest = Header::default();
        let fork = Fork::ALL[Fork::ALL.len() - 1];
        let Ok(()) = newest.edit_later(&mut AtGenesis { fork, london: true });
        let raw = newest.encode();
        let mut list = Reader::new(&raw).list().unwrap();
        let mut fields: Vec<_> = std::iter::from_fn(|| Some(list.item().ok()?.raw)).collect();
        assert_eq!(fields.len(), FIELDS);
        fields.push(&[7]);
        assert_eq!(rule(&fields), Rule::UnknownFork);
        fields[0] = &[7];
        assert_eq!(rule(&fields), Rule::HeaderEncoding);
    }
}
