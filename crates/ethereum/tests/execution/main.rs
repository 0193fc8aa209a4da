//! Execution on real and on published chains: every root of every block.

#[path = "../real_blocks/source.rs"]
#[allow(dead_code)]
mod source;

mod chains;
mod durable;
mod healing;
mod imports;
mod proofs;
mod refused;
mod snapshots;
mod witnesses;
