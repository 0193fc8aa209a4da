//! Headers: the rules between one and the one before it.

pub mod rules;
