//! Execution on real and on published chains: every root of every block.

mod bft_chains;
mod chains;
pub mod executed_store;
mod geth_chains;
mod healing;
pub mod imports;
mod level_upgrades;
mod proofs;
mod refused;
mod small_chains;
mod snapshots;
mod witness_forms;
mod witnesses;
