//! Neo against dumps of the network and the answers of neo-go: one test program, so that it is
//! linked once and its tests fill all cores.

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
