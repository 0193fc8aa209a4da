//! Rules of the execution specifications that the encoding of a transaction decides, without state.

use crate::body::BodyError;
use crate::params::Fork;
pub use blockmill_rlp::ethereum::{Transaction, TransactionType};
use blockmill_rlp::{Decode, List, Reader, bytes_len, u64_len, u256_len};

/// Blob gas of one blob (EIP-4844).
pub const GAS_PER_BLOB: u64 = 131_072;

/// First byte of a versioned hash that names a KZG commitment (EIP-4844).
pub const KZG_VERSION: u8 = 1;

/// The last type that blocks of `fork` may hold; all types before it are valid too.
pub fn newest_type(fork: Fork) -> TransactionType {
    match fork {
        fork if fork >= Fork::Prague => TransactionType::SetCode,
        fork if fork >= Fork::Cancun => TransactionType::Blob,
        fork if fork >= Fork::London => TransactionType::DynamicFee,
        fork if fork >= Fork::Berlin => TransactionType::AccessList,
        _ => TransactionType::Legacy,
    }
}

/// Decodes the next transaction of `reader`, and checks its values.
pub fn read<'a>(reader: &mut Reader<'a>) -> Result<Transaction<'a>, BodyError> {
    let transaction = Transaction::read(reader)?;
    check(&transaction, reader.offset())?;
    Ok(transaction)
}

/// Checks the values of a decoded transaction whose encoding ends at `end`: versions of blob
/// hashes, lists that may not be empty (EIP-4844, EIP-7702), and the parity of typed signatures.
fn check(transaction: &Transaction<'_>, end: usize) -> Result<(), BodyError> {
    match transaction.kind {
        TransactionType::Legacy => return Ok(()),
        TransactionType::Blob => {
            not_empty(&transaction.blob_hashes)?;
            check_versions(&transaction.blob_hashes)?;
        }
        TransactionType::SetCode => not_empty(&transaction.authorizations)?,
        TransactionType::AccessList | TransactionType::DynamicFee => {}
    }
    match transaction.v.saturating_to() {
        0 | 1 => Ok(()),
        found => {
            // the last three fields are the signature
            let signature = u256_len(&transaction.r) + u256_len(&transaction.s);
            Err(BodyError::Parity { offset: end - signature - u64_len(found), found })
        }
    }
}

/// Whether the typed transaction of this canonical form has no receiver, although its type creates
/// no contract (EIP-4844, EIP-7702).
pub(crate) fn creates_contract(canonical: &[u8]) -> bool {
    let receiver = || {
        let (kind, list) = canonical.split_first()?;
        TransactionType::from_byte(*kind).filter(|kind| *kind >= TransactionType::Blob)?;
        let mut fields = Reader::new(list).list().ok()?;
        // chain id, nonce, both fees, gas limit
        (0..5).try_for_each(|_| fields.item().map(drop)).ok()?;
        fields.item().ok()
    };
    receiver().is_some_and(|to| to.raw == [0x80])
}

fn not_empty<T>(list: &List<'_, T>) -> Result<(), BodyError> {
    if list.is_empty() {
        return Err(BodyError::EmptyList { offset: list.offset().unwrap_or_default() });
    }
    Ok(())
}

fn check_versions(hashes: &List<'_, [u8; 32]>) -> Result<(), BodyError> {
    let start = hashes.offset().unwrap_or_default();
    for (index, hash) in hashes.iter().enumerate() {
        if hash[0] != KZG_VERSION {
            let offset = start + index * bytes_len(&hash);
            return Err(BodyError::BlobVersion { offset, found: hash[0] });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;
    use blockmill_rlp::Encode;
    use blockmill_rlp::ethereum::Authorization;

    /// The verdict on a transaction that follows five other bytes.
    fn verdict(transaction: &Transaction<'_>) -> Option<BodyError> {
        let raw = transaction.encode();
        read(&mut Reader::with_base(&raw, 5)).err()
    }

    /// A transaction of this type, which needs a receiver from blobs on.
    fn transaction(kind: TransactionType) -> Transaction<'static> {
        const HASHES: [[u8; 32]; 2] = [[KZG_VERSION; 32]; 2];
        const DELEGATION: Authorization<'_> = Authorization {
            chain_id: U256::ONE,
            address: &[4; 20],
            nonce: 1,
            y_parity: 255,
            r: U256::MAX,
            s: U256::MAX,
        };
        let mut transaction = Transaction { to: Some(&[7; 20]), ..Transaction::new(kind) };
        match kind {
            TransactionType::Blob => transaction.blob_hashes = List::Values(&HASHES),
            TransactionType::SetCode => transaction.authorizations = List::Values(&[DELEGATION]),
            _ => {}
        }
        transaction
    }

    #[test]
    fn transactions_without_blobs_or_without_delegations_need_none() {
        for kind in TransactionType::ALL {
            assert_eq!(verdict(&transaction(kind)), None, "{kind:?}");
            let without = Transaction { to: Some(&[7; 20]), ..Transaction::new(kind) };
            let error = verdict(&without);
            // prefix, type, prefix, five numbers, receiver, value, input, access list, blob fee
            let expected = match kind {
                TransactionType::Blob => Some(BodyError::EmptyList { offset: 5 + 34 }),
                TransactionType::SetCode => Some(BodyError::EmptyList { offset: 5 + 33 }),
                _ => None,
            };
            assert_eq!(error, expected, "{kind:?}");
        }
    }

    #[test]
    fn a_blob_hash_of_an_unknown_version_is_named() {
        let hashes = [[KZG_VERSION; 32], [2; 32]];
        let blob = transaction(TransactionType::Blob);
        let wrong = Transaction { blob_hashes: List::Values(&hashes), ..blob };
        let index = wrong.encode().iter().position(|byte| *byte == 2).unwrap() - 1;
        let expected = BodyError::BlobVersion { offset: 5 + index, found: 2 };
        assert_eq!(verdict(&wrong), Some(expected));
    }

    #[test]
    fn typed_signatures_have_a_parity_of_0_or_1() {
        for kind in TransactionType::ALL {
            for (parity, s) in [(2, U256::ZERO), (27, U256::ONE), (0x2ee5, U256::MAX)] {
                let v = U256::from(parity);
                let signed = Transaction { v, r: U256::from(7), s, ..transaction(kind) };
                let signature = u64_len(parity) + 1 + u256_len(&s);
                let offset = 5 + signed.encoded_len() - signature;
                let expected = BodyError::Parity { offset, found: parity };
                let expected = (kind != TransactionType::Legacy).then_some(expected);
                assert_eq!(verdict(&signed), expected, "{kind:?}");
            }
        }
    }
}
