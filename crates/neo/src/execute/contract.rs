//! Deployed contracts: their code with its frame (NEF) and their manifest.

mod document;
mod encode;
mod fields;
mod json;
mod manifest;
mod nef;
mod parse;
mod scan;
mod script;
mod state;

pub use json::Json;
pub use manifest::{
    Description, Event, Group, Manifest, Method, ParamType, Parameter, Permission, WHO_ANY,
};
pub use nef::{Nef, Token};
pub use script::{check_methods, check_script};
pub use state::{Contract, contract_hash, native_hash};

/// Why a contract is no contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A manifest is no text.
    #[error("manifest is not UTF-8 compliant")]
    NotUtf8,
    /// A field is not as it must be.
    #[error("{what}: {rule}")]
    Field {
        /// The field.
        what: &'static str,
        /// The rule.
        rule: &'static str,
    },
    /// What is wrong, in the words of neo-go or of Go's `encoding/json`.
    #[error("{0}")]
    Syntax(String),
    /// No JSON.
    #[error("JSON at byte {at}: expected {expected}")]
    Json {
        /// Where.
        at: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

fn field(what: &'static str, rule: &'static str) -> Error {
    Error::Field { what, rule }
}

/// An error in the words of the reference client.
fn text(words: &str) -> Error {
    Error::Syntax(words.into())
}
