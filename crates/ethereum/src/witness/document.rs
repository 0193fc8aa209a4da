//! The shapes in which clients and provers write witnesses and blocks.
//!
//! | shape | who writes it |
//! |---|---|
//! | `{chainId, number, hash, block, witness: {state, codes, keys, headers}}` | this program |
//! | `{state, codes, keys, headers}`, or an RPC answer with it | `debug_executionWitness` |
//! | RLP of `[headers, codes, state, ...]` | go-ethereum (`stateless.ExtWitness`) |
//! | a proof input with a block in JSON ([`super::provers`]) | ethrex-replay, keth, zeth |
//! | a proof input with a payload ([`super::guest`]) | zisk, ere-guests |
//! | a block in RLP, its digits, or an RPC answer with them | `debug_getRawBlock` |
//! | a block in JSON with full transactions ([`super::block`]) | `eth_getBlockByNumber` |
//! | a payload, alone or in a call ([`super::payload`]) | the engine API |
//!
//! State and codes are lists of bytes, or maps with bytes as values (older reth); headers are bytes
//! or objects (go-ethereum). Keys are not needed. Memory is bounded by the length of a file:
//! nothing but bytes is kept of it.

use super::block::RpcBlock;
use super::guest::GuestInput;
use super::parts::Parts;
use super::payload::{Envelope, NewPayload, Payload};
use super::provers::{ProverInput, ZethInput};
use super::values::{Bytes, Fixed, Headers, Items, Number, decode, visited};
use super::{Stated, Witness, WitnessError};
use crate::Hash;
use blockmill_archive::Column;
use blockmill_rlp::Reader;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Names of unknown fields that an error lists.
const NAMED: usize = 6;

