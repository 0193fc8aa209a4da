//! Headers and bodies that cannot be decoded: the block breaks a rule, or its bytes are damaged.
//!
//! Bytes that are canonical RLP at every depth were written on purpose: then a field of the wrong
//! size, a number too large, an unknown type or a forbidden value breaks a rule of the chain. No
//! client writes bytes that are not canonical RLP: they are damaged.

use crate::body::BodyError;
use crate::body::transactions::{self, KZG_VERSION, TransactionType, creates_contract};
use crate::fault::Cause;
use crate::header::HeaderView;
use crate::rule::{Rule, Violation};
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

/// Why the body `raw`, which does not decode, is refused.
pub(crate) fn body_cause(raw: &[u8], error: BodyError) -> Cause {
    body_violation(raw, error).map_or(Cause::Body(error), Cause::Rule)
}

/// The rule that a body breaks which does not decode; `None` if its bytes are damaged.
fn body_violation(raw: &[u8], error: BodyError) -> Option<Violation> {
    blockmill_rlp::validate(raw).ok()?;
    let Some((index, item)) = first_broken(raw) else {
        return Some(Violation::new(Rule::BodyEncoding, "a body", error));
    };
    transaction_violation(&item, error).map(|violation| violation.in_transaction(index))
}

/// The first transaction that does not decode, and its index.
fn first_broken(body: &[u8]) -> Option<(usize, Item<'_>)> {
    let mut transactions = Reader::new(body).list().ok()?.list().ok()?;
    let items = std::iter::from_fn(|| transactions.item().ok());
    items.enumerate().find(|(_, item)| {
        transactions::read(&mut Reader::with_base(item.raw, item.offset)).is_err()
    })
}

/// The rule that a transaction breaks; `None` if its bytes are damaged.
fn transaction_violation(item: &Item<'_>, error: BodyError) -> Option<Violation> {
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
    use crate::params::Fork;

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
