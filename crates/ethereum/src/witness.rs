//! Stateless witnesses: one block with exactly the state that it needs. A witness can be read,
//! executed, and recorded from a state.
//!
//! This program writes JSON: `{chainId, number, hash, block, witness: {state, codes, keys,
//! headers}}`, with the block in RLP, trie nodes and codes as bytes, and the headers of the parent
//! and of ancestors whose hashes contracts read. [`Document`] lists the other shapes.

mod block;
mod document;
mod execution;
mod guest;
mod header;
mod parts;
pub(crate) mod payload;
mod provers;
mod values;
mod write;

pub use document::Document;
pub use parts::Parts;

use crate::Hash;
use crate::execute::{CodeCache, ExecutionError};
use crate::header::HeaderView;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::state::{NodeSet, StateError};
use blockmill_archive::Column;
use blockmill_rlp::Encode;
use blockmill_verdict::Hex;
use execution::execute;
use std::sync::Arc;
use write::Joined;

/// A block and its state.
#[derive(Debug)]
pub struct Witness {
    /// The chain id, if the file has it.
    pub chain_id: Option<u64>,
    stated: Stated,
    block: Vec<u8>,
    parts: Parts,
}

/// Number and hash of the block that a file states.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    number: Option<u64>,
    hash: Option<Hash>,
}

/// The error for a chain id that no format can hold.
const WIDE_CHAIN: WitnessError =
    WitnessError::Field { field: "chainId", expected: "a number of at most 64 bits" };

/// The reason why a witness is rejected.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// Not JSON, or not the values of a witness.
    #[error("not a witness: {0}")]
    Json(#[from] serde_json::Error),
    /// An unknown shape.
    #[error("not a witness of a known shape: {0}")]
    Shape(String),
    /// A field has an unexpected value.
    #[error("{field}: expected {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// The block has another number or hash than the file says.
    #[error("the file says {field} {stated}, its block has {found}")]
    Stated {
        /// `number` or `hash`.
        field: &'static str,
        /// What the file says.
        stated: String,
        /// What the block has.
        found: String,
    },
    /// A block in JSON lacks a field, or its hashes are not those of its fields.
    #[error("the block is malformed: {0}")]
    Block(String),
    /// The witness lacks the header of the parent block.
    #[error("the witness lacks the header of the parent block, {}", Hex(hash))]
    MissingParent {
        /// Its hash.
        hash: Hash,
    },
    /// The witness lacks a node. With nothing in its place, the block is valid.
    #[error(
        "{0}; go-ethereum accepts this witness because it ignores the error of that read and finds \
         nothing; --lenient does the same"
    )]
    Forgiven(StateError),
    /// The block is invalid, or the witness is incomplete.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl From<Violation> for WitnessError {
    fn from(violation: Violation) -> Self {
        Self::Execution(violation.into())
    }
}

/// What a read finds that needs a node which the witness lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// An error.
    #[default]
    Strict,
    /// Nothing, as in go-ethereum.
    Lenient,
}

/// The result of executing a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stateless {
    /// Number of the block.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The state root after the block, which is the header's.
    pub state_root: Hash,
    /// Gas of its transactions.
    pub gas_used: u64,
    /// With [`Reading::Lenient`], how many nodes that reads needed are missing, and one of them.
    pub forgiven: Option<(usize, Hash)>,
}

impl Witness {
    /// Reads the text of a file that holds a block and its witness.
    ///
    /// # Errors
    /// Returns an error if the text has another shape.
    pub fn read(text: &str) -> Result<Self, WitnessError> {
        match Document::read(text.as_bytes())? {
            Document::Whole(witness) => Ok(witness),
            Document::Bare(_) => Err(WitnessError::Shape("a witness without its block".into())),
            Document::Block(_) => Err(WitnessError::Shape("a block without its witness".into())),
        }
    }

    /// A witness whose block and state are from two files.
    #[must_use]
    pub fn from_parts(block: Vec<u8>, parts: Parts) -> Self {
        Self { chain_id: None, stated: Stated::default(), block, parts }
    }

