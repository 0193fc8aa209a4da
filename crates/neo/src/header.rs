//! Headers: the rules between a header and its parent.

pub(crate) mod machine;
pub mod rules;
