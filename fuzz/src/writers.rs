//! The ways to write RLP, which must all give the same bytes and hashes.

use crate::input::Input;
use blockmill_hashes::{ManyKeccak, keccak256};
use blockmill_rlp::{Encode, Encoder, Item, Reader, U256, Write, hash_each};

/// Levels of a value; below them there are only byte strings.
const MAX_DEPTH: u32 = 40;

/// A value of any shape.
enum Value {
    Bytes(Vec<u8>),
    Fixed([u8; 20]),
    Number(u64),
    Wide(U256),
    List(Vec<Value>),
    Envelope(u8, Vec<Value>),
}

impl Encode for Value {
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Bytes(bytes) => out.bytes(bytes),
            Self::Fixed(bytes) => out.fixed(bytes),
            Self::Number(number) => out.u64(*number),
            Self::Wide(number) => out.u256(number),
            Self::List(items) => items.write(out),
            Self::Envelope(kind, items) => {
                out.envelope(*kind, |out| items.iter().for_each(|item| item.write(out)));
            }
        }
    }
}

impl Value {
    /// The value that the input describes.
    fn described(input: &mut Input<'_>, depth: u32) -> Self {
        let shape = input.byte();
        let bits = u32::from(input.byte());
        match shape % 8 {
            0 => Self::Bytes(input.part().to_vec()),
            1 => Self::Bytes(vec![shape; bits as usize * 10]),
            2 => Self::Fixed(input.array()),
            3 => Self::Number(input.number().checked_shr(bits % 65).unwrap_or(0)),
            4 => Self::Wide(U256::from_be_bytes(input.array::<32>()) >> (bits as usize % 257)),
            _ if depth == MAX_DEPTH => Self::Bytes(vec![]),
            5 => Self::Envelope(input.byte(), Self::several(input, bits, depth)),
            _ => Self::List(Self::several(input, bits, depth)),
        }
    }

    fn several(input: &mut Input<'_>, count: u32, depth: u32) -> Vec<Self> {
        let mut values = vec![];
        while values.len() < count as usize && !input.0.is_empty() {
            values.push(Self::described(input, depth + 1));
        }
        values
    }

    /// The value that was encoded as `item`.
    fn decoded(item: &Item<'_>, depth: u32) -> Option<Self> {
        if !item.is_list {
            return Some(Self::Bytes(item.payload.to_vec()));
        }
        let depth = depth.checked_sub(1)?;
        let mut reader = item.reader();
        let mut items = vec![];
        while !reader.is_empty() {
            items.push(Self::decoded(&reader.item().ok()?, depth)?);
        }
        Some(Self::List(items))
    }
}

/// Two passes, one pass, the hash writer and the batch agree on any value.
pub fn rlp_writers(data: &[u8]) -> bool {
    let mut input = Input(data);
    let mut values = vec![];
    while !input.0.is_empty() && values.len() < 100 {
        values.push(Value::described(&mut input, 0));
    }
    let mut encoder = Encoder::default();
    let mut hashes = vec![];
    for value in &values {
        let encoded = value.encode();
        assert_eq!(encoded.len(), value.encoded_len());
        assert_eq!(blockmill_rlp::validate(&encoded), Ok(()));
        assert_eq!(value.encode_in_one_pass(), encoded);
        assert_eq!(encoder.encode(value), encoded);
        hashes.push(keccak256(&encoded));
        assert_eq!(value.hash(), keccak256(&encoded));
        assert_eq!(encoder.hash(value), keccak256(&encoded));
    }
    for hasher in ManyKeccak::all_available() {
        let mut out = vec![[0; 32]; values.len()];
        hash_each(&values, &hasher, &mut out);
        assert_eq!(out, hashes, "{}", hasher.name());
    }
    true
}

/// A decoded value is encoded to the same bytes, by each writer.
pub fn rlp_identity(data: &[u8]) -> bool {
    let mut reader = Reader::new(data);
    let Ok(item) = reader.item() else { return false };
    let Some(value) = Value::decoded(&item, MAX_DEPTH) else { return false };
    // an envelope or a lone byte in a longer form would not be canonical, and was refused above
    assert_eq!(value.encode(), item.raw);
    assert_eq!(value.encode_in_one_pass(), item.raw);
    assert_eq!(value.hash(), keccak256(item.raw));
    true
}
