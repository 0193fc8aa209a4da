//! Neo: dumps of blocks.

pub mod check;
pub mod convert;
pub mod demo;
pub mod export;
pub mod generate;
pub mod handover;
pub mod import;
pub mod inspect;
pub mod look;
mod network;
pub mod unwind;
