//! Neo: dumps of blocks.

pub mod generate;
pub mod import;
pub mod inspect;
mod network;
