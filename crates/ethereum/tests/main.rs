//! Ethereum against real blocks, naive versions, public vectors and other clients: one program, so
//! that it is linked once and its tests fill all cores.

#[path = "../../bench/src/baselines/ethereum_headers/big_integers.rs"]
mod big_integers;
#[path = "../../state-store/tests/generated_state/mod.rs"]
mod generated_state;
#[path = "naive/ethash.rs"]
mod naive_ethash;
mod networks;
mod source;
mod vectors;

mod amsterdam;
mod block_access_lists;
mod blockchain_header_tests;
mod broken_links;
mod by_access_lists;
mod difficulty_tests;
mod execution;
mod flat_trie;
mod flipped_fields;
mod genesis_dialects;
mod negative_blocks;
mod pow_tests;
mod public_suite;
mod real_blocks;
mod real_header_chains;
mod shards;
mod suite_formats;
mod transaction_tests;
