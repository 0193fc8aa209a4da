//! The transactions root of a block, and the root of a small state.

use blockmill_rlp::{Encode, U256};
use blockmill_trie::{ordered_root, secure_root};

fn main() {
    let transactions: Vec<Vec<u8>> = (0..300u64).map(|nonce| [nonce, 21_000].encode()).collect();
    let root = ordered_root(transactions.iter().map(Vec::as_slice));
    println!("transactions root: {}", hex(&root));

    let balances = (0..1_000u64).map(|i| (i.to_be_bytes(), U256::from(i).encode()));
    println!("state root:        {}", hex(&secure_root(balances)));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
