//! Inputs of provers: a block as JSON, and the nodes, codes and headers that executing it needs.
//!
//! | producer | block | nodes | codes | headers |
//! |---|---|---|---|---|
//! | ethrex-replay | `header`, `body` | `stateTrieNodes` | `codes` | `blockHeaders` |
//! | keth | `header`, `transaction` | `state` | `codes` | `ancestors` |
//! | zeth | `full_blocks`, `uncle_blocks` | `proofs` before and after | `code` | `full_blocks` |
//!
//! The first two have blocks in `blocks`, and the rest in `witness`.

use super::block::{JsonBody, JsonTransaction, JsonWithdrawal, RpcBlock};
use super::header::JsonHeader;
use super::values::{Append, Bytes, Headers, Items, Number, visited};
use super::{Parts, Stated, Witness, WitnessError};
use blockmill_archive::Column;
use blockmill_rlp::ethereum::{PathBuffer, TrieNode};
use blockmill_rlp::{Decode, Encode};
use hashbrown::HashSet;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Half-bytes of a key.
const MOST_NIBBLES: usize = 64;

/// A proof input of ethrex-replay or keth.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProverInput {
    blocks: Vec<ProverBlock>,
    witness: ProverWitness,
    #[serde(alias = "chain_config")]
    chain_config: Option<ChainConfig>,
}

