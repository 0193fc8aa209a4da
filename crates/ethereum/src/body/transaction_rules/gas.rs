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

/// The gas that is used before execution begins (Yellow Paper, section 6.2).
pub fn intrinsic_gas(tx: &Transaction<'_>, fork: Fork) -> u64 {
    TRANSACTION
        + input_gas(tx.input, fork)
        + creation_gas(tx, fork)
        + access_list_gas(&tx.access_list)
        + authorization_gas(&tx.authorizations)
}

/// Gas for the bytes of the input (Yellow Paper, appendix G; EIP-2028).
pub fn input_gas(input: &[u8], fork: Fork) -> u64 {
    let other = if fork >= Fork::Istanbul { OTHER_BYTE_ISTANBUL } else { OTHER_BYTE };
    let (zeros, others) = zeros_and_others(input);
    ZERO_BYTE * zeros + other * others
}

/// Gas for a creation and for going through its code once (EIP-2, EIP-3860).
pub fn creation_gas(tx: &Transaction<'_>, fork: Fork) -> u64 {
    let words = (tx.input.len() as u64).div_ceil(32);
    match tx.to {
        None if fork >= Fork::Shanghai => CREATION + INITCODE_WORD * words,
        None if fork >= Fork::Homestead => CREATION,
        _ => 0,
    }
}

/// Gas for each address and each storage key (EIP-2930).
pub fn access_list_gas(access_list: &List<'_, AccessListEntry<'_>>) -> u64 {
    let keys: usize = access_list.iter().map(|entry| entry.storage_keys.len()).sum();
    ACCESS_LIST_ADDRESS * access_list.len() as u64 + ACCESS_LIST_KEY * keys as u64
}

/// Gas for each code delegation (EIP-7702).
pub fn authorization_gas(authorizations: &List<'_, Authorization<'_>>) -> u64 {
    AUTHORIZATION * authorizations.len() as u64
}

/// The least that a transaction uses, from Prague on, however little it executes (EIP-7623); 0
/// before.
pub fn floor_gas(tx: &Transaction<'_>, fork: Fork) -> u64 {
    if fork < Fork::Prague {
        return 0;
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
}
