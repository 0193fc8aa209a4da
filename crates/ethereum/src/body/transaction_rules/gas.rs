//! Gas that a transaction costs before its first instruction runs.

use crate::body::transactions::Transaction;
use crate::params::Fork;
use blockmill_rlp::List;
use blockmill_rlp::ethereum::{AccessListEntry, Authorization};

/// Every transaction (Yellow Paper, appendix G).
pub const TRANSACTION: u64 = 21_000;
/// A contract's creation, from Homestead on (EIP-2).
pub const CREATION: u64 = 32_000;
/// A zero byte of input (Yellow Paper, appendix G).
pub const ZERO_BYTE: u64 = 4;
/// Another byte of input before Istanbul (Yellow Paper, appendix G).
pub const OTHER_BYTE: u64 = 68;
/// Another byte of input from Istanbul on (EIP-2028).
pub const OTHER_BYTE_ISTANBUL: u64 = 16;
/// 32 bytes of creation code, from Shanghai on (EIP-3860).
pub const INITCODE_WORD: u64 = 2;
/// An address of an access list (EIP-2930).
pub const ACCESS_LIST_ADDRESS: u64 = 2_400;
/// A storage key of an access list (EIP-2930).
pub const ACCESS_LIST_KEY: u64 = 1_900;
/// A code delegation; what existing accounts get back is known at execution only (EIP-7702).
pub const AUTHORIZATION: u64 = 25_000;
/// A token of input, of which a zero byte is 1 and another byte is 4, at least (EIP-7623).
pub const FLOOR_TOKEN: u64 = 10;
/// Every transaction, from Amsterdam on (EIP-2780).
const AMSTERDAM_TRANSACTION: u64 = 12_000;
/// The receiver, from Amsterdam on: a cold access (EIP-2780, EIP-8038).
const AMSTERDAM_RECEIVER: u64 = 3_000;
/// Value for a receiver, from Amsterdam on (EIP-2780).
const AMSTERDAM_VALUE: u64 = 6_000;
/// A contract's creation, from Amsterdam on: a cold access and a write (EIP-8038). The new account
/// is paid for at execution (EIP-8037).
const AMSTERDAM_CREATION: u64 = 12_000;
/// A code delegation, from Amsterdam on, apart from what it writes (EIP-2780, EIP-8038).
const AMSTERDAM_AUTHORIZATION: u64 = 7_816;
/// A byte of input, at least, and a byte of an access list, from Amsterdam on (EIP-7976, EIP-7981).
const AMSTERDAM_BYTE: u64 = 64;
/// The access that an address of an access list pays for, from Amsterdam on (EIP-8038).
const COLD_ADDRESS: u64 = 2_900;
/// The access that a storage key of an access list pays for, from Amsterdam on (EIP-8038).
const COLD_KEY: u64 = 2_000;

/// The gas that is used before execution begins (Yellow Paper, section 6.2; EIP-2780 from Amsterdam
/// on). `to_self` says whether the receiver is the sender, which counts from Amsterdam on.
pub fn intrinsic_gas(tx: &Transaction<'_>, fork: Fork, to_self: bool) -> u64 {
    let by_fork = match fork >= Fork::Amsterdam {
        true => {
            base_gas(tx, to_self)
                + initcode_gas(tx)
                + listed(&tx.access_list, COLD_ADDRESS, COLD_KEY)
                + AMSTERDAM_BYTE * listed_bytes(&tx.access_list)
                + AMSTERDAM_AUTHORIZATION * tx.authorizations.len() as u64
        }
        false => {
            TRANSACTION
                + creation_gas(tx, fork)
                + access_list_gas(&tx.access_list)
                + authorization_gas(&tx.authorizations)
        }
    };
    by_fork + input_gas(tx.input, fork)
}

/// From Amsterdam on, gas for the sender, the receiver or the new contract, and the value
/// (EIP-2780). A transaction to its sender pays for neither receiver nor value.
fn base_gas(tx: &Transaction<'_>, to_self: bool) -> u64 {
    AMSTERDAM_TRANSACTION
        + match tx.to {
            None => AMSTERDAM_CREATION,
            Some(_) if to_self => 0,
            Some(_) if tx.value.is_zero() => AMSTERDAM_RECEIVER,
            Some(_) => AMSTERDAM_RECEIVER + AMSTERDAM_VALUE,
        }
}

/// Gas for the bytes of the input (Yellow Paper, appendix G; EIP-2028).
pub fn input_gas(input: &[u8], fork: Fork) -> u64 {
    let other = if fork >= Fork::Istanbul { OTHER_BYTE_ISTANBUL } else { OTHER_BYTE };
    let (zeros, others) = zeros_and_others(input);
    ZERO_BYTE * zeros + other * others
}

/// Gas for a creation and for going through its code once (EIP-2, EIP-3860).
pub fn creation_gas(tx: &Transaction<'_>, fork: Fork) -> u64 {
    match tx.to {
        None if fork >= Fork::Shanghai => CREATION + initcode_gas(tx),
        None if fork >= Fork::Homestead => CREATION,
        _ => 0,
    }
}

