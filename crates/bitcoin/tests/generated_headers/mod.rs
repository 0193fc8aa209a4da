//! Headers for tests: random numbers, mining at low difficulty, and a slow index to compare with.

#![allow(dead_code)] // each test program uses its own part of this module

use blockmill_bitcoin::header::{Header, compact, target, work};
use blockmill_bitcoin::index::Found;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
pub use blockmill_testkit::Random;
use ruint::aliases::U256;
use std::collections::{HashMap, HashSet, VecDeque};

/// A network where two hashes make a block, with periods of `period` blocks.
pub fn easy(period: u32) -> Params {
    Params {
        min_difficulty: false,
        no_retarget: false,
        period_seconds: period * 600,
        // versions as before BIP34
        bip34_height: u32::MAX,
        bip65_height: u32::MAX,
        bip66_height: u32::MAX,
        ..Params::regtest()
    }
}

pub fn genesis_header(params: &Params) -> [u8; 80] {
    *params.genesis.first_chunk().unwrap()
}

/// A header that fulfils its own bits.
pub fn mine(version: i32, previous: &BlockHash, seed: u64, time: u32, bits: u32) -> [u8; 80] {
    let mut header = unmined(version, previous, seed, time, bits);
    let target = target(bits).unwrap();
    for nonce in 0_u32.. {
        header[76..].copy_from_slice(&nonce.to_le_bytes());
        if U256::from_le_bytes(blockmill_hashes::sha256d(&header)) <= target {
            break;
        }
    }
    header
}

pub fn unmined(version: i32, previous: &BlockHash, seed: u64, time: u32, bits: u32) -> [u8; 80] {
    let mut header = [0; 80];
    header[..4].copy_from_slice(&version.to_le_bytes());
    header[4..36].copy_from_slice(&previous.0);
    header[36..44].copy_from_slice(&seed.to_le_bytes());
    header[68..72].copy_from_slice(&time.to_le_bytes());
    header[72..76].copy_from_slice(&bits.to_le_bytes());
    header
}

/// Consecutive records of these headers in one file.
pub fn found(headers: &[[u8; 80]]) -> Vec<Found> {
    let record = |(at, header): (usize, &[u8; 80])| Found {
        file: 0,
        offset: 8 + at as u64 * 300,
        size: 285,
        header: *header,
        hash: BlockHash(blockmill_hashes::sha256d(header)),
    };
    headers.iter().enumerate().map(record).collect()
}

/// A block in the slow index.
#[derive(Clone)]
pub struct Entry {
    pub record: Option<usize>,
    pub header: [u8; 80],
    pub hash: BlockHash,
    pub parent: Option<usize>,
    pub height: u32,
    pub work: U256,
}

impl Entry {
    pub fn time(&self) -> i64 {
        i64::from(Header(&self.header).time())
    }

    pub fn bits(&self) -> u32 {
        Header(&self.header).bits()
    }
}

/// The index as it would be written first: maps, walks back over parents, no memory of anything.
pub struct Naive {
    pub entries: Vec<Entry>,
    pub refused: HashSet<usize>,
    pub unlinked: HashSet<usize>,
    pub held_back: u32,
}

impl Naive {
    pub fn build(params: &Params, found: &[Found]) -> Naive {
        let header = genesis_header(params);
        let mut naive = Naive {
            entries: vec![Entry {
                record: None,
                header,
                hash: params.genesis_hash,
                parent: None,
                height: 0,
                work: work(target(Header(&header).bits()).unwrap()),
            }],
            refused: HashSet::new(),
            unlinked: HashSet::new(),
            held_back: 0,
        };
        let mut seen = HashSet::new();
        let mut refused_hashes = HashSet::new();
        let mut linked = HashMap::new();
        let mut waiting: HashMap<BlockHash, Vec<usize>> = HashMap::new();
        let present: HashSet<BlockHash> = found.iter().map(|found| found.hash).collect();
        if !present.contains(&params.genesis_hash) {
            linked.insert(params.genesis_hash, 0);
        }
        for (record, one) in found.iter().enumerate() {
            if !seen.insert(one.hash) {
                continue;
            }
            let mut queue = VecDeque::from([record]);
            while let Some(record) = queue.pop_front() {
                let (header, hash) = (found[record].header(), found[record].hash);
                let previous = header.previous();
                if hash == params.genesis_hash {
                    linked.insert(hash, 0);
                    naive.entries[0].record = Some(record);
                } else if refused_hashes.contains(&previous) {
                    refused_hashes.insert(hash);
                    naive.refused.insert(record);
                } else if let Some(&parent) = linked.get(&previous) {
                    if naive.allows(params, parent, &found[record]) {
                        linked.insert(hash, naive.entries.len());
                        naive.add(parent, record, &found[record]);
                    } else {
                        refused_hashes.insert(hash);
                        naive.refused.insert(record);
                    }
                } else {
                    naive.held_back += u32::from(present.contains(&previous));
                    waiting.entry(previous).or_default().push(record);
                    continue;
                }
                queue.extend(waiting.remove(&hash).unwrap_or_default());
            }
        }
        naive.unlinked = waiting.into_values().flatten().collect();
        naive
    }

