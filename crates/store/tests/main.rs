//! The store against naive ones, kills, power losses and corruption: one test program, so that it
//! is linked once and its tests fill all cores.

mod generated_blocks;
mod generated_keys;

mod append_and_read;
mod corrupt_files;
mod corrupt_tables;
mod kill_during_commit;
mod kill_during_store_commit;
mod large_tables_together;
mod log_file;
mod power_loss;
mod power_loss_of_a_chain;
mod removed_blocks;
mod scratch_disk;
mod table_against_a_map;
mod table_under_load;
