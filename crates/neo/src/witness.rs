//! Witnesses: what proves that an account agrees to a transaction, or the consensus nodes to a
//! header.
//!
//! Nearly all are of two forms that need no virtual machine: one signature, or some of several.

mod settings;
mod standard;
mod verify;

pub use settings::{PublicKeys, SignatureLanes};
pub use standard::{Standard, multisig_script, quorum, signature_script};
pub use verify::{Checked, Signed, Verdict, Verifier};
