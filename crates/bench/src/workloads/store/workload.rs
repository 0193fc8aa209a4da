//! The operations of `bench store` on any key-value store.
//!
//! The program of the peers (`benchmarks/peers/stores`) includes this file, so it needs only the
//! standard library.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::keys::{ABSENT, Draw, Key, PREFIX_BYTES, key, random, value};

/// Any error of a store.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Changes that a fill makes in one batch.
const FILL_BATCH: u64 = 100_000;
/// Changes in one batch of updates, and batches.
const UPDATE_BATCH: u64 = 10_000;
const UPDATE_BATCHES: u64 = 20;
/// Changes of one block.
const BLOCK: u64 = 500;
/// The smallest database: no batch has a key twice.
pub const LEAST_KEYS: u64 = UPDATE_BATCH;
/// Keys that are read, one by one or in batches.
const READS: u64 = 100_000;
const READ_BATCH: usize = 1_000;
/// Groups that are scanned.
const SCANS: u64 = 1_000;
/// Coprime to the number of keys, so that counting in its multiples meets each key once.
const STRIDE: u64 = 982_451_653;

/// A key with its new value, or `None` to remove it.
pub type Change = (Key, Option<Vec<u8>>);

/// A store under test.
pub trait KeyValueStore {
    /// Appends the value of `key` to `out`; whether there is one.
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error>;

    /// Calls `found` with the value of each of `keys` that has one, in any order.
    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error>;

    /// Calls `found` with each key and value under a prefix, in order.
    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error>;

    /// Applies all changes or none. They survive a power loss once it has returned.
    fn apply(&mut self, changes: &[Change]) -> Result<(), Error>;

    /// Inserts the next changes of a bulk load, in the order of [`KeyValueStore::rank`]. They
    /// survive a power loss once [`KeyValueStore::wait_for_background`] has returned.
    fn load(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.apply(changes)
    }

    /// The first 8 bytes by which the database orders keys.
    fn rank(&self, key: &Key) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|at| key[at]))
    }

    /// Waits for what the store does in the background.
    fn wait_for_background(&mut self) -> Result<(), Error>;
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Puts in every key once, in random order, until nothing is left to do in the background.
    Fill,
    /// Reads keys that are there, one by one.
    Get,
    /// Asks for keys that are not there.
    GetAbsent,
    /// Reads keys, a thousand at a time.
    GetMany,
    /// Reads all values of a group of keys.
    Scan,
    /// Batches of changes: three of four set a value, one removes a key.
    Update,
    /// Many small batches that insert, update and remove; the number of keys stays about the same.
    Blocks,
    /// Puts in every key once, in the order of the database, durable at the end.
    Load,
}

impl Operation {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 8] = [
        Self::Load,
        Self::Fill,
        Self::Get,
        Self::GetAbsent,
        Self::GetMany,
        Self::Scan,
        Self::Update,
        Self::Blocks,
    ];

    /// Its name on command lines and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Get => "get",
            Self::GetAbsent => "get-absent",
            Self::GetMany => "get-many",
            Self::Scan => "scan",
            Self::Update => "update",
            Self::Blocks => "blocks",
            Self::Load => "load",
        }
    }

    /// The operation of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// What one process does.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// What is done.
    pub operation: Operation,
    /// Keys that were put in by the fill, at least `LEAST_KEYS`.
    pub keys: u64,
    /// Which of them are read and changed.
    pub draw: Draw,
    /// Blocks that are made durable one by one.
    pub blocks: u64,
}

impl Job {
    /// Each operation takes keys of its own choice, and updates write values of their own.
    fn seed(self) -> u64 {
        self.operation as u64
    }
}

/// Time and answers of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Keys read or changed, or entries scanned.
    pub operations: u64,
    /// Time in the store.
    pub time: Duration,
    /// Bytes of values that were found or set.
    pub bytes: u64,
    /// A digest of all values that were found or set, independent of their order.
    pub digest: u64,
}

impl Measured {
    /// Nanoseconds of one operation.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        self.time.as_secs_f64() * 1e9 / self.operations.max(1) as f64
    }

    fn value(&mut self, value: &[u8]) {
        let mut hash = value.len() as u64;
        for word in value.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        }
        self.digest = self.digest.wrapping_add(hash);
        self.bytes += value.len() as u64;
    }
}

/// Does `job` with `store`.
///
/// # Errors
/// Returns an error of the store.
pub fn run(store: &mut dyn KeyValueStore, job: Job) -> Result<Measured, Error> {
    match job.operation {
        Operation::Fill => fill(store, job.keys),
        Operation::Get => get(store, job, 0),
        Operation::GetAbsent => get(store, job, ABSENT),
        Operation::GetMany => get_many(store, job),
        Operation::Scan => scan(store, job),
        Operation::Update => update(store, job),
        Operation::Blocks => blocks(store, job),
        Operation::Load => load(store, job.keys),
    }
}

fn fill(store: &mut dyn KeyValueStore, keys: u64) -> Result<Measured, Error> {
    let number = |at| (u128::from(at) * u128::from(STRIDE) % u128::from(keys)) as u64;
    put_all(store, keys, number, |store, changes| store.apply(changes))
}

fn load(store: &mut dyn KeyValueStore, keys: u64) -> Result<Measured, Error> {
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(keys as usize);
    for n in 0..u32::try_from(keys)? {
        order.push((store.rank(&key(n.into())), n));
    }
    order.sort_unstable();
    let number = |at| order[at as usize].1.into();
    put_all(store, keys, number, |store, changes| store.load(changes))
}