/// A shape that a field identifies.
#[derive(Clone, Copy)]
enum Other {
    /// Recognised and refused.
    Refused(&'static str),
    /// `eth_getBlockByNumber`.
    RpcBlock,
    /// A call of `engine_newPayload`.
    NewPayload,
    /// An answer of `engine_getPayload`.
    Envelope,
    /// `ExecutionPayload`.
    Payload,
    /// ethrex-replay or keth.
    Prover,
    /// The cache of zeth.
    Zeth,
    /// zisk.
    Guest,
}

/// Fields that identify a shape; the first that an object has decides.
const OTHERS: [(&str, Other); 10] = [
    ("storageTrace", Other::Refused("a trace of a Scroll block")),
    ("engineNewPayloads", Other::Refused("a test of the engine API")),
    ("alloc", Other::Refused("a genesis.json")),
    ("full_blocks", Other::Zeth),
    ("new_payload_request", Other::Guest),
    ("blocks", Other::Prover),
    ("transactionsRoot", Other::RpcBlock),
    ("executionPayload", Other::Envelope),
    ("prevRandao", Other::Payload),
    ("params", Other::NewPayload),
];

/// The content of a file.
#[derive(Debug)]
pub enum Document {
    /// A block and its witness.
    Whole(Witness),
    /// A witness whose block is in another file.
    Bare(Parts),
    /// An encoded block.
    Block(Vec<u8>),
}

impl Document {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Returns an error that names the shape or the field if this is none of the shapes above.
    pub fn read(bytes: &[u8]) -> Result<Self, WitnessError> {
        let first = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
        match first.map(|at| (at, bytes[at])) {
            Some((_, b'{')) => {
                let read = serde_json::from_slice(bytes).map_err(WitnessError::from);
                // a second pass over the text, for shapes without our fields
                read.and_then(from_object).or_else(|error| other_shape(bytes).unwrap_or(Err(error)))
            }
            Some((_, b'"')) => from_rlp(&serde_json::from_slice::<Bytes>(bytes)?.0),
            Some((at, b'0')) => {
                let digits = bytes[at..].trim_ascii_end();
                let raw = std::str::from_utf8(digits).ok().and_then(decode);
                from_rlp(&raw.ok_or(WitnessError::Shape("neither JSON nor RLP".into()))?)
            }
            Some(_) => from_rlp(bytes),
            None => Err(WitnessError::Shape("an empty file".into())),
        }
    }
}

/// The document of an object, or of the result of an RPC answer, whose fields identify another
/// shape. `None` for unknown fields.
fn other_shape(bytes: &[u8]) -> Option<Result<Document, WitnessError>> {
    let Names(names) = serde_json::from_slice(bytes).ok()?;
    if names.iter().any(|name| name == "result") {
        let Enclosed { result } = serde_json::from_slice(bytes).ok()?;
        return of_fields(result.get().as_bytes());
    }
    of_fields(bytes)
}

/// An RPC answer.
#[derive(Deserialize)]
struct Enclosed<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

fn of_fields(bytes: &[u8]) -> Option<Result<Document, WitnessError>> {
    let Names(names) = serde_json::from_slice(bytes).ok()?;
    let (_, other) = OTHERS.iter().find(|(field, _)| names.iter().any(|name| name == field))?;
    Some(other.read(bytes))
}

impl Other {
    /// Reads an object of this shape.
    fn read(self, bytes: &[u8]) -> Result<Document, WitnessError> {
        let block = match self {
            Self::Refused(what) => return Err(WitnessError::Shape(what.to_owned())),
            Self::Prover => {
                return serde_json::from_slice::<ProverInput>(bytes)?
                    .witness()
                    .map(Document::Whole);
            }
            Self::Zeth => {
                return serde_json::from_slice::<ZethInput>(bytes)?.witness().map(Document::Whole);
            }
            Self::Guest => {
                return serde_json::from_slice::<GuestInput>(bytes)?.witness().map(Document::Whole);
            }
            Self::RpcBlock => serde_json::from_slice::<RpcBlock>(bytes)?
                .encode(vec![])
                .map_err(WitnessError::Block),
            Self::NewPayload => serde_json::from_slice::<NewPayload>(bytes)?.encode(),
            Self::Envelope => serde_json::from_slice::<Envelope>(bytes)?.encode(),
            Self::Payload => serde_json::from_slice::<Payload>(bytes)?.encode_alone(),
        };
        block.map(Document::Block)
    }
}

/// A block, or a witness as go-ethereum encodes it: lists, the first of which is a header, or the
/// list of headers.
fn from_rlp(bytes: &[u8]) -> Result<Document, WitnessError> {
    let shape =
        |error: blockmill_rlp::Error| WitnessError::Shape(format!("neither JSON nor RLP: {error}"));
    let mut outer = Reader::new(bytes);
    let mut items = outer.list().map_err(shape)?;
    outer.finish().map_err(shape)?;
    let first = items.clone().item().map_err(shape)?;
    let of_header = first.reader().item().is_ok_and(|item| !item.is_list);
    if first.is_list && of_header {
        return Ok(Document::Block(bytes.to_vec()));
    }
    let (mut headers, mut list) = (vec![], items.list().map_err(shape)?);
    while !list.is_empty() {
        headers.push(list.item().map_err(shape)?.raw.to_vec());
    }
    let mut column = || -> Result<Column, blockmill_rlp::Error> {
        let (mut items, mut all) = (items.list()?, Column::new());
        while !items.is_empty() {
            all.push(items.item()?.payload);
        }
        Ok(all)
    };
    let (codes, nodes) = (column().map_err(shape)?, column().map_err(shape)?);
    Ok(Document::Bare(Parts::new(nodes, codes, headers)))
}

fn from_object(object: Object) -> Result<Document, WitnessError> {
    let Object { chain_id, number, hash, block, witness, result, bare, others } = object;
    let wrong = |field, expected| WitnessError::Field { field, expected };
    if let Some(result) = result {
        return match result {
            Answer::Raw(raw) => from_rlp(&raw),
            Answer::Object(object) => from_object(*object),
        };
    }
    match (block, witness) {
        (Some(block), Some(witness)) => {
            let parts = witness.parts()?;
            let stated = Stated { number, hash };
            Ok(Document::Whole(Witness { chain_id, stated, block: block.0, parts }))
        }
        (None, None) if bare.state.is_some() => bare.parts().map(Document::Bare),
        (Some(block), None) => Ok(Document::Block(block.0)),
        (None, Some(_)) if others.is_empty() => Err(wrong("block", "the bytes of the block")),
        _ => {
            let fields = format!("a JSON object with the fields {}", others.join(", "));
            Err(WitnessError::Shape(fields))
        }
    }
}

/// The fields of an object that are known, and the names of others.
#[derive(Default)]
struct Object {
    chain_id: Option<u64>,
    number: Option<u64>,
    hash: Option<Hash>,
    block: Option<GivenBlock>,
    witness: Option<Lists>,
    result: Option<Answer>,
    /// The lists of a witness in the object itself.
    bare: Lists,
    others: Vec<String>,
}

/// The lists of a witness that are present.
#[derive(Default)]
pub(super) struct Lists {
    state: Option<Column>,
    codes: Option<Column>,
    headers: Option<Vec<Vec<u8>>>,
    others: Vec<String>,
}

impl Lists {
    /// Converts the lists; some shapes omit empty lists or the headers.
    ///
    /// # Errors
    /// [`WitnessError::Shape`] if there is no state.
    pub fn parts(self) -> Result<Parts, WitnessError> {
        let Self { state, codes, headers, others } = self;
        let Some(nodes) = state else {
            let fields = others.join(", ");
            let found = format!("a witness without state, with the fields {fields}");
            return Err(WitnessError::Shape(found));
        };
        let (codes, headers) = (codes.unwrap_or_default(), headers.unwrap_or_default());
        Ok(Parts::new(nodes, codes, headers))
    }

