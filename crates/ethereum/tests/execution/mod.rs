//! Execution on real and on published chains: every root of every block.

mod chains;
mod durable;
mod healing;
mod imports;
mod proofs;
mod refused;
mod snapshots;
mod witnesses;
