//! The state: contract storage in layers of caches, and the trie over it.