    /// Reads the value of a field of a witness. Returns false for other fields.
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "state" => self.state = map.next_value::<Option<Items>>()?.map(|items| items.0),
            "codes" => self.codes = map.next_value::<Option<Items>>()?.map(|items| items.0),
            "headers" => self.headers = map.next_value::<Option<Headers>>()?.map(|items| items.0),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Skips a field, and records its name for an error.
fn pass<'de, A: MapAccess<'de>>(
    name: String,
    others: &mut Vec<String>,
    map: &mut A,
) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>()?;
    if others.len() < NAMED || OTHERS.iter().any(|(other, _)| *other == name) {
        others.push(name);
    }
    Ok(())
}

/// The names of the fields of an object.
struct Names(Vec<String>);

visited! { Names, "an object",
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut names = vec![];
        while let Some(name) = map.next_key::<String>()? {
            pass(name, &mut names, &mut map)?;
        }
        Ok(Names(names))
    }
}

/// An encoded block, from bytes or from the object of the RPC.
struct GivenBlock(Vec<u8>);

visited! { GivenBlock, "the bytes or the object of a block",
    fn visit_str<E: Error>(self, text: &str) -> Result<GivenBlock, E> {
        decode(text).map(GivenBlock).ok_or_else(|| E::custom("expected 0x and digits"))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GivenBlock, A::Error> {
        let block = RpcBlock::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        block.encode(vec![]).map(GivenBlock).map_err(A::Error::custom)
    }
}

/// The result of an RPC call.
enum Answer {
    Raw(Vec<u8>),
    Object(Box<Object>),
}

visited! { Object, "an object",
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                "chainId" => object.chain_id = map.next_value::<Option<Number>>()?.map(|n| n.0),
                "number" => object.number = map.next_value::<Option<Number>>()?.map(|n| n.0),
                "hash" => object.hash = map.next_value::<Option<Fixed<32>>>()?.map(|h| h.0),
                "block" => object.block = map.next_value()?,
                "witness" => object.witness = map.next_value()?,
                "result" => object.result = map.next_value()?,
                _ if object.bare.take(&name, &mut map)? => {}
                _ => pass(name, &mut object.others, &mut map)?,
            }
        }
        Ok(object)
    }
}

visited! { Lists, "the object of a witness",
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lists, A::Error> {
        let mut lists = Lists::default();
        while let Some(name) = map.next_key::<String>()? {
            if !lists.take(&name, &mut map)? {
                pass(name, &mut lists.others, &mut map)?;
            }
        }
        Ok(lists)
    }
}

visited! { Answer, "an object or bytes",
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Answer, A::Error> {
        let map = serde::de::value::MapAccessDeserializer::new(map);
        Object::deserialize(map).map(|object| Answer::Object(Box::new(object)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Answer, E> {
        decode(text).map(Answer::Raw).ok_or_else(|| E::custom("expected 0x and digits"))
    }
}
