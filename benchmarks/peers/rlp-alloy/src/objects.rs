//! The objects: the transaction and the header of nim-eth's RLP profiler, and lists of them.

use alloy_consensus::{Block, BlockBody, Header, SignableTransaction, TxEnvelope, TxLegacy};
use alloy_primitives::{B64, Bytes, Signature, TxKind, U256, b64, b256, hex};

/// The reference transaction's number; its followers in a list count up from it.
const FIRST_NONCE: u64 = 11_253;
/// The reference header's number; its followers in a list count up from it.
const FIRST_NUMBER: u64 = 1024;
/// Code of the contract that the transactions create.
const PAYLOAD: [u8; 154] = hex!(
    "630000001960010138038063000000196001016000396000f35b4e1eb055c8ea0e2d61494195c70b"
    "76ca531ed36d77a8b8590626843502ed36831e8de19bae5c60d38535daf58411ad4f5ff1c5d6f4c4"
    "25581b2233457440aa4d5fbf9807d655f9f4a7434c898825a9281483a599789e141a726381feace5"
    "6312b2fb287ed29b6cee7f029c433dc7bf47d74817ad83d5235736f829dd771fdf90"
);
/// The reference header's proof of work.
const NONCE: B64 = b64!("4ea813c0c15b4215");

/// The reference transaction, its nonce raised by `index`: 179 bytes encoded.
pub fn transaction(index: usize) -> TxEnvelope {
    let transaction = TxLegacy {
        chain_id: Some(7), // V is 2 * 7 + 35 = 49
        nonce: FIRST_NONCE + index as u64,
        gas_price: 9,
        gas_limit: 88_920,
        to: TxKind::Create,
        value: U256::ZERO,
        input: Bytes::from_static(&PAYLOAD),
    };
    let [r, s] = [2_812_423_844_u64, 532_553_168].map(U256::from);
    transaction.into_signed(Signature::new(r, s, false)).into()
}

/// So many transactions, each with its own nonce.
pub fn transactions(count: usize) -> Vec<TxEnvelope> {
    (0..count).map(transaction).collect()
}

/// The reference header, its number raised by `index`: 511 bytes encoded.
pub fn header(index: usize) -> Header {
    Header {
        parent_hash: b256!("4d24f4dddde8ab09ea900bc87492f74e44e1c3982042d0fd01673a98e72c14a6"),
        ommers_hash: b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"),
        state_root: b256!("a06c17a5ebaeacef3b760293e8f2092e775448c038aa7361350cde9f27e6b218"),
        transactions_root: b256!(
            "773faa6ccc82788a4392df241b7c6e7175fd77648fed2aaad583a528293a80bc"
        ),
        receipts_root: b256!("8ccc9b260110dad8161d01e72913cd27baab66809aa106a4c28a7c7a3a418b65"),
        difficulty: U256::from(131_072),
        number: FIRST_NUMBER + index as u64,
        gas_limit: 3_141_592,
        gas_used: 891_237,
        timestamp: 15_748_660,
        mix_hash: b256!("378c37bd4d8692035f9d03a619d7c44a579d3b1c1c52db3096bc92a71b74aeb5"),
        nonce: NONCE,
        base_fee_per_gas: Some(9),
        ..Header::default()
    }
}

/// So many headers, each with its own number.
pub fn headers(count: usize) -> Vec<Header> {
    (0..count).map(header).collect()
}

/// The reference header over so many transactions, without ommers.
pub fn block(transactions: usize) -> Block<TxEnvelope> {
    let transactions = self::transactions(transactions);
    let body = BlockBody { transactions, ommers: vec![], withdrawals: None };
    Block { header: header(0), body }
}

/// Stops the program when an object is not the one that all peers measure.
pub fn check_lengths() {
    assert_eq!(alloy_rlp::encode(transaction(0)).len(), 179);
    assert_eq!(alloy_rlp::encode(header(0)).len(), 511);
}
