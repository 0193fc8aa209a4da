//! What a block carries: transactions and their merkle root.

pub mod merkle;
pub mod rules;
