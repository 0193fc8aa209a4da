//! Keys and changes of the state, and references of trie nodes.

/// A key of the state: an account, or one of its slots. An account sorts before its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey {
    /// Keccak-256 of the account's address.
    pub account: [u8; 32],
    /// Keccak-256 of the slot; none for the account itself.
    pub slot: Option<[u8; 32]>,
}

impl StateKey {
    /// An account.
    #[must_use]
    pub fn account(account: [u8; 32]) -> Self {
        Self { account, slot: None }
    }

    /// A slot of an account.
    #[must_use]
    pub fn slot(account: [u8; 32], slot: [u8; 32]) -> Self {
        Self { account, slot: Some(slot) }
    }
}

/// A change of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Which.
    pub key: StateKey,
    /// The new value, as the leaf of the trie holds it; none to remove the key, if it is there.
    pub value: Option<&'a [u8]>,
}

/// A node as its parent sees it (Yellow Paper, appendix D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Reference {
    pub form: Form,
    /// The hash, or the node itself and zeros.
    pub bytes: [u8; 32],
}

/// The form of a [`Reference`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Form {
    /// Not known: something below has changed.
    Pending,
    Hash,
    /// A node of fewer than 32 bytes.
    Inline,
}

impl Reference {
    pub const PENDING: Self = Self { bytes: [0; 32], form: Form::Pending };

    /// That of a node with this hash.
    pub fn from_node(node: &[u8], hash: [u8; 32]) -> Self {
        let mut bytes = hash;
        if node.len() >= 32 {
            return Self { bytes, form: Form::Hash };
        }
        bytes.fill(0);
        bytes[..node.len()].copy_from_slice(node);
        Self { bytes, form: Form::Inline }
    }
}