/// Gas for going through the code of a creation once (EIP-3860).
fn initcode_gas(tx: &Transaction<'_>) -> u64 {
    match tx.to {
        None => INITCODE_WORD * (tx.input.len() as u64).div_ceil(32),
        Some(_) => 0,
    }
}

/// Gas for each address and each storage key (EIP-2930).
pub fn access_list_gas(access_list: &List<'_, AccessListEntry<'_>>) -> u64 {
    listed(access_list, ACCESS_LIST_ADDRESS, ACCESS_LIST_KEY)
}

/// The sum over an access list, with a number for each address and each storage key.
fn listed(access_list: &List<'_, AccessListEntry<'_>>, address: u64, key: u64) -> u64 {
    let keys: usize = access_list.iter().map(|entry| entry.storage_keys.len()).sum();
    address * access_list.len() as u64 + key * keys as u64
}

/// Bytes of the addresses and storage keys of an access list (EIP-7981).
fn listed_bytes(access_list: &List<'_, AccessListEntry<'_>>) -> u64 {
    listed(access_list, 20, 32)
}

/// Gas for each code delegation (EIP-7702).
pub fn authorization_gas(authorizations: &List<'_, Authorization<'_>>) -> u64 {
    AUTHORIZATION * authorizations.len() as u64
}

/// The least that a transaction uses, from Prague on, however little it executes (EIP-7623; from
/// Amsterdam on EIP-7976, EIP-7981 and EIP-2780); 0 before. `to_self` is as for [`intrinsic_gas`].
pub fn floor_gas(tx: &Transaction<'_>, fork: Fork, to_self: bool) -> u64 {
    if fork < Fork::Prague {
        return 0;
    }
    if fork >= Fork::Amsterdam {
        let bytes = tx.input.len() as u64 + listed_bytes(&tx.access_list);
        return base_gas(tx, to_self) + AMSTERDAM_BYTE * bytes;
    }
    let (zeros, others) = zeros_and_others(tx.input);
    TRANSACTION + FLOOR_TOKEN * (zeros + 4 * others)
}

fn zeros_and_others(bytes: &[u8]) -> (u64, u64) {
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    (zeros as u64, (bytes.len() - zeros) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_the_input_have_two_prices() {
        let input = [0, 1, 0, 2, 0];
        assert_eq!(input_gas(&input, Fork::Petersburg), 3 * 4 + 2 * 68);
        assert_eq!(input_gas(&input, Fork::Istanbul), 3 * 4 + 2 * 16);
        assert_eq!(input_gas(&[], Fork::Istanbul), 0);
    }

    #[test]
    fn addresses_and_keys_of_an_access_list_are_paid_for() {
        let entry = |keys| AccessListEntry { address: &[7; 20], storage_keys: List::Values(keys) };
        let entries = [entry(&[]), entry(&[[9; 32], [8; 32]])];
        assert_eq!(access_list_gas(&List::Values(&entries)), 2 * 2_400 + 2 * 1_900);
        assert_eq!(access_list_gas(&List::default()), 0);
    }

    #[test]
    fn each_authorization_is_paid_for() {
        let number = crate::U256::ONE;
        let one = Authorization {
            chain_id: number,
            address: &[4; 20],
            nonce: 1,
            y_parity: 0,
            r: number,
            s: number,
        };
        assert_eq!(authorization_gas(&List::Values(&[one, one])), 50_000);
        assert_eq!(authorization_gas(&List::default()), 0);
    }

    #[test]
    fn amsterdam_counts_receiver_and_value_apart_and_every_byte_of_lists() {
        use crate::body::transactions::TransactionType;
        let (fork, value) = (Fork::Amsterdam, crate::U256::ONE);
        let mut tx = Transaction::new(TransactionType::AccessList);
        let gas = |tx: &Transaction<'_>, to_self| {
            (intrinsic_gas(tx, fork, to_self), floor_gas(tx, fork, to_self))
        };
        // a creation pays neither for a receiver nor for its value
        tx.value = value;
        assert_eq!(gas(&tx, false), (24_000, 24_000));
        tx.to = Some(&[7; 20]);
        assert_eq!(gas(&tx, false), (21_000, 21_000));
        assert_eq!(gas(&tx, true), (12_000, 12_000));
        tx.value = crate::U256::ZERO;
        assert_eq!(gas(&tx, false), (15_000, 15_000));
        tx.input = &[0, 1];
        assert_eq!(gas(&tx, false), (15_000 + 4 + 16, 15_000 + 2 * 64));
        let entry = |keys| AccessListEntry { address: &[7; 20], storage_keys: List::Values(keys) };
        let entries = [entry(&[]), entry(&[[9; 32]])];
        tx.access_list = List::Values(&entries);
        let bytes = 64 * (20 + 20 + 32);
        let accesses = 2_900 + 2_900 + 2_000;
        assert_eq!(gas(&tx, false), (15_020 + accesses + bytes, 15_128 + bytes));
    }
}
