//! A stateless witness: one block with all of the state that it needs, and nothing else.
//!
//! The file is JSON: `{chainId, number, hash, block, witness: {state, codes, keys, headers}}`, with
//! the block in RLP, trie nodes and codes as bytes, and the headers of ancestors that contracts ask
//! for, the parent among them. Keys are not needed.

use super::{ExecutionError, PreparedBlock, Replay};
use crate::Hash;
use crate::body::BodyView;
use crate::error::{Rule, Violation};
use crate::header::HeaderView;
use crate::header::rules::{DifficultyArithmetic, verify_header};
use crate::params::ChainSpec;
use crate::state::{NodeSet, State, Tries};
use chain::Hex;
use serde_json::Value;

/// A block and its state.
#[derive(Debug)]
pub struct Witness {
    /// The number that transactions of its chain sign.
    pub chain_id: u64,
    block: Vec<u8>,
    nodes: Vec<Vec<u8>>,
    codes: Vec<Vec<u8>>,
    headers: Vec<Vec<u8>>,
}

/// Why a witness is refused.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// No JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is not what it should be.
    #[error("{field}: expected {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
    /// The block is not what its header says, or the witness lacks something.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl From<Violation> for WitnessError {
    fn from(violation: Violation) -> Self {
        Self::Execution(violation.into())
    }
}

/// What executing a witness gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stateless {
    /// Number of the block.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The state root behind it, which is the header's.
    pub state_root: Hash,
    /// Gas of its transactions.
    pub gas_used: u64,
}

impl Witness {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// No JSON, or a field that is not what it should be.
    pub fn read(text: &str) -> Result<Self, WitnessError> {
        let file: Value = serde_json::from_str(text)?;
        let wrong = |field, expected| WitnessError::Field { field, expected };
        let chain_id = file["chainId"].as_u64().ok_or_else(|| wrong("chainId", "a number"))?;
        let block = bytes(&file["block"]).ok_or_else(|| wrong("block", "bytes"))?;
        let list = |field: &'static str| {
            let items = file["witness"][field].as_array();
            let items = items.map(|items| items.iter().map(bytes).collect::<Option<Vec<_>>>());
            items.flatten().ok_or_else(|| wrong(field, "a list of bytes"))
        };
        let (nodes, codes, headers) = (list("state")?, list("codes")?, list("headers")?);
        Ok(Self { chain_id, block, nodes, codes, headers })
    }

    /// Verifies and executes the block: every rule of its header, body and transactions, receipts
    /// root and state root.
    ///
    /// # Errors
    /// The rule that is broken; the node, code or hash that the witness lacks.
    pub fn execute(self, spec: &ChainSpec) -> Result<Stateless, WitnessError> {
        let encoding = |error: rlp::Error| Violation::new(Rule::HeaderEncoding, "a header", error);
        let (header, body) = BodyView::decode_block(&self.block)
            .map_err(|error| Violation::new(Rule::HeaderEncoding, "a block", error))?;
        let header = HeaderView::decode(header).map_err(encoding)?;
        let mut ancestors = vec![];
        for raw in &self.headers {
            ancestors.push(HeaderView::decode(raw).map_err(encoding)?);
        }
        ancestors.sort_by_key(|ancestor| ancestor.number);
        let parent = ancestors.iter().rev().find(|known| known.hash() == *header.parent_hash);
        let Some(parent) = parent else {
            let found = format!("{} other headers", ancestors.len());
            return Err(Violation::new(Rule::ParentHash, Hex(header.parent_hash), found).into());
        };
        let arithmetic = DifficultyArithmetic::U256;
        verify_header(spec, arithmetic, parent, header.parent_hash, &header)?;
        let block = PreparedBlock::verified(spec, &header, &body)?;
        let root = *parent.state_root;
        let mut state = State::of_nodes(root, self.nodes.iter().cloned().collect(), self.codes);
        verify_line(&ancestors, header.parent_hash, &mut state);
        let tries = Tries::of_nodes(root, self.nodes.into_iter().collect::<NodeSet>());
        let mut replay = Replay::new(spec, state, tries);
        replay.execute(&block)?;
        Ok(Stateless {
            number: block.header.number,
            hash: block.hash,
            state_root: replay.root().map_err(ExecutionError::from)?,
            gas_used: block.header.gas_used,
        })
    }
}

/// Gives the state the hashes of those ancestors that are tied to the parent, one to the next.
fn verify_line(ancestors: &[HeaderView<'_>], parent: &Hash, state: &mut State) {
    let mut line = vec![];
    let mut next = *parent;
    for ancestor in ancestors.iter().rev() {
        let hash = ancestor.hash();
        if hash == next {
            line.push((ancestor.number, hash));
            next = *ancestor.parent_hash;
        }
    }
    // the parent of the first one is known by its hash
    if let Some((number, _)) = line.last()
        && let Some(before) = number.checked_sub(1)
    {
        line.push((before, next));
    }
    line.into_iter().rev().for_each(|(number, hash)| state.ancestors.push(number, hash));
}

/// Bytes in hexadecimal digits.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_str()?.strip_prefix("0x")?.as_bytes();
    if digits.len() % 2 == 1 {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    digits.chunks(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}
