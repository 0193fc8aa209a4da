//! The program as its users run it: one test program, so that it is linked once and its tests fill
//! all cores.

mod program;

mod advice;
mod answers;
mod bench;
mod bitcoin_headers;
mod bitcoin_shards;
mod bitcoin_stores;
mod block_access_lists;
mod block_files;
mod broken_stdout;
mod checksums;
mod compatibility;
mod disk_full;
mod era_files;
mod ethereum_rules;
mod execution;
mod exports;
mod foreign_and_compressed_input;
mod foreign_tests;
mod inspect_blocks;
mod kept_chain;
mod kill_during_import;
mod kill_during_reindex;
mod kill_during_upgrade;
mod left_out_files;
mod library;
mod neo_dumps;
mod neo_removal;
mod neo_stores;
mod neo_unwind;
mod odd_machines;
mod options;
mod options_page;
mod outputs;
mod revision;
mod serving;
mod shards;
mod snapshots;
mod state_dumps;
mod state_on_disk;
mod stopping;
mod tracing;
mod transfers;
mod unopened_files;
