//! One entry point for each decoder and for each pair of a fast and a naive version.
//!
//! An entry point takes any bytes, panics when a property does not hold, and tells whether it
//! accepted the input as a whole. The programs in `fuzz_targets/` feed them from libFuzzer,
//! `tests/smoke.rs` from [`seeds`] and mutations of these.

mod access_lists;
mod archives;
mod chain_files;
mod decoders;
mod era;
mod execution;
mod files;
mod input;
mod neo_blocks;
mod neo_contracts;
mod pairs;
pub mod seeds;
mod signatures;
mod snapshots;
mod tables;
mod texts;
mod tries;
mod writers;

pub use access_lists::block_access_list;
pub use archives::{
    era1, era1_records, ere, ere_records, freezer, gzip, header_stream, rlp_export,
};
pub use chain_files::{bitcoin_block, bitcoin_headers, bitcoin_scripts, bitcoin_undo, blkdat_scan};
pub use decoders::{bft_extra_data, body, header, receipts, rlp, transaction};
pub use era::{era, era_records};
pub use execution::{state_log, state_test, witness};
pub use files::{ethash_cache, store};
pub use neo_blocks::{acc, neo_block, neo_transaction};
pub use neo_contracts::{neo_manifest, neo_nef, neo_script};
pub use pairs::{difficulty, ethash_mix, ethash_seal, keccak, sha256, trie};
pub use signatures::signatures;
pub use snapshots::snapshot;
pub use tables::{table, table_files};
pub use texts::{genesis_json, run_record};
pub use tries::trie_update;
pub use writers::{rlp_identity, rlp_writers};

/// An entry point and what there is to know about it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the program in `fuzz_targets/`.
    pub name: &'static str,
    /// The entry point.
    pub run: fn(&[u8]) -> bool,
    /// Number of mutated inputs of the smoke test; few for slow targets.
    pub smoke_inputs: u32,
}

const fn target(name: &'static str, run: fn(&[u8]) -> bool, smoke_inputs: u32) -> Target {
    Target { name, run, smoke_inputs }
}

/// Every target.
pub const TARGETS: [Target; 48] = [
    target("rlp", rlp, 20_000),
    target("rlp_identity", rlp_identity, 20_000),
    target("rlp_writers", rlp_writers, 5000),
    target("header", header, 20_000),
    target("bft_extra_data", bft_extra_data, 20_000),
    target("body", body, 20_000),
    target("transaction", transaction, 20_000),
    target("receipts", receipts, 20_000),
    target("block_access_list", block_access_list, 20_000),
    target("genesis_json", genesis_json, 20_000),
    target("run_record", run_record, 5000),
    target("era1", era1, 3000),
    target("era1_records", era1_records, 5000),
    target("ere", ere, 3000),
    target("ere_records", ere_records, 5000),
    target("era", era, 1000),
    target("era_records", era_records, 500),
    target("freezer", freezer, 2000),
    target("rlp_export", rlp_export, 2000),
    target("header_stream", header_stream, 2000),
    target("gzip", gzip, 2000),
    target("store", store, 1000),
    target("ethash_cache", ethash_cache, 4),
    target("difficulty", difficulty, 20_000),
    target("trie", trie, 3000),
    target("trie_update", trie_update, 2000),
    target("keccak", keccak, 3000),
    target("sha256", sha256, 3000),
    target("signatures", signatures, 1000),
    target("ethash_mix", ethash_mix, 1000),
    target("ethash_seal", ethash_seal, 50),
    target("bitcoin_block", bitcoin_block, 20_000),
    target("bitcoin_headers", bitcoin_headers, 1000),
    target("blkdat_scan", blkdat_scan, 300),
    target("bitcoin_scripts", bitcoin_scripts, 2000),
    target("bitcoin_undo", bitcoin_undo, 20_000),
    target("acc", acc, 1000),
    target("neo_block", neo_block, 20_000),
    target("neo_transaction", neo_transaction, 20_000),
    target("neo_nef", neo_nef, 20_000),
    target("neo_manifest", neo_manifest, 20_000),
    target("neo_script", neo_script, 500),
    target("witness", witness, 3000),
    target("state_test", state_test, 1000),
    target("state_log", state_log, 20_000),
    target("snapshot", snapshot, 5000),
    target("table", table, 60),
    target("table_files", table_files, 1000),
];