    /// Records the witness of a block by executing it on the state before it
    /// ([`NodeSet::from_state`]). `header_of` returns the headers of ancestors, in RLP, by number.
    /// It is called from the parent backwards, as far as contracts read hashes.
    ///
    /// # Errors
    /// [`WitnessError`] for an invalid block; errors of `header_of`.
    pub fn record<E: From<WitnessError>>(
        spec: &ChainSpec,
        header: &[u8],
        body: &[u8],
        before: &NodeSet,
        header_of: impl Fn(u64) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let malformed = |error| WitnessError::from(malformed("a block", error));
        let number = HeaderView::decode(header).map_err(malformed)?.number;
        let items = blockmill_rlp::Reader::new(body).list().map_err(malformed)?.rest();
        let block = Joined { header, items }.encode();
        let oldest = number
            .checked_sub(1)
            .ok_or(WitnessError::Field { field: "block", expected: "one with a parent" })?;
        let mut headers = vec![header_of(oldest)?];
        let cache = Arc::default();
        while let Err(error) = execute(spec, &block, &headers, before, &cache, Reading::Strict) {
            let first = number - headers.len() as u64;
            match missing_hash(&error) {
                // the next header has the hash
                Some(asked) if asked + 1 < first => {
                    for ancestor in (asked + 1..first).rev() {
                        headers.push(header_of(ancestor)?);
                    }
                }
                _ => return Err(error.into()),
            }
        }
        let (nodes, codes) = before.asked();
        let (mut node_column, mut code_column) = (Column::new(), Column::new());
        nodes.iter().for_each(|node| node_column.push(node));
        codes.iter().for_each(|code| code_column.push(code.bytes()));
        let parts = Parts::new(node_column, code_column, headers);
        let chain_id = u64::try_from(spec.chain_id).map_err(|_| WIDE_CHAIN)?;
        Ok(Self { chain_id: Some(chain_id), ..Self::from_parts(block, parts) })
    }

    /// Numbers of its trie nodes, codes and headers.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        let (nodes, codes) = self.parts.columns();
        [nodes.len(), codes.len(), self.parts.headers.len()]
    }

    /// Verifies and executes the block: every rule of its header, body and transactions, receipts
    /// root and state root; then the stated number and hash.
    ///
    /// # Errors
    /// [`WitnessError::Execution`] for an invalid block or an incomplete witness,
    /// [`WitnessError::MissingParent`], [`WitnessError::Stated`].
    pub fn execute(&self, spec: &ChainSpec) -> Result<Stateless, WitnessError> {
        self.execute_with(spec, &Arc::default(), Reading::Strict)
    }

    /// Verifies and executes the block with a cache of analysed codes, which blocks can share.
    ///
    /// # Errors
    /// As [`Witness::execute`].
    pub fn execute_with(
        &self,
        spec: &ChainSpec,
        codes: &Arc<CodeCache>,
        reading: Reading,
    ) -> Result<Stateless, WitnessError> {
        let Parts { set, headers } = &self.parts;
        let done = execute(spec, &self.block, headers, set, codes, reading)?;
        self.stated.verify(&done)?;
        Ok(done)
    }
}

impl Stated {
    /// Compares the block with the stated number and hash.
    fn verify(&self, done: &Stateless) -> Result<(), WitnessError> {
        if let Some(number) = self.number.filter(|number| *number != done.number) {
            let (stated, found) = (number.to_string(), done.number.to_string());
            return Err(WitnessError::Stated { field: "number", stated, found });
        }
        if let Some(hash) = self.hash.filter(|hash| *hash != done.hash) {
            let (stated, found) = (Hex(&hash).to_string(), Hex(&done.hash).to_string());
            return Err(WitnessError::Stated { field: "hash", stated, found });
        }
        Ok(())
    }
}

/// The number of the block whose hash is missing.
fn missing_hash(error: &WitnessError) -> Option<u64> {
    match error {
        WitnessError::Execution(ExecutionError::State(StateError::MissingBlockHash { number })) => {
            Some(*number)
        }
        _ => None,
    }
}

fn malformed(expected: &str, error: impl std::fmt::Display) -> Violation {
    Violation::new(Rule::HeaderEncoding, expected, error)
}