/// How a batch is applied.
type Put = fn(&mut dyn KeyValueStore, &[Change]) -> Result<(), Error>;

/// Puts in every key once, in the order of `number`, until nothing is left to do.
fn put_all(
    store: &mut dyn KeyValueStore,
    keys: u64,
    number: impl Fn(u64) -> u64,
    put: Put,
) -> Result<Measured, Error> {
    let mut measured = Measured { operations: keys, ..Measured::default() };
    let mut at = 0;
    while at < keys {
        let batch = at..keys.min(at + FILL_BATCH);
        at = batch.end;
        let changes: Vec<Change> =
            batch.map(&number).map(|n| (key(n), Some(value(n, 0)))).collect();
        timed(store, &changes, &mut measured, put)?;
    }
    let start = Instant::now();
    store.wait_for_background()?;
    measured.time += start.elapsed();
    Ok(measured)
}

fn apply(
    store: &mut dyn KeyValueStore,
    changes: &[Change],
    measured: &mut Measured,
) -> Result<(), Error> {
    timed(store, changes, measured, |store, changes| store.apply(changes))
}

fn timed(
    store: &mut dyn KeyValueStore,
    changes: &[Change],
    measured: &mut Measured,
    put: Put,
) -> Result<(), Error> {
    changes.iter().filter_map(|(_, value)| value.as_ref()).for_each(|value| measured.value(value));
    let start = Instant::now();
    put(store, changes)?;
    measured.time += start.elapsed();
    Ok(())
}

/// Numbers of keys to read.
fn numbers(job: Job, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| job.draw.number(random(job.seed(), at), job.keys))
}

fn get(store: &mut dyn KeyValueStore, job: Job, add: u64) -> Result<Measured, Error> {
    let keys: Vec<Key> = numbers(job, READS).map(|n| key(n + add)).collect();
    let mut measured = Measured { operations: READS, ..Measured::default() };
    let mut out = vec![];
    let start = Instant::now();
    for key in &keys {
        out.clear();
        if store.get(key, &mut out)? {
            measured.value(&out);
        }
    }
    measured.time = start.elapsed();
    Ok(measured)
}

fn get_many(store: &mut dyn KeyValueStore, job: Job) -> Result<Measured, Error> {
    let keys: Vec<Key> = numbers(job, READS).map(key).collect();
    let mut measured = Measured { operations: READS, ..Measured::default() };
    let start = Instant::now();
    for batch in keys.chunks(READ_BATCH) {
        store.get_many(batch, &mut |value| measured.value(value))?;
    }
    measured.time = start.elapsed();
    Ok(measured)
}

fn scan(store: &mut dyn KeyValueStore, job: Job) -> Result<Measured, Error> {
    let keys: Vec<Key> = numbers(job, SCANS).map(key).collect();
    let mut measured = Measured::default();
    let start = Instant::now();
    for key in &keys {
        store.scan(&key[..PREFIX_BYTES], &mut |found, value| {
            measured.operations += 1;
            measured.value(found);
            measured.value(value);
        })?;
    }
    measured.time = start.elapsed();
    Ok(measured)
}

fn update(store: &mut dyn KeyValueStore, job: Job) -> Result<Measured, Error> {
    let mut measured = Measured::default();
    for batch in 0..UPDATE_BATCHES {
        let changes = changes(job, batch);
        measured.operations += changes.len() as u64;
        apply(store, &changes, &mut measured)?;
    }
    Ok(measured)
}

fn blocks(store: &mut dyn KeyValueStore, job: Job) -> Result<Measured, Error> {
    let mut measured = Measured::default();
    for block in 0..job.blocks {
        let changes = changes_of_block(job, block);
        measured.operations += changes.len() as u64;
        apply(store, &changes, &mut measured)?;
    }
    Ok(measured)
}

/// The changes of a block: four of five set a key, which was there or not, the others remove one.
/// Of a quarter more keys than there are at first, so that four of five are always there.
fn changes_of_block(job: Job, block: u64) -> Vec<Change> {
    let draws = (block * BLOCK..(block + 1) * BLOCK).map(|at| random(job.seed(), at));
    let numbers: BTreeSet<u64> =
        draws.map(|random| job.draw.number(random, job.keys / 4 * 5)).collect();
    let seed = job.seed() + (block + 1) * 16;
    let change = |n| (key(n), (!random(seed, n).is_multiple_of(5)).then(|| value(n, seed)));
    numbers.into_iter().map(change).collect()
}

/// A batch of changes, which has no key twice.
fn changes(job: Job, batch: u64) -> Vec<Change> {
    let first = u128::from(random(job.seed(), batch) % job.keys);
    let stride = |at: u64| ((first + u128::from(at * STRIDE)) % u128::from(job.keys)) as u64;
    let (numbers, seed): (Vec<u64>, u64) = match job.draw {
        Draw::Uniform => ((0..UPDATE_BATCH).map(stride).collect(), job.seed()),
        // drawn again and again over all batches, so that each has values of its own
        Draw::Skewed => {
            let draws = batch * UPDATE_BATCH..(batch + 1) * UPDATE_BATCH;
            let numbers = draws.map(|at| job.draw.number(random(job.seed(), at), job.keys));
            let numbers: BTreeSet<u64> = numbers.collect();
            (numbers.into_iter().collect(), job.seed() + (batch + 1) * 16)
        }
    };
    let change = |(at, n): (usize, u64)| (key(n), (at % 4 != 3).then(|| value(n, seed)));
    numbers.into_iter().enumerate().map(change).collect()
}
