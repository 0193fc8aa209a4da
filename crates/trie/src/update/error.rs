//! What can be wrong with an update or a read.

/// An error of reading or updating a trie. After an error in an update the tries are in no defined
/// state, and the forest must be dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path passes a node, or a deletion merges with one, of which only the hash is known: the
    /// trie was built from a witness that lacks this node.
    #[error("trie node 0x{} is not known", hex(.0))]
    Unknown([u8; 32]),
    /// The nodes need more memory than they may have or than their addresses reach.
    #[error("the tries need {needed} bytes, which is more than {limit}")]
    Full {
        /// Bytes that the nodes may take.
        limit: usize,
        /// Bytes that they would take.
        needed: usize,
    },
    /// More tries or changes than 32-bit numbers count.
    #[error("more than 2^32 tries or changes")]
    TooMany,
    /// A key is longer than the codec allows.
    #[error("a key of {found} bytes, at most {limit} are possible")]
    KeyTooLong {
        /// The most that is possible.
        limit: usize,
        /// The length of the key.
        found: usize,
    },
    /// A value that the codec cannot hold.
    #[error("a value of {found} bytes, from {least} to {most} are possible")]
    ValueLength {
        /// The fewest bytes of a value.
        least: usize,
        /// The most.
        most: usize,
        /// The length of the value.
        found: usize,
    },
    /// No trie has this number.
    #[error("there is no trie {0}")]
    NoTrie(u32),
    /// A node of a witness that is none.
    #[error("the node 0x{} of a witness is damaged: {reason}", hex(.hash))]
    Corrupt {
        /// Hash of the node.
        hash: [u8; 32],
        /// The reason.
        reason: String,
    },
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
