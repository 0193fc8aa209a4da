//! Merkle-Patricia tries (Yellow Paper, appendix D): roots computed from leaves in key order,
//! without the trie in memory, and tries that are updated block by block.
//!
//! - [`update::Forest`]: the tries of a state, which change block by block; [`codec`] has their
//!   encoding and hash function.
//! - [`RootBuilder::ordered`]: the tries of a block (transactions, receipts, withdrawals), with
//!   list positions as keys.
//! - [`RootBuilder::sorted`]: any leaves in key order, such as hashed accounts.
//! - [`RootBuilder::part`]: a range of such leaves; [`PartJoiner`] computes the root of all ranges.
//! - [`secure_root`]: leaves in any order under the Keccak-256 of their keys, as in the state.
//! - [`naive`]: the same roots by the definition in the paper, for comparison in tests.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod branch;
mod builder;
pub mod codec;
pub mod naive;
pub mod nibbles;
mod ordered;
mod part;
pub mod update;

pub use builder::RootBuilder;
pub use part::{PartJoiner, TriePart};

use blockmill_hashes::ManyKeccak;

/// The root of a trie without leaves: Keccak-256 of the byte 0x80.
pub const EMPTY_ROOT: [u8; 32] = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e,
    0x5b, 0x48, 0xe0, 0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];

/// [`RootBuilder::ordered`] for a single root; many roots are cheaper with one builder.
///
/// ```
/// use blockmill_trie::{EMPTY_ROOT, RootBuilder, ordered_root};
///
/// let items: [&[u8]; 2] = [b"first", b"second"];
/// assert_eq!(ordered_root(items.into_iter()), RootBuilder::new().ordered(items.into_iter()));
/// assert_eq!(ordered_root(std::iter::empty()), EMPTY_ROOT);
/// ```
pub fn ordered_root<'a>(items: impl ExactSizeIterator<Item = &'a [u8]>) -> [u8; 32] {
    RootBuilder::new().ordered(items)
}

/// Returns [`RootBuilder::sorted`] of leaves with 32-byte keys.
///
/// # Panics
///
/// Panics if the keys are not strictly ascending.
///
/// ```
/// use blockmill_trie::{root_of_sorted, secure_root};
/// use blockmill_hashes::keccak256;
///
/// // the state keeps each value under the hash of its key
/// assert_eq!(root_of_sorted([(keccak256(b"key"), b"value")]), secure_root([(b"key", b"value")]));
/// ```
pub fn root_of_sorted<V: AsRef<[u8]>>(leaves: impl IntoIterator<Item = ([u8; 32], V)>) -> [u8; 32] {
    RootBuilder::new().sorted(leaves)
}

/// The root of a trie that holds each value under the Keccak-256 of its key, as the state and
/// each account's storage do. Keys come in any order; of two equal keys the later one counts.
///
/// ```
/// use blockmill_trie::secure_root;
///
/// let root = secure_root([("alice", "1"), ("bob", "2")]);
/// assert_eq!(secure_root([("bob", "0"), ("bob", "2"), ("alice", "1")]), root);
/// ```
pub fn secure_root<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    leaves: impl IntoIterator<Item = (K, V)>,
) -> [u8; 32] {
    let (keys, values): (Vec<K>, Vec<V>) = leaves.into_iter().unzip();
    let messages: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    let mut hashes = vec![[0; 32]; messages.len()];
    ManyKeccak::detect().keccak256(&messages, &mut hashes);
    let mut leaves: Vec<_> = hashes.into_iter().zip(values).collect();
    leaves.sort_by_key(|(key, _)| *key);
    // the sort is stable and `dedup_by` drops its first argument, the later of the two
    leaves.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
    root_of_sorted(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_without_leaves_is_the_hash_of_the_empty_string() {
        assert_eq!(EMPTY_ROOT, blockmill_hashes::keccak256(&[0x80]));
        assert_eq!(ordered_root(std::iter::empty()), EMPTY_ROOT);
        assert_eq!(secure_root::<&[u8], &[u8]>([]), EMPTY_ROOT);
    }

    #[test]
    fn secure_root_takes_any_order_and_the_later_of_equal_keys() {
        let one = secure_root([(b"key", b"new"), (b"dog", b"cat")]);
        let two = secure_root([(b"dog", b"cat"), (b"key", b"old"), (b"key", b"new")]);
        assert_eq!(one, two);
    }
}
