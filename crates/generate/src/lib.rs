//! Deterministic chains of all families, signed and valid: for tests, the demo and benchmarks.

pub mod bitcoin;
pub mod ethereum;
pub mod neo;
pub mod random;
