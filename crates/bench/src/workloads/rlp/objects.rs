//! The objects: the transaction and the header of nim-eth's RLP profiler, and lists of them.

use blockmill_rlp::ethereum::{Block, Body, Header, Transaction, TransactionType};
use blockmill_rlp::{List, U256};

/// Nonce of the first transaction.
const FIRST_NONCE: u64 = 11_253;
/// Number of the first header.
const FIRST_NUMBER: u64 = 1024;
/// Code of the contract that the transactions create.
const PAYLOAD: [u8; 154] = bytes(
    b"630000001960010138038063000000196001016000396000f35b4e1eb055c8ea0e2d61494195c70b\
      76ca531ed36d77a8b8590626843502ed36831e8de19bae5c60d38535daf58411ad4f5ff1c5d6f4c4\
      25581b2233457440aa4d5fbf9807d655f9f4a7434c898825a9281483a599789e141a726381feace5\
      6312b2fb287ed29b6cee7f029c433dc7bf47d74817ad83d5235736f829dd771fdf90",
);

/// The words of the header.
const PARENT_HASH: [u8; 32] =
    bytes(b"4d24f4dddde8ab09ea900bc87492f74e44e1c3982042d0fd01673a98e72c14a6");
const OMMERS_HASH: [u8; 32] =
    bytes(b"1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
const STATE_ROOT: [u8; 32] =
    bytes(b"a06c17a5ebaeacef3b760293e8f2092e775448c038aa7361350cde9f27e6b218");
const TRANSACTIONS_ROOT: [u8; 32] =
    bytes(b"773faa6ccc82788a4392df241b7c6e7175fd77648fed2aaad583a528293a80bc");
const RECEIPTS_ROOT: [u8; 32] =
    bytes(b"8ccc9b260110dad8161d01e72913cd27baab66809aa106a4c28a7c7a3a418b65");
const MIX_HASH: [u8; 32] =
    bytes(b"378c37bd4d8692035f9d03a619d7c44a579d3b1c1c52db3096bc92a71b74aeb5");
const NONCE: [u8; 8] = bytes(b"4ea813c0c15b4215");

/// The reference transaction, its nonce raised by `index`: 179 bytes encoded.
#[must_use]
pub fn transaction(index: u64) -> Transaction<'static> {
    Transaction {
        nonce: FIRST_NONCE + index,
        max_fee: U256::from(9),
        gas_limit: 88_920,
        input: &PAYLOAD,
        v: U256::from(49),
        r: U256::from(2_812_423_844_u64),
        s: U256::from(532_553_168),
        ..Transaction::new(TransactionType::Legacy)
    }
}

/// So many transactions, each with its own nonce.
#[must_use]
pub fn transactions(count: usize) -> Vec<Transaction<'static>> {
    (0..count as u64).map(transaction).collect()
}

/// The reference header, its number raised by `index`: 511 bytes encoded.
#[must_use]
pub fn header(index: u64) -> Header<'static> {
    Header {
        parent_hash: &PARENT_HASH,
        ommers_hash: &OMMERS_HASH,
        beneficiary: &[0; 20],
        state_root: &STATE_ROOT,
        transactions_root: &TRANSACTIONS_ROOT,
        receipts_root: &RECEIPTS_ROOT,
        logs_bloom: &[0; 256],
        difficulty: U256::from(131_072),
        number: FIRST_NUMBER + index,
        gas_limit: 3_141_592,
        gas_used: 891_237,
        timestamp: 15_748_660,
        extra_data: &[],
        mix_hash: &MIX_HASH,
        nonce: &NONCE,
        base_fee: Some(U256::from(9)),
        ..Header::default()
    }
}

/// So many headers, each with its own number.
#[must_use]
pub fn headers(count: usize) -> Vec<Header<'static>> {
    (0..count as u64).map(header).collect()
}

/// The reference header over these transactions, without ommers.
#[must_use]
pub fn block<'a>(transactions: &'a [Transaction<'a>]) -> Block<'a> {
    let body = Body { transactions: List::Values(transactions), ..Body::default() };
    Block::new(header(0), body)
}

/// The bytes that pairs of lower-case hexadecimal digits stand for.
const fn bytes<const N: usize, const DIGITS: usize>(digits: &[u8; DIGITS]) -> [u8; N] {
    const fn value(digit: u8) -> u8 {
        if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 }
    }
    assert!(DIGITS == 2 * N, "two digits for each byte");
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = value(digits[2 * at]) << 4 | value(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_rlp::Encode;

    #[test]
    fn objects_have_the_lengths_of_the_reference() {
        assert_eq!(transaction(0).encode().len(), 179);
        assert_eq!(header(0).encode().len(), 511);
        assert_eq!(block(&transactions(8)).encode().len(), 3 + 511 + 3 + 8 * 179 + 1);
    }
}