/// A block: ethrex has the body in an object of its own.
#[derive(Deserialize)]
struct ProverBlock {
    header: JsonHeader,
    body: Option<JsonBody>,
    #[serde(alias = "transactions")]
    transaction: Option<Vec<JsonTransaction>>,
    #[serde(default)]
    uncles: Vec<JsonHeader>,
    withdrawals: Option<Vec<JsonWithdrawal>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProverWitness {
    #[serde(alias = "stateTrieNodes")]
    state: Items,
    codes: Codes,
    #[serde(default)]
    ancestors: Vec<JsonHeader>,
    #[serde(default)]
    block_headers: BTreeMap<String, JsonHeader>,
    parent_block_header: Option<JsonHeader>,
    headers: Option<Headers>,
    chain_config: Option<ChainConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChainConfig {
    chain_id: Number,
}

/// Codes: a list of bytes or of maps with bytes as values, or such a map.
struct Codes(Column);

/// A map with bytes as values, or bytes.
struct Code(Column);

visited! { Code, "bytes, or a map with bytes as values",
    fn visit_str<E: Error>(self, text: &str) -> Result<Code, E> {
        let mut column = Column::new();
        Append(&mut column).visit_str(text)?;
        Ok(Code(column))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Code, A::Error> {
        Items::deserialize(MapAccessDeserializer::new(map)).map(|items| Code(items.0))
    }
}

visited! { Codes, "a list of codes, or a map with bytes as values",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Codes, A::Error> {
        let mut all = Column::new();
        while let Some(Code(codes)) = list.next_element()? {
            codes.iter().for_each(|code| all.push(code));
        }
        Ok(Codes(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Codes, A::Error> {
        Items::deserialize(MapAccessDeserializer::new(map)).map(|items| Codes(items.0))
    }
}

impl ProverInput {
    /// The witness of its only block.
    ///
    /// # Errors
    /// [`WitnessError::Shape`] for several blocks, [`WitnessError::Block`] for malformed fields.
    pub fn witness(self) -> Result<Witness, WitnessError> {
        let Self { mut blocks, witness, chain_config } = self;
        let count = blocks.len();
        let Some(block) = blocks.pop().filter(|_| count == 1) else {
            let found = format!("a proof input with {count} blocks: expected one");
            return Err(WitnessError::Shape(found));
        };
        let header = block.header.encode().map_err(WitnessError::Block)?;
        let body = match (block.body, block.transaction) {
            (Some(body), _) => body,
            (None, Some(transactions)) => {
                JsonBody { transactions, uncles: block.uncles, withdrawals: block.withdrawals }
            }
            (None, None) => return Err(WitnessError::Block("no transactions".into())),
        };
        let block = body.encode_with(header).map_err(WitnessError::Block)?;
        let ProverWitness {
            state,
            codes,
            ancestors,
            block_headers,
            parent_block_header,
            headers,
            chain_config: own_config,
        } = witness;
        let mut headers = headers.map(|headers| headers.0).unwrap_or_default();
        let given = ancestors.iter().chain(block_headers.values()).chain(&parent_block_header);
        for header in given {
            headers.push(header.encode().map_err(WitnessError::Block)?);
        }
        Ok(Witness {
            chain_id: chain_config.or(own_config).map(|config| config.chain_id.0),
            stated: Stated::default(),
            block,
            parts: Parts::new(state.0, codes.0, headers),
        })
    }
}

/// A cached input of zeth: answers of the RPC, each with its question.
#[derive(Deserialize)]
pub(super) struct ZethInput {
    full_blocks: Vec<(Query, RpcBlock)>,
    #[serde(default)]
    uncle_blocks: Vec<(Query, RpcBlock)>,
    proofs: Vec<(Query, ZethProof)>,
    #[serde(default)]
    code: Vec<(Query, Bytes)>,
}

#[derive(Deserialize)]
struct Query {
    block_no: Number,
    #[serde(alias = "index")]
    uncle_index: Option<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ZethProof {
    account_proof: Items,
    storage_proof: Vec<ZethSlot>,
}

#[derive(Deserialize)]
struct ZethSlot {
    proof: Items,
}

impl ZethInput {
    /// The witness of the newest block; the others are its ancestors.
    ///
    /// # Errors
    /// [`WitnessError::Block`] for malformed fields.
    pub fn witness(self) -> Result<Witness, WitnessError> {
        let Self { mut full_blocks, mut uncle_blocks, proofs, code } = self;
        full_blocks.sort_by_key(|(_, block)| block.number());
        let Some((_, block)) = full_blocks.pop() else {
            return Err(WitnessError::Shape("a cached input of zeth without blocks".into()));
        };
        let encoded = |block: &RpcBlock| block.header().map_err(WitnessError::Block);
        let mut headers = vec![];
        for (_, ancestor) in &full_blocks {
            headers.push(encoded(ancestor)?);
        }
        uncle_blocks.retain(|(query, _)| query.block_no.0 == block.number());
        uncle_blocks.sort_by_key(|(query, _)| query.uncle_index.as_ref().map(|index| index.0));
        let mut ommers = vec![];
        for (_, ommer) in &uncle_blocks {
            ommers.push(encoded(ommer)?);
        }
        let number = block.number();
        let block = block.encode(ommers).map_err(WitnessError::Block)?;
        // the nodes near the root are in every proof
        let (mut seen, mut nodes) = (HashSet::new(), Column::new());
        for (query, proof) in &proofs {
            let lists = proof.storage_proof.iter().map(|slot| &slot.proof);
            for list in [&proof.account_proof].into_iter().chain(lists) {
                list.0.iter().filter(|node| seen.insert(*node)).for_each(|node| nodes.push(node));
                if query.block_no.0 == number {
                    let last = list.0.iter().last().unwrap_or_default();
                    shorter(last).iter().for_each(|node| nodes.push(node));
                }
            }
        }
        let (mut seen, mut codes) = (HashSet::new(), Column::new());
        for (_, code) in &code {
            if seen.insert(&code.0) {
                codes.push(&code.0);
            }
        }
        Ok(Witness::from_parts(block, Parts::new(nodes, codes, headers)))
    }
}

/// A leaf or an extension with each shorter path. If a block removes a key, its branch may be left
/// with one child, whose path then grows by that of the branch. The proof after the block ends with
/// the longer node; before the block it was one of these, and zeth has no proof of it.
fn shorter(node: &[u8]) -> Vec<Vec<u8>> {
    let decoded = TrieNode::decode(node).ok();
    let path = match decoded {
        Some(TrieNode::Leaf { path, .. } | TrieNode::Extension { path, .. }) => path,
        _ => return vec![],
    };
    let nibbles: Vec<u8> = path.nibbles().take(MOST_NIBBLES).collect();
    let key: Vec<u8> = nibbles
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or_default())
        .collect();
    let from = |start: usize| {
        let buffer = PathBuffer::new(&key, start..nibbles.len(), path.is_leaf());
        let path = buffer.path();
        match decoded? {
            TrieNode::Leaf { value, .. } => Some(TrieNode::Leaf { path, value }.encode()),
            // with an empty path it is the branch itself
            TrieNode::Extension { child, .. } if start < nibbles.len() => {
                Some(TrieNode::Extension { path, child }.encode())
            }
            _ => None,
        }
    };
    (1..=nibbles.len()).filter_map(from).collect()
}
