//! Bodies: transaction rules that need no state, and the merkle root.

pub mod merkle;
pub mod rules;
