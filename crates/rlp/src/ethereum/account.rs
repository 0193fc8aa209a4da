//! Accounts, the values of the state trie (Yellow Paper, section 4.1).

use ruint::aliases::U256;

/// An account as a leaf of the state trie holds it.
///
/// ```
/// use blockmill_rlp::ethereum::{Account, EMPTY_ROOT};
/// use blockmill_rlp::{Decode, Encode, U256};
///
/// let account = Account {
///     nonce: 1,
///     balance: U256::from(1_000),
///     storage_root: &EMPTY_ROOT,
///     code_hash: &blockmill_hashes::keccak256(&[]),
/// };
/// let bytes = account.encode();
/// assert_eq!(Account::decode(&bytes), Ok(account));
/// ```
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
