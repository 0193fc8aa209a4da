//! Witnesses prove that an account agrees to a transaction, or the consensus nodes to a header.
//!
//! Nearly all have one of two standard forms that need no virtual machine: a single signature, or m
//! of n signatures.

mod settings;
mod standard;
mod verify;

pub use settings::{PublicKeys, SignatureLanes};
pub use standard::{Standard, multisig_script, quorum, signature_script};
pub use verify::{Checked, Signed, Verdict, Verifier};
