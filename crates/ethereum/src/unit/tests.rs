//! Boundaries of small chains.
