//! Points of BLS12-381.

use ark_bls12_381::{Fq12, G1Projective, G2Projective};

/// Whether a point was deserialized or computed: two types for contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Deserialized.
    Affine,
    /// A sum or a product.
    Jacobian,
}

/// A point of one of the three groups. It is always boxed.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Of the curve.
    G1(G1Projective, Form),
    /// Of its twist.
    G2(G2Projective, Form),
    /// A result of pairings.
    Gt(Fq12),
}

impl Point {
    /// The type that neo-go names in its messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::G1(_, Form::Affine) => "G1Affine",
            Self::G1(_, Form::Jacobian) => "G1Jac",
            Self::G2(_, Form::Affine) => "G2Affine",
            Self::G2(_, Form::Jacobian) => "G2Jac",
            Self::Gt(_) => "GT",
        }
    }
}
