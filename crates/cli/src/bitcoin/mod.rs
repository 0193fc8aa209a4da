//! Bitcoin for each verb: options out of arguments, the engine's call, results into answers.

pub mod check;
pub mod coins;
pub mod convert;
mod datadir;
pub mod demo;
pub mod export;
pub mod generate;
pub mod import;
pub mod inspect;
pub mod network;
pub mod sources;
pub mod unit;
