//! Neo: dumps of blocks.

pub mod convert;
pub mod generate;
pub mod import;
pub mod inspect;
mod network;
