//! Ethereum: header rules, ethash, bodies, import. The front door is `import.rs`.

pub mod header;

pub use ruint::aliases::U256;

/// A Keccak-256 hash, a root or any other 32-byte name.
pub type Hash = [u8; 32];
/// A 20-byte account address.
pub type Address = [u8; 20];
