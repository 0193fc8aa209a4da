//! Points of BLS12-381.

use ark_bls12_381::{Fq12, G1Projective, G2Projective};

/// A point of one of the three groups. It is always in a box of its own.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Of the curve.
    G1(G1Projective),
    /// Of its twist.
    G2(G2Projective),
    /// A result of pairings.
    Gt(Fq12),
}
