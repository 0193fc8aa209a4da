//! A stateless witness: one block with all of the state that it needs, and nothing else. It is
//! read, executed, and made from a whole state.
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
use crate::state::{NodeSet, State, StateError, Tries};
use chain::Hex;
use rlp::{Encode, Write};
use serde_json::{Value, json};

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

    /// Makes the witness of a block from the state before it ([`NodeSet::of_state`]), by executing
    /// it: what it asks for is the witness. `header_of` gives the headers of its ancestors, in RLP,
    /// by their numbers; they are asked for from the parent backwards, as far as contracts see.
    ///
    /// # Errors
    /// The rule that the block breaks; a header that is not known.
    pub fn of_block<E: From<WitnessError>>(
        spec: &ChainSpec,
        header: &[u8],
        body: &[u8],
        before: &NodeSet,
        header_of: impl Fn(u64) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let malformed = |error| WitnessError::from(malformed("a block", error));
        let number = HeaderView::decode(header).map_err(malformed)?.number;
        let items = rlp::Reader::new(body).list().map_err(malformed)?.rest();
        let block = Parts { header, items }.encode();
        let oldest = number
            .checked_sub(1)
            .ok_or(WitnessError::Field { field: "block", expected: "one with a parent" })?;
        let mut headers = vec![header_of(oldest)?];
        while let Err(error) = execute(spec, &block, &headers, before, []) {
            let first = number - headers.len() as u64;
            match missing_hash(&error) {
                // it is in the header behind it
                Some(asked) if asked + 1 < first => {
                    for ancestor in (asked + 1..first).rev() {
                        headers.push(header_of(ancestor)?);
                    }
                }
                _ => return Err(error.into()),
            }
        }
        let (nodes, codes) = before.asked();
        Ok(Self {
            chain_id: spec.chain_id,
            block,
            nodes: nodes.iter().map(|node| node.to_vec()).collect(),
            codes: codes.iter().map(|code| code.bytes().to_vec()).collect(),
            headers,
        })
    }

    /// The text of a file; `done` is what executing it gives.
    #[must_use]
    pub fn to_json(&self, done: &Stateless) -> Value {
        let list = |items: &[Vec<u8>]| -> Vec<String> {
            items.iter().map(|item| Hex(item).to_string()).collect()
        };
        json!({
            "chainId": self.chain_id,
            "number": done.number,
            "hash": Hex(&done.hash).to_string(),
            "block": Hex(&self.block).to_string(),
            "witness": {
                "state": list(&self.nodes),
                "codes": list(&self.codes),
                "keys": [],
                "headers": list(&self.headers),
            },
        })
    }

    /// Trie nodes, codes and headers that it has.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        [self.nodes.len(), self.codes.len(), self.headers.len()]
    }

    /// Verifies and executes the block: every rule of its header, body and transactions, receipts
    /// root and state root.
    ///
    /// # Errors
    /// The rule that is broken; the node, code or hash that the witness lacks.
    pub fn execute(&self, spec: &ChainSpec) -> Result<Stateless, WitnessError> {
        let nodes: NodeSet = self.nodes.iter().cloned().collect();
        execute(spec, &self.block, &self.headers, &nodes, self.codes.iter().cloned())
    }
}

/// A block, put together from its header and the items of its body.
struct Parts<'a> {
    header: &'a [u8],
    items: &'a [u8],
}

impl Encode for Parts<'_> {
    const LISTS: usize = 1;

    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            out.raw(self.header);
            out.raw(self.items);
        });
    }
}

/// The block whose hash was asked for and is not known.
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

/// Executes an encoded block on the state of which these nodes and codes are known.
fn execute(
    spec: &ChainSpec,
    block: &[u8],
    headers: &[Vec<u8>],
    nodes: &NodeSet,
    codes: impl IntoIterator<Item = Vec<u8>>,
) -> Result<Stateless, WitnessError> {
    let (header, body) =
        BodyView::decode_block(block).map_err(|error| malformed("a block", error))?;
    let header = HeaderView::decode(header).map_err(|error| malformed("a header", error))?;
    let mut ancestors = vec![];
    for raw in headers {
        ancestors.push(HeaderView::decode(raw).map_err(|error| malformed("a header", error))?);
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
    let mut state = State::of_nodes(root, nodes.clone(), codes);
    verify_line(&ancestors, header.parent_hash, &mut state);
    let mut replay = Replay::new(spec, state, Tries::of_nodes(root, nodes.clone()));
    replay.execute(&block)?;
    Ok(Stateless {
        number: block.header.number,
        hash: block.hash,
        state_root: replay.root().map_err(ExecutionError::from)?,
        gas_used: block.header.gas_used,
    })
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
