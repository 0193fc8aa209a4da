//! Headers: the rules between one and the one before it.

pub(crate) mod machine;
pub mod rules;
