//! Pass 2: verifies batches of consecutive blocks, and connects them to the coins.
//!
//! Batches are read in order, prepared in parallel (parsed, hashed, checked by the rules that need
//! no coins, coins prefetched), connected in chain order (coins spent and created, nothing else),
//! and checked in parallel (amounts, maturity, lock times, scripts; undo data encoded). Only
//! connecting is serial, so it does as little as possible.

mod batch;
mod check;
mod connect;
mod list;
mod place;
mod prepare;
mod prove;
mod read;
mod shard_batch;
mod unwind;

pub(crate) use batch::{Batch, Context};
pub(crate) use place::{Chain, Place, Terms};
pub(crate) use shard_batch::ShardBatch;
pub(crate) use unwind::unwind;
