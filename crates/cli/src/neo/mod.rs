//! Neo: dumps of blocks.

pub mod check;
pub mod import;
pub mod inspect;
pub mod look;
mod network;
