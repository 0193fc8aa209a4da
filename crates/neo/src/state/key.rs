//! Keys of contract storage: the contract's id, and the key within the contract.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest key of a contract (`limits.MaxStorageKeyLen` of neo-go).
pub const MAX_STORAGE_KEY: usize = 64;
/// The longest value (`limits.MaxStorageValueLen`).
pub const MAX_STORAGE_VALUE: usize = 65_535;
/// Bytes of a contract's id.
const ID: usize = 4;

/// A contract's id (little endian, as in the state trie) and its key. Ordered by these bytes.
#[derive(Clone, Copy)]
pub struct StorageKey {
    length: u8,
    bytes: [u8; ID + MAX_STORAGE_KEY],
}

impl StorageKey {
    /// The key of contract `id`; `None` if it is longer than [`MAX_STORAGE_KEY`].
    #[must_use]
    pub fn new(id: i32, key: &[u8]) -> Option<Self> {
        if key.len() > MAX_STORAGE_KEY {
            return None;
        }
        let mut bytes = [0; ID + MAX_STORAGE_KEY];
        bytes[..ID].copy_from_slice(&id.to_le_bytes());
        bytes[ID..ID + key.len()].copy_from_slice(key);
        Some(Self { length: (ID + key.len()) as u8, bytes })
    }

    /// Decodes id and key from the form of tries and tables.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let (id, key) = bytes.split_first_chunk()?;
        Self::new(i32::from_le_bytes(*id), key)
    }

    /// Id and key in the form of tries and tables.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }

    /// The contract.
    #[must_use]
    pub fn id(&self) -> i32 {
        let [a, b, c, d, ..] = self.bytes;
        i32::from_le_bytes([a, b, c, d])
    }

    /// The key within the contract.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.as_slice()[ID..]
    }
}

impl Borrow<[u8]> for StorageKey {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for StorageKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for StorageKey {}

impl PartialOrd for StorageKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StorageKey {
    fn cmp(&self, other: &Self) -> Ordering {
        // the first bytes nearly always decide; zero padding sorts a short key before longer ones
        let first = |key: &Self| u128::from_be_bytes(*key.bytes.first_chunk().unwrap_or(&[0; 16]));
        first(self).cmp(&first(other)).then_with(|| self.as_slice().cmp(other.as_slice()))
    }
}

impl Hash for StorageKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for StorageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id(), blockmill_verdict::Digits(self.key()))
    }
}
