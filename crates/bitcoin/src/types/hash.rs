//! Hashes and how they are shown.

use std::fmt;

/// SHA-256d of a header, a transaction or a node of a merkle tree, in the order of its bytes.
pub type Hash = [u8; 32];

/// Shows a hash as block explorers do: the bytes reversed, in hex.
#[derive(Clone, Copy)]
pub struct Id<'a>(pub &'a Hash);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
