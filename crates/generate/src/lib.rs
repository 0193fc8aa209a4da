//! Deterministic chains of all families, signed and valid, for tests, the demo and benchmarks.

#[cfg(feature = "bitcoin")]
pub mod bitcoin;
#[cfg(feature = "ethereum")]
pub mod ethereum;
#[cfg(feature = "neo")]
pub mod neo;
pub mod random;
