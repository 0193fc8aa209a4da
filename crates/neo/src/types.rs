//! The types of the chain: hashes, signers, witnesses, attributes.
