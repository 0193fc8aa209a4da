//! Hashes by their meaning, and their text.

use blockmill_verdict::Reversed;
use std::fmt;

/// A SHA-256d: of a node of a merkle tree, a commitment, a checksum.
pub type Hash = [u8; 32];

/// A hash of one kind, in the order of its bytes. Its text is reversed, as in block explorers.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Reversed(&self.0).fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id! {
    /// The id of a transaction: SHA-256d of its bytes without witnesses.
    Txid
}
id! {
    /// The id of a block: SHA-256d of its header.
    BlockHash
}
