//! Neo N3: from a block dump to verified blocks, state roots, application logs and transfers.

#![forbid(unsafe_code)]

pub mod body;
pub mod execute;
pub mod header;
pub mod params;
pub mod state;
pub mod types;
pub mod witness;