    pub fn add(&mut self, parent: usize, record: usize, found: &Found) {
        let block_work = work(target(found.header().bits()).unwrap());
        self.entries.push(Entry {
            record: Some(record),
            header: found.header,
            hash: found.hash,
            parent: Some(parent),
            height: self.entries[parent].height + 1,
            work: self.entries[parent].work + block_work,
        });
    }

    /// The block and its ancestors, backwards.
    pub fn back(&self, block: usize) -> impl Iterator<Item = &Entry> {
        let parent = |entry: &&Entry| entry.parent.map(|at| &self.entries[at]);
        std::iter::successors(Some(&self.entries[block]), parent)
    }

    pub fn median(&self, block: usize) -> i64 {
        let mut times: Vec<i64> = self.back(block).take(11).map(Entry::time).collect();
        times.sort();
        times[times.len() / 2]
    }

    pub fn expected_bits(&self, params: &Params, parent: usize, time: i64) -> u32 {
        let last = &self.entries[parent];
        let period = params.period();
        if !(last.height + 1).is_multiple_of(period) {
            if !params.min_difficulty {
                return last.bits();
            }
            if time > last.time() + 1200 {
                return params.limit_bits();
            }
            let real = |entry: &&Entry| {
                entry.bits() != params.limit_bits() || entry.height.is_multiple_of(period)
            };
            return self.back(parent).find(real).unwrap().bits();
        }
        if params.no_retarget {
            return last.bits();
        }
        let first = self.back(parent).nth(period as usize - 1).unwrap();
        let wanted = i64::from(params.period_seconds);
        let taken = (last.time() - first.time()).clamp(wanted / 4, wanted * 4);
        let old = if params.bip94 { first.bits() } else { last.bits() };
        // without the lowest 32 bits, which are zeros, so that nothing overflows
        let old: U256 = target(old).unwrap() >> 32_usize;
        let new: U256 = old * U256::from(taken) / U256::from(wanted);
        let limit: U256 = params.pow_limit >> 32_usize;
        compact(new.min(limit) << 32_usize)
    }

    pub fn allows(&self, params: &Params, parent: usize, found: &Found) -> bool {
        let header = found.header();
        let time = i64::from(header.time());
        let last = &self.entries[parent];
        let height = last.height + 1;
        let good_target = target(header.bits()).filter(|target| *target <= params.pow_limit);
        let Some(target) = good_target else { return false };
        let first = height.is_multiple_of(params.period());
        U256::from_le_bytes(found.hash.0) <= target
            && header.bits() == self.expected_bits(params, parent, time)
            && time > self.median(parent)
            && !(params.bip94 && first && time < last.time() - 600)
            && !(height >= params.bip34_height && header.version() < 2)
            && !(height >= params.bip66_height && header.version() < 3)
            && !(height >= params.bip65_height && header.version() < 4)
    }

    /// The blocks of the best chain, without those for which `bad` holds or that follow one.
    pub fn best_chain(&self, bad: &HashSet<usize>) -> Vec<usize> {
        let good = |block: &usize| {
            let path = self.path(*block);
            path.iter().all(|at| !bad.contains(at))
        };
        let mut best = 0;
        for block in (0..self.entries.len()).filter(good) {
            if self.entries[block].work > self.entries[best].work {
                best = block;
            }
        }
        self.path(best)
    }

    pub fn path(&self, block: usize) -> Vec<usize> {
        let mut path = vec![block];
        while let Some(parent) = self.entries[path[path.len() - 1]].parent {
            path.push(parent);
        }
        path.reverse();
        path
    }
}
