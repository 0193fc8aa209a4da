//! Every way to write gives the same bytes as the definition in the Yellow Paper (appendix B), on
//! values of any shape.

use blockmill_hashes::{ManyKeccak, keccak256};
use blockmill_rlp::{Encode, Encoder, U256, Write, hash_each, validate};
use blockmill_testkit::Random;

/// A value of any shape.
#[derive(Clone, Debug)]
enum Value {
    Bytes(Vec<u8>),
    Fixed([u8; 32]),
    Number(u64),
    Wide(U256),
    List(Vec<Value>),
    /// A list with a given payload length, which is not measured.
    Sized(Vec<Value>),
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
            Self::Sized(items) => {
                let payload = items.iter().map(Encode::encoded_len).sum();
                out.list_of(payload, |out| items.iter().for_each(|item| item.write(out)));
            }
            Self::Envelope(kind, items) => {
                out.envelope(*kind, |out| items.iter().for_each(|item| item.write(out)));
            }
        }
    }
}

/// The definition, taken literally.
fn by_definition(value: &Value) -> Vec<u8> {
    let string = |bytes: &[u8]| match bytes {
        [byte] if *byte < 0x80 => vec![*byte],
        _ => [&prefix(0x80, bytes.len()), bytes].concat(),
    };
    let digits = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        bytes[zeros..].to_vec()
    };
    let all = |items: &[Value]| items.iter().flat_map(by_definition).collect::<Vec<_>>();
    match value {
        Value::Bytes(bytes) => string(bytes),
        Value::Fixed(bytes) => string(bytes),
        Value::Number(number) => string(&digits(&number.to_be_bytes())),
        Value::Wide(number) => string(&digits(&number.to_be_bytes::<32>())),
        Value::List(items) | Value::Sized(items) => {
            let payload = all(items);
            [prefix(0xc0, payload.len()), payload].concat()
        }
        Value::Envelope(kind, items) => string(&[&[*kind], &all(items)[..]].concat()),
    }
}

fn prefix(base: u8, payload: usize) -> Vec<u8> {
    if payload <= 55 {
        return vec![base + payload as u8];
    }
    let length = payload.to_be_bytes();
    let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    [vec![base + 55 + digits.len() as u8], digits].concat()
}

/// A source of values.
struct Values(Random);

impl Values {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// A number of any length in bits.
    fn number(&mut self) -> u64 {
        self.0.any_length()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let longest = [2, 60, 300, 5000][self.below(4) as usize];
        let len = self.below(longest);
        (0..len).map(|_| self.0.next_u64() as u8 >> self.below(2)).collect()
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => Value::Bytes(self.bytes()),
            1 => Value::Fixed(std::array::from_fn(|_| self.0.next_u64() as u8)),
            2 => Value::Number(self.number()),
            3 => {
                let limbs = std::array::from_fn(|_| self.number());
                Value::Wide(U256::from_limbs(limbs) >> self.below(257) as usize)
            }
            4 => Value::Sized(self.values(depth)),
            5 => Value::Envelope(self.0.next_u64() as u8 >> self.below(2), self.values(depth)),
            _ => Value::List(self.values(depth)),
        }
    }

    fn values(&mut self, depth: u32) -> Vec<Value> {
        (0..self.below(6)).map(|_| self.value(depth - 1)).collect()
    }
}

#[track_caller]
fn expect_agreement(value: &Value, encoder: &mut Encoder) {
    let expected = by_definition(value);
    assert_eq!(value.encoded_len(), expected.len());
    let encoded = value.encode();
    assert!(encoded == expected, "two passes: {value:?}");
    assert_eq!(encoded.capacity(), expected.len(), "a buffer of exactly the right size");
    assert!(value.encode_in_one_pass() == expected, "one pass: {value:?}");
    assert!(encoder.encode(value) == expected, "encoder: {value:?}");
    let mut appended = vec![7];
    value.encode_into(&mut appended);
    assert!(appended[0] == 7 && appended[1..] == expected, "appended: {value:?}");
    let hash = keccak256(&expected);
    assert_eq!(value.hash(), hash, "hash: {value:?}");
    assert_eq!(encoder.hash(value), hash, "hash of the encoder: {value:?}");
}

#[test]
fn on_random_values() {
    let mut random = Values(Random::new(1));
    let mut encoder = Encoder::default();
    for round in 0..20_000 {
        let value = random.value(round % 6);
        expect_agreement(&value, &mut encoder);
        assert_eq!(validate(&value.encode()), Ok(()));
    }
}

#[test]
fn on_lengths_around_every_limit() {
    let mut encoder = Encoder::default();
    for limit in [1, 55, 56, 136, 255, 256, 2040, 4080, 65_535, 65_536] {
        for len in limit - 1..limit + 3 {
            for fill in [0, 0x7f, 0x80] {
                let bytes = Value::Bytes(vec![fill; len]);
                expect_agreement(&bytes, &mut encoder);
                expect_agreement(&Value::List(vec![bytes.clone(); 3]), &mut encoder);
                expect_agreement(&Value::Envelope(fill, vec![bytes]), &mut encoder);
            }
        }
    }
}

#[test]
fn on_more_lists_than_there_is_room_to_note() {
    let mut encoder = Encoder::default();
    for count in [2045, 2046, 2047, 2048, 2049, 9000] {
        let item = Value::List(vec![Value::Number(300), Value::Envelope(2, vec![])]);
        expect_agreement(&Value::List(vec![item; count / 2]), &mut encoder);
        expect_agreement(&Value::List(vec![Value::List(vec![]); count]), &mut encoder);
    }
}

#[test]
fn on_deep_nesting() {
    let mut encoder = Encoder::default();
    let mut value = Value::Number(5);
    for depth in 0..600 {
        let inner = vec![value, Value::Bytes(vec![1, 2])];
        value = if depth % 7 == 3 { Value::Envelope(1, inner) } else { Value::List(inner) };
    }
    expect_agreement(&value, &mut encoder);
}

#[test]
fn on_batches_of_any_size_with_every_width() {
    let mut random = Values(Random::new(2));
    for count in (0..40).chain([63, 64, 65, 200, 1000]) {
        let mut values: Vec<_> = (0..count).map(|_| random.value(2)).collect();
        if count > 20 {
            // longer than a whole batch
            values[7] = Value::Bytes(vec![1; 100_000]);
        }
        let expected: Vec<_> = values.iter().map(|value| keccak256(&value.encode())).collect();
        for hasher in ManyKeccak::all_available() {
            let mut hashes = vec![[0; 32]; count];
            hash_each(&values, &hasher, &mut hashes);
            assert_eq!(hashes, expected, "{count} values, {}", hasher.name());
        }
    }
}
