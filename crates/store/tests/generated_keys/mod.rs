//! Keys and values for tests of tables, and stores that hold one.
#![allow(dead_code)] // each test uses its part

use std::{collections::BTreeMap, path::Path};

use blockmill_store::{CommitPart, Result, Store, StoreOptions, Table, TableOptions};
pub use blockmill_testkit::Random;

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// A key: an id of 32 bytes and a number of four.
pub type Key = [u8; 36];

/// Key of coin `n`; its value follows from it.
pub fn coin_key(n: u64) -> Key {
    let mut key = [0; 36];
    let mut random = Random::new(n / 2);
    key[..32].chunks_mut(8).for_each(|part| part.copy_from_slice(&random.next_u64().to_be_bytes()));
    key[35] = (n % 2) as u8;
    key
}

/// Value of coin `n`.
pub fn coin_value(n: u64) -> Vec<u8> {
    vec![n as u8; 20 + (n % 23) as usize]
}

/// Keys of a small world: 400 ids, of which those of a chain share their first 20 bytes.
pub struct Keys {
    pub chains: u64,
}

impl Keys {
    pub fn any(&self, random: &mut Random) -> Key {
        let id = random.below(400);
        let numbers = [0, 0, 0, 1, 2, 255, 256, 257, 65_536, u32::MAX];
        self.key(id, numbers[random.below(10)])
    }

    pub fn key(&self, id: u64, number: u32) -> Key {
        let mut key = [0; 36];
        for (at, byte) in key[..20].iter_mut().enumerate() {
            *byte = mix(id % self.chains + at as u64 / 8 * 1000 + 1) as u8;
        }
        key[20..28].copy_from_slice(&mix(id).to_be_bytes());
        key[32..].copy_from_slice(&number.to_be_bytes());
        key
    }
}

/// A value like a coin's, sometimes a long one.
pub fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(200) {
        0 => 16_383 + random.below(60_000),
        1 => 4_080 + random.below(40),
        2..6 => random.below(10_000),
        6..20 => 0,
        _ => 20 + random.below(30),
    };
    let seed = random.next_u64();
    (0..len).map(|at| (seed >> (at % 8 * 8)) as u8).collect()
}

/// What the table should hold.
pub type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// Compares all pairs, their order, and each single look-up.
pub fn assert_same(table: &Table, state: &State) {
    let mut pairs = table.iter().unwrap();
    for (key, value) in state {
        assert_eq!(pairs.next().unwrap(), Some((&**key, value.as_slice())));
        let mut out = Vec::new();
        assert!(table.get(key, &mut out).unwrap() && out == *value);
    }
    assert_eq!(pairs.next().unwrap(), None);
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A store with one table.
pub struct OneTable {
    pub store: Store,
    pub table: Table,
    /// What the last commit carried.
    pub state: Vec<u8>,
}

impl OneTable {
    pub fn open(dir: &Path, options: &TableOptions) -> Result<OneTable> {
        Self::open_with(dir, &StoreOptions::default(), options)
    }

    pub fn open_with(dir: &Path, store: &StoreOptions, options: &TableOptions) -> Result<OneTable> {
        let mut opening = Store::open(dir, store)?;
        let table = opening.table("values", options)?;
        let (store, state) = opening.finish()?;
        Ok(OneTable { store, table, state })
    }

    pub fn commit(&mut self, state: &[u8]) -> Result<()> {
        self.store.commit(&mut [CommitPart::Table(&mut self.table)], state)
    }
}
