//! A header as a JSON object, as go-ethereum and the RPC write it.

use super::values::{Bytes, Fixed, Number, visited};
use crate::header::Header;
use crate::{Hash, U256};
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::{EditLater, Header as Fields, LaterField};
use blockmill_verdict::Hex;
use serde::de::value::{self, StrDeserializer, U64Deserializer};
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// The fields of a header. Other fields, such as the size, are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonHeader {
    hash: Option<Fixed<32>>,
    parent_hash: Fixed<32>,
    sha3_uncles: Fixed<32>,
    miner: Fixed<20>,
    state_root: Fixed<32>,
    transactions_root: Fixed<32>,
    receipts_root: Fixed<32>,
    logs_bloom: Fixed<256>,
    difficulty: Wide,
    number: Number,
    gas_limit: Number,
    gas_used: Number,
    timestamp: Number,
    extra_data: Bytes,
    mix_hash: Fixed<32>,
    nonce: Fixed<8>,
    #[serde(flatten)]
    later: Later,
}

/// Names that other clients give to later fields, and those of the RPC.
const ALIASES: [(&str, &str); 1] = [("balHash", "blockAccessListHash")];

/// The fields that later forks added, in the order of [`Fields::LATER`].
#[derive(Default)]
struct Later([Option<Scalar>; Fields::LATER.len()]);

impl<'de> Deserialize<'de> for Later {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Later;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the fields of a header")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Later, A::Error> {
                let mut later = Later::default();
                while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                    let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
                    let name = alias.map_or(&*key, |(_, name)| name);
                    let Some(field) = Fields::LATER.iter().find(|it| it.rpc_name() == name) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    if later.0[field.index].is_some() {
                        return Err(A::Error::custom(format!("duplicate field `{name}`")));
                    }
                    later.0[field.index] = map.next_value()?;
                }
                Ok(later)
            }
        }
        from.deserialize_map(Each)
    }
}

/// A number or a text, before the kind of its field is known.
enum Scalar {
    Number(u64),
    Text(String),
}

visited! { Scalar, "a number or 0x and digits",
    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.into()))
    }
}

impl Later {
    fn read<T: DeserializeOwned>(&self, field: &LaterField) -> Result<Option<T>, String> {
        let value = match &self.0[field.index] {
            None => return Ok(None),
            Some(Scalar::Number(number)) => T::deserialize(U64Deserializer::new(*number)),
            Some(Scalar::Text(text)) => T::deserialize(StrDeserializer::new(text)),
        };
        value.map(Some).map_err(|error: value::Error| format!("{}: {error}", field.rpc_name()))
    }
}

impl EditLater for &Later {
    type Error = String;

    fn wei(&mut self, field: &LaterField, _: Option<U256>) -> Result<Option<U256>, String> {
        Ok(self.read::<Wide>(field)?.map(|number| number.0))
    }

    fn number(&mut self, field: &LaterField, _: Option<u64>) -> Result<Option<u64>, String> {
        Ok(self.read::<Number>(field)?.map(|number| number.0))
    }

    fn hash(&mut self, field: &LaterField, _: Option<Hash>) -> Result<Option<Hash>, String> {
        Ok(self.read::<Fixed<32>>(field)?.map(|hash| hash.0))
    }
}

/// A number of up to 256 bits: text with 0x, or a list of 32 bytes, little-endian (SSZ).
pub(super) struct Wide(pub U256);

visited! { Wide, "0x and at most 64 digits, or 32 bytes",
    fn visit_str<E: Error>(self, text: &str) -> Result<Wide, E> {
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() <= 64);
        let number = digits.and_then(|digits| U256::from_str_radix(digits, 16).ok());
        number.map(Wide).ok_or_else(|| E::custom("expected 0x and at most 64 digits"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Wide, A::Error> {
        let list = value::SeqAccessDeserializer::new(list);
        Ok(Wide(U256::from_le_bytes(Fixed::<32>::deserialize(list)?.0)))
    }
}

impl JsonHeader {
    /// The number of the block.
    pub fn number(&self) -> u64 {
        self.number.0
    }

    /// Encodes the header in RLP.
    ///
    /// # Errors
    /// A message if a field of a later fork is malformed, or the stated hash is another one.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let mut header = Header {
            parent_hash: self.parent_hash.0,
            ommers_hash: self.sha3_uncles.0,
            beneficiary: self.miner.0,
            state_root: self.state_root.0,
            transactions_root: self.transactions_root.0,
            receipts_root: self.receipts_root.0,
            logs_bloom: Box::new(self.logs_bloom.0),
            difficulty: self.difficulty.0,
            number: self.number.0,
            gas_limit: self.gas_limit.0,
            gas_used: self.gas_used.0,
            timestamp: self.timestamp.0,
            extra_data: self.extra_data.0.clone(),
            mix_hash: self.mix_hash.0,
            nonce: self.nonce.0,
            ..Header::default()
        };
        header.edit_later(&mut &self.later)?;
        let encoded = header.encode();
        let found = blockmill_rlp::ethereum::block_hash(&encoded);
        match &self.hash {
            Some(stated) if stated.0 != found => Err(format!(
                "the header {} has the hash {}, as its fields are",
                Hex(&stated.0),
                Hex(&found)
            )),
            _ => Ok(encoded),
        }
    }
}
