//! Accounts, the values of the state trie (Yellow Paper, section 4.1).

use ruint::aliases::U256;

/// An account as a leaf of the state trie holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account<'a> {
    /// Number of transactions that the account sent, or of contracts that it created.
    pub nonce: u64,
    /// Wei that it owns.
    pub balance: U256,
    /// Root of the trie over its storage.
    pub storage_root: &'a [u8; 32],
    /// Keccak-256 of its code.
    pub code_hash: &'a [u8; 32],
}

crate::list!(Account<'a> {
    nonce: u64,
    balance: U256,
    storage_root: &'a [u8; 32],
    code_hash: &'a [u8; 32],
});
