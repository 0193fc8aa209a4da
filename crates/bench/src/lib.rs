//! Workloads and measurements: generated chains, the ladder of designs, the ablation of each
//! switch, and the peers as processes of their own.

mod answers;
pub mod bodies;
pub mod child;
mod cold;
pub mod counting;
mod designs;
pub mod generate;
pub mod headers;
mod ours;
pub mod output;
pub mod peers;
pub mod ratios;
pub mod reindex;
mod rounds;
pub mod scratch;
pub mod signatures;
pub mod stores;
pub mod writers;
