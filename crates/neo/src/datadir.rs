//! The database of neo-go: the LevelDB database in its `DataDirectoryPath`, with the contents that
//! neo-go v0.122 has after the last block of a store. Bytes: `docs/formats/neo-go-database.md`.
//!
//! Each file here writes the entries of one or more prefixes (`storage/store.go`).
//! [`crate::export`] writes them in key order.

pub(crate) mod containers;
pub(crate) mod executables;
pub(crate) mod nodes;
pub(crate) mod source;
pub(crate) mod system;
pub(crate) mod transfers;
pub(crate) mod versions;

/// Blocks, transactions and conflict records (`DataExecutable`).
pub(crate) const EXECUTABLE: u8 = 0x01;
/// Nodes of the state trie (`DataMPT`).
pub(crate) const NODE: u8 = 0x03;
/// State roots (`DataMPTAux`).
pub(crate) const ROOT: u8 = 0x04;
/// Contract storage (`STStorage`) of a node that has not synced its state from others.
pub(crate) const STORAGE: u8 = 0x70;
/// Transfers of NEP-11 tokens (`STNEP11Transfers`).
pub(crate) const TRANSFERS_11: u8 = 0x72;
/// Transfers of NEP-17 tokens (`STNEP17Transfers`).
pub(crate) const TRANSFERS_17: u8 = 0x73;
/// Transfer info of an account (`STTokenTransferInfo`).
pub(crate) const TRANSFER_INFO: u8 = 0x74;
/// Hashes of headers (`IXHeaderHashList`).
pub(crate) const HEADER_HASHES: u8 = 0x80;
/// The last block (`SYSCurrentBlock`).
pub(crate) const CURRENT_BLOCK: u8 = 0xc0;
/// The last header (`SYSCurrentHeader`).
pub(crate) const CURRENT_HEADER: u8 = 0xc1;
/// The format version, and settings that must not change (`SYSVersion`).
pub(crate) const VERSION: u8 = 0xf0;

/// Builds a key: prefix and parts.
pub(crate) fn key_of(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![prefix];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}
