//! Each rule at its limit.

use super::*;
use crate::body::transactions::TransactionType::{AccessList, Blob, DynamicFee, Legacy, SetCode};
use blockmill_rlp::List;

/// A transaction whose every field is 0 or empty.
fn empty() -> Transaction<'static> {
    Transaction::new(Legacy)
}

/// So many blobs.
fn blobs(count: usize) -> List<'static, [u8; 32]> {
    List::Values(&[[1; 32]; 7][..count])
}

#[test]
fn each_type_has_a_first_fork() {
    let mut tx = empty();
    for (kind, first, before) in [
        (AccessList, Fork::Berlin, Fork::MuirGlacier),
        (DynamicFee, Fork::London, Fork::Berlin),
        (Blob, Fork::Cancun, Fork::Shanghai),
        (SetCode, Fork::Prague, Fork::Cancun),
    ] {
        tx.kind = kind;
        assert_eq!(verify_type(&tx, first), Ok(()));
        let newest = newest_type(before);
        let refused = TransactionError::Type { newest, found: kind };
        assert_eq!(verify_type(&tx, before), Err(refused));
    }
    tx.kind = Legacy;
    assert_eq!(verify_type(&tx, Fork::Frontier), Ok(()));
}

#[test]
fn the_largest_nonce_is_kept_free() {
    let mut tx = empty();
    tx.nonce = u64::MAX - 1;
    assert_eq!(verify_nonce(&tx), Ok(()));
    tx.nonce = u64::MAX;
    assert_eq!(verify_nonce(&tx), Err(TransactionError::Nonce { found: u64::MAX }));
}

#[test]
fn the_priority_fee_is_part_of_the_fee() {
    let mut tx = empty();
    let (max_fee, found) = (U256::from(7), U256::from(8));
    (tx.max_fee, tx.max_priority_fee) = (max_fee, max_fee);
    assert_eq!(verify_priority_fee(&tx), Ok(()));
    tx.max_priority_fee = found;
    let refused = TransactionError::PriorityFee { max_fee, found };
    assert_eq!(verify_priority_fee(&tx), Err(refused));
}

#[test]
fn gas_and_blobs_cost_less_than_256_bits_together() {
    let mut tx = empty();
    (tx.gas_limit, tx.max_fee) = (1, U256::MAX);
    assert_eq!(verify_upfront_cost(&tx), Ok(()));
    (tx.blob_hashes, tx.max_blob_fee) = (blobs(1), U256::ONE);
    assert!(verify_upfront_cost(&tx).is_err());
    tx.max_fee -= U256::from(GAS_PER_BLOB);
    assert_eq!(verify_upfront_cost(&tx), Ok(()));
    tx.gas_limit = 2;
    assert!(verify_upfront_cost(&tx).is_err());
    (tx.gas_limit, tx.max_blob_fee) = (0, U256::MAX);
    assert!(verify_upfront_cost(&tx).is_err());
}

#[test]
fn osaka_bounds_gas_and_blobs() {
    let mut tx = empty();
    (tx.gas_limit, tx.blob_hashes) = (1 << 24, blobs(6));
    assert_eq!(verify_gas_limit(&tx, Fork::Osaka), Ok(()));
    assert_eq!(verify_blobs(&tx, Fork::Osaka), Ok(()));
    (tx.gas_limit, tx.blob_hashes) = ((1 << 24) + 1, blobs(7));
    let (gas, count) = (verify_gas_limit(&tx, Fork::Osaka), verify_blobs(&tx, Fork::Osaka));
    assert_eq!(gas, Err(TransactionError::GasLimit { max: 1 << 24, found: tx.gas_limit }));
    assert_eq!(count, Err(TransactionError::Blobs { max: 6, found: 7 }));
    assert_eq!(verify_gas_limit(&tx, Fork::Prague), Ok(()));
    assert_eq!(verify_blobs(&tx, Fork::Prague), Ok(()));
}

#[test]
fn the_floor_counts_where_it_is_higher() {
    let input = [1; 100];
    let mut tx = empty();
    (tx.input, tx.to) = (&input, Some(&[7; 20]));
    tx.gas_limit = 21_000 + 1_600;
    assert_eq!(verify_intrinsic_gas(&tx, Fork::Cancun, false), Ok(()));
    let refused =
        TransactionError::IntrinsicGas { needed: 21_000 + 4_000, gas_limit: tx.gas_limit };
    assert_eq!(verify_intrinsic_gas(&tx, Fork::Prague, false), Err(refused));
    tx.gas_limit = 21_000 + 4_000;
    assert_eq!(verify_intrinsic_gas(&tx, Fork::Prague, false), Ok(()));
}

#[test]
fn amsterdam_bounds_what_is_due_and_a_transaction_to_its_sender_owes_less() {
    let (fork, receiver) = (Fork::Amsterdam, [7; 20]);
    let mut tx = empty();
    (tx.to, tx.gas_limit) = (Some(&receiver), 1 << 30);
    assert_eq!(verify_gas_limit(&tx, fork), Ok(()));
    tx.gas_limit = 14_999;
    assert!(is_sender_gas_open(&tx, fork) && !is_sender_gas_open(&tx, Fork::Osaka));
    assert_eq!(verify_sender_gas(&tx, fork, &receiver), Ok(()));
    let refused = TransactionError::IntrinsicGas { needed: 15_000, gas_limit: 14_999 };
    assert_eq!(verify_sender_gas(&tx, fork, &[8; 20]), Err(refused));
    let input = vec![0; (1 << 24) / 64];
    (tx.input, tx.gas_limit) = (&input, u64::MAX);
    let refused = TransactionError::GasDue { max: 1 << 24, needed: (1 << 24) + 12_000 };
    assert_eq!(verify_sender_gas(&tx, fork, &receiver), Err(refused));
}
