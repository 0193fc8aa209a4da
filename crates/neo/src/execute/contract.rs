//! Deployed contracts: NEF files and manifests.

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

/// An invalid contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A manifest is not UTF-8.
    #[error("manifest is not UTF-8 compliant")]
    NotUtf8,
    /// A field breaks a rule.
    #[error("{what}: {rule}")]
    Field {
        /// The field.
        what: &'static str,
        /// The rule.
        rule: &'static str,
    },
    /// An error with the message of neo-go or Go's `encoding/json`.
    #[error("{0}")]
    Syntax(String),
    /// Invalid JSON.
    #[error("JSON at byte {at}: expected {expected}")]
    Json {
        /// Offset.
        at: usize,
        /// The expected syntax.
        expected: &'static str,
    },
}

fn field(what: &'static str, rule: &'static str) -> Error {
    Error::Field { what, rule }
}

/// An error with the message of the reference client.
fn text(words: &str) -> Error {
    Error::Syntax(words.into())
}
