//! Block access lists (EIP-7928).

use blockmill_ethereum::U256;
use blockmill_ethereum::access_list::{
    AccountChanges, BalanceChange, BlockAccessList, CodeChange, ListLimits, MAX_CODE_SIZE,
    NonceChange, SlotChanges, StorageChange, check, entries, first_difference,
};
use blockmill_rlp::ethereum::AccountChanges as View;
use blockmill_rlp::{Decode, Encode, List};

/// What the block of a list allows.
const LIMITS: ListLimits =
    ListLimits { gas_limit: 60_000_000, transactions: 3, code: MAX_CODE_SIZE };

/// A list that is accepted has one encoding, and entries in strictly ascending order. Two forms of
/// it agree, whether it is accepted or not.
pub fn block_access_list(data: &[u8]) -> bool {
    let is_valid = check(data, &LIMITS).is_ok();
    let (owned, view) = (BlockAccessList::decode(data), List::<View<'_>>::decode(data));
    let (Ok(owned), Ok(view)) = (&owned, &view) else {
        assert!(!is_valid && owned.is_err() && view.is_err());
        return false;
    };
    assert_eq!(owned.encode(), data);
    assert_eq!(owned.hash(), blockmill_hashes::keccak256(data));
    assert_eq!(view.encode(), data);
    assert_eq!(first_difference(data, data), Ok(None));
    let keys: Vec<_> = entries(view).map(|entry| entry.key).collect();
    assert!(!is_valid || keys.is_sorted_by(|a, b| a < b));
    let empty = first_difference(data, &[0xc0]).expect("two lists");
    assert_eq!(empty.is_none(), keys.is_empty());
    is_valid
}

/// A list with entries of every kind.
pub fn seed() -> Vec<u8> {
    let account = |address: u8| AccountChanges {
        address: [address; 20],
        storage_changes: (0..3)
            .map(|slot| SlotChanges {
                slot: U256::from(slot),
                changes: (0..=slot)
                    .map(|index| StorageChange { index, value: U256::from(1u64 << (9 * slot)) })
                    .collect(),
            })
            .collect(),
        storage_reads: vec![U256::from(7), U256::from(0x1234), U256::MAX],
        balance_changes: (0..4)
            .map(|index| BalanceChange { index, balance: U256::from(10).pow(U256::from(18)) })
            .collect(),
        nonce_changes: vec![NonceChange { index: 1, nonce: 300 }],
        code_changes: vec![CodeChange { index: 2, code: vec![0x60; 60] }],
    };
    BlockAccessList { accounts: (1..4).map(account).collect() }.encode()
}
