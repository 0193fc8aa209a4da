//! Neo: dumps of blocks.

pub mod import;
pub mod inspect;
mod network;
