//! Bitcoin against real blocks, naive versions, public vectors and other clients: one test program,
//! so that it is linked once and its tests fill all cores.

mod generated_chain;
mod generated_headers;
mod imports;
mod kept;
mod naive;
mod naive_connect;
mod real_blocks;

mod bad_blocks;
mod body_rules;
mod coin_multiset;
mod coins;
mod competing_branches;
mod core_datadir;
mod core_source;
mod core_transactions;
mod corrupt_files;
mod datadir_corruption;
mod decode_blocks;
mod header_rules;
mod import_real;
mod index_file;
mod middle_of_chain;
mod missing_blocks;
mod multiset_of_shards;
mod networks;
mod random_trees;
mod real_headers;
mod record_lengths;
mod resumed_runs;
mod shard_mutations;
mod shards;
mod sigops_and_locks;
mod undo_data;
