//! Ethereum for each verb: options out of arguments, the engine's call, results into answers.

pub mod check;
pub mod convert;
pub mod demo;
pub mod export;
pub mod generate;
pub mod heal;
pub mod import;
pub mod inspect;
pub mod network;
pub mod prove;
mod raise;
pub mod snapshot;
mod state;
pub mod suite;
pub mod unit;
pub mod unwind;
pub mod witness;
