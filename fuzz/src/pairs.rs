//! Fast versions against the plain ones that they must equal.

use crate::input::Input;
use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::{Formula, Parent};
use blockmill_ethereum::ethash::{Cache, Seal, SealError, check_seals, dataset_pages};
use blockmill_hashes::{
    EthashMix, Keccak256, ManyKeccak, ManySha256, Sha256, keccak256, keccak512,
};
use blockmill_rlp::Encode;
use blockmill_trie::RootBuilder;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[path = "../../crates/bench/src/baselines/ethereum_headers/big_integers.rs"]
mod big_integers;
#[path = "../../crates/ethereum/tests/naive/ethash.rs"]
mod naive_ethash;

/// Difficulties in machine words and in integers without bounds.
pub fn difficulty(data: &[u8]) -> bool {
    let mut input = Input(data);
    let flags = input.byte();
    let shift = usize::from(input.byte());
    let parent = Parent {
        number: input.number() >> (flags >> 2),
        timestamp: input.number(),
        difficulty: U256::from_be_bytes(input.array::<32>()) >> shift,
        has_ommers: flags & 1 == 1,
    };
    let wait = input.number() >> (input.byte() & 63);
    // a block is later than its parent
    let Some(time) = parent.timestamp.checked_add(wait.max(1)) else { return false };
    let bomb_delay = input.number() >> 32;
    for formula in [Formula::Frontier, Formula::Homestead, Formula::Byzantium { bomb_delay }] {
        let naive = big_integers::next(formula, time, &parent);
        assert_eq!(formula.next(time, &parent), naive, "{formula:?} {time} {parent:?}");
    }
    true
}

/// Trie roots from a stream of leaves and by the definition.
pub fn trie(data: &[u8]) -> bool {
    let mut input = Input(data);
    // few distinct bytes make long shared prefixes and keys that begin others
    let mask = [0xff, 0x11, 0x01, 0x80][usize::from(input.byte() & 3)];
    let mut leaves = BTreeMap::new();
    let mut items = vec![];
    while !input.0.is_empty() && items.len() < 300 {
        let (key_len, value_len) = (input.byte() % 33, input.byte());
        let key: Vec<u8> = (0..key_len).map(|_| input.byte() & mask).collect();
        // an empty value is no leaf
        let value: Vec<u8> = (0..=value_len).map(|_| input.byte()).collect();
        items.push(value.clone());
        leaves.insert(key, value);
    }
    let mut builder = RootBuilder::with_hasher(ManyKeccak::detect());
    assert_eq!(builder.sorted(&leaves), blockmill_trie::naive::root(&leaves));
    let in_order: BTreeMap<Vec<u8>, Vec<u8>> =
        (0u64..).zip(&items).map(|(position, item)| (position.encode(), item.clone())).collect();
    let root = blockmill_trie::naive::root(&in_order);
    assert_eq!(builder.ordered(items.iter().map(|item| &item[..])), root);
    let hashed = leaves.iter().map(|(key, value)| (keccak256(key).to_vec(), value.clone()));
    assert_eq!(
        blockmill_trie::secure_root(leaves.iter()),
        blockmill_trie::naive::root(&hashed.collect())
    );
    assert_eq!(
        root_of_parts(&mut builder, &leaves),
        blockmill_trie::naive::root(&whole_keys(&leaves))
    );
    true
}

/// Leaves under keys of 32 bytes.
fn whole_keys(leaves: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let whole = |key: &[u8]| [key, &[0; 32][key.len()..]].concat();
    leaves.iter().map(|(key, value)| (whole(key), value.clone())).collect()
}

