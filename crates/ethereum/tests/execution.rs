//! Execution on real and on published chains: every root of every block.

mod chains;
pub mod durable;
mod geth_chains;
mod healing;
pub mod imports;
mod proofs;
mod raising;
mod refused;
mod snapshots;
mod witnesses;
