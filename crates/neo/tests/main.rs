//! Neo against dumps and results of neo-go: one test program, which is linked once and runs its
//! tests on all cores.

mod dumps;

mod admission;
mod configurations;
mod decode_blocks;
mod execution;
mod export;
mod imports;
mod ledger;
mod logs;
mod removal;
mod repeated;
mod state_layers;
mod state_roots;
mod transfers;
mod unwind;
mod witnesses;