/// The root of the same leaves in parts; a value says where a part ends.
fn root_of_parts(builder: &mut RootBuilder, leaves: &BTreeMap<Vec<u8>, Vec<u8>>) -> [u8; 32] {
    let leaves: Vec<([u8; 32], Vec<u8>)> = whole_keys(leaves)
        .into_iter()
        .map(|(key, value)| (key.try_into().expect("32 bytes"), value))
        .collect();
    let mut joiner = blockmill_trie::PartJoiner::default();
    let (mut before, mut rest) = (None, &leaves[..]);
    while let Some((key, _)) = rest.first() {
        let end = rest.iter().position(|(_, value)| value[0] & 1 == 1);
        let (part, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        let inside = part.iter().map(|(key, value)| (key, value));
        joiner.join(&builder.part(before, inside, after.first().map(|(key, _)| key)));
        before = part.last().map_or(Some(key), |(key, _)| Some(key));
        rest = after;
    }
    joiner.root()
}

/// Keccak in the lanes of every register width, in parts, and one message at a time.
pub fn keccak(data: &[u8]) -> bool {
    let mut input = Input(data);
    let mut messages = vec![];
    while !input.0.is_empty() {
        messages.push(input.part());
    }
    let digests: Vec<_> = messages.iter().map(|message| keccak256(message)).collect();
    let bytes = messages.concat();
    let mut ends = vec![];
    for message in &messages {
        ends.push(ends.last().unwrap_or(&0) + message.len() as u32);
    }
    let blocks: Vec<[u8; 64]> = messages.iter().map(|m| Input(m).array()).collect();
    let wide: Vec<_> = blocks.iter().map(|block| keccak512(block)).collect();
    for keccak in ManyKeccak::all_available() {
        let mut found = vec![[0; 32]; messages.len()];
        keccak.keccak256(&messages, &mut found);
        assert_eq!(found, digests, "{}", keccak.name());
        found.fill([1; 32]);
        keccak.keccak256_column(&bytes, &ends, &mut found);
        assert_eq!(found, digests, "{} in a column", keccak.name());
        let mut found = blocks.clone();
        keccak.keccak512_64(&mut found);
        assert_eq!(found, wide, "{} of 512 bits", keccak.name());
    }
    let mut in_parts = Keccak256::new();
    messages.iter().for_each(|part| in_parts.update(part));
    assert_eq!(in_parts.finalize(), keccak256(&bytes));
    true
}

/// SHA-256 in the lanes of every register width, in parts, and one message at a time.
pub fn sha256(data: &[u8]) -> bool {
    let mut input = Input(data);
    let mut messages = vec![];
    while !input.0.is_empty() {
        messages.push(input.part());
    }
    let once: Vec<_> = messages.iter().map(|message| blockmill_hashes::sha256(message)).collect();
    let twice: Vec<_> = messages.iter().map(|message| blockmill_hashes::sha256d(message)).collect();
    let pairs: Vec<[u8; 64]> = messages.iter().map(|m| Input(m).array()).collect();
    let of_pairs: Vec<_> = pairs.iter().map(|pair| blockmill_hashes::sha256d(pair)).collect();
    for hasher in ManySha256::all_available() {
        let mut found = vec![[0; 32]; messages.len()];
        hasher.sha256(&messages, &mut found);
        assert_eq!(found, once, "{}", hasher.name());
        hasher.sha256d(&messages, &mut found);
        assert_eq!(found, twice, "{} twice", hasher.name());
        hasher.sha256d_64(&pairs, &mut found);
        assert_eq!(found, of_pairs, "{} of pairs", hasher.name());
    }
    let mut in_parts = Sha256::new();
    messages.iter().for_each(|part| in_parts.update(part));
    assert_eq!(in_parts.finalize(), blockmill_hashes::sha256(&messages.concat()));
    true
}

/// The inner loop of ethash at every register width.
pub fn ethash_mix(data: &[u8]) -> bool {
    let mut input = Input(data);
    let mut row = keccak512(&input.array::<8>());
    let mut rows = vec![];
    for _ in 0..=input.byte() {
        rows.push(row);
        row = keccak512(&row);
    }
    let (mut numbers, mut mixes) = (vec![], vec![]);
    while !input.0.is_empty() && numbers.len() < 64 {
        numbers.push(u32::from_le_bytes(input.array()));
        mixes.push(keccak512(&input.array::<4>()));
    }
    let mut results = EthashMix::all_available().into_iter().map(|mix| {
        let mut out = mixes.clone();
        mix.mix_parents(&rows, &numbers, &mut out);
        (mix.name(), out)
    });
    let portable = results.next().expect("one width is always there").1;
    results.for_each(|(name, out)| assert_eq!(out, portable, "{name}"));
    true
}

/// The cache of the first epoch; making it takes a second.
static CACHE: LazyLock<Cache> =
    LazyLock::new(|| Cache::generate(0).expect("the first epoch is in range"));

/// Seals that are checked together, and each of them by the specification.
pub fn ethash_seal(data: &[u8]) -> bool {
    let mut input = Input(data);
    let (rows, _) = CACHE.as_bytes().as_chunks();
    let pages = dataset_pages(CACHE.epoch()).expect("the first epoch is in range");
    let (mut seals, mut expected) = (vec![], vec![]);
    while !input.0.is_empty() && seals.len() < 40 {
        let flags = input.byte();
        let (seal_hash, nonce) = (input.array(), input.number());
        let naive = naive_ethash::hashimoto_light(rows, pages, &seal_hash, nonce);
        let mix_hash = if flags & 1 == 0 { naive.mix_hash } else { input.array() };
        let difficulty = U256::from(input.number()) << usize::from(flags & 0xf0);
        seals.push(Seal { seal_hash, nonce, mix_hash, difficulty, number: 1 });
        expected.push(match difficulty {
            U256::ZERO => Verdict::ZeroDifficulty,
            _ if mix_hash != naive.mix_hash => Verdict::MixHash(naive.mix_hash),
            // result <= 2^256 / difficulty, rounded down
            _ => {
                let result = U256::from_be_bytes(naive.result);
                // below 2^256 only a difficulty of 1 allows everything
                let limit = (U256::MAX - difficulty + U256::ONE) / difficulty;
                match difficulty == U256::ONE || result <= limit.saturating_add(U256::ONE) {
                    true => Verdict::Good,
                    false => Verdict::Boundary(result),
                }
            }
        });
    }
    let mut found = vec![];
    check_seals(&CACHE, &seals, &mut found);
    let found: Vec<_> = found.into_iter().map(Verdict::from).collect();
    assert_eq!(found, expected, "{seals:?}");
    true
}

/// A verdict with what both ways compute.
#[derive(Debug, PartialEq)]
enum Verdict {
    Good,
    ZeroDifficulty,
    MixHash([u8; 32]),
    Boundary(U256),
    OtherEpoch,
}

impl From<Result<(), SealError>> for Verdict {
    fn from(verdict: Result<(), SealError>) -> Self {
        match verdict {
            Ok(()) => Self::Good,
            Err(SealError::ZeroDifficulty) => Self::ZeroDifficulty,
            Err(SealError::MixHash { expected, .. }) => Self::MixHash(expected),
            Err(SealError::Boundary { found, .. }) => Self::Boundary(found),
            Err(SealError::Epoch { .. }) => Self::OtherEpoch,
        }
    }
}
