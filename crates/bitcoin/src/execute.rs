//! Pass 2: batches of consecutive blocks on their way to the coins.
//!
//! A batch is read and prepared by itself (taken apart, hashed, held against the rules that need
//! no coins, its older coins fetched ahead), connected in chain order (coins spent and created,
//! nothing else), then checked by itself (amounts, maturity, lock times, scripts; undo data
//! encoded). Only the connecting is serial, so it does as little as possible.

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
