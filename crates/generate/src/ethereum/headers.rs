//! Headers that obey every rule but the seal.

use super::blocks::Content;
use crate::random::Random;
use anyhow::Result;
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::header::{EMPTY_ROOT, Header, HeaderView, next_base_fee};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::{Hash, U256};
use blockmill_rlp::Encode;

/// Extra data as early miners set it.
const EXTRA: [&[u8]; 4] = [
    b"Geth/v1.0.0/linux/go1.4.2",
    b"Geth/v1.0.1-82ef26f6/linux/go1.4",
    b"",
    b"\xd7\x83\x01\x03\x03\x84Geth\x87go1.5.1\x85linux",
];

/// The time of the real block 1; the genesis block has time 0.
const FIRST_TIME: u64 = 1_438_269_988;

/// The extra data of the ten blocks that mark the DAO fork (EIP-779).
const DAO_MARK: &[u8] = b"dao-hard-fork";

/// The base fee of the first block under London (EIP-1559).
const FIRST_BASE_FEE: u64 = 1_000_000_000;

/// The gas limit grows to this value, the minimum of the first clients, and then varies.
const GAS_LIMIT: u64 = 3_141_592;

/// A chain that grows header by header.
pub struct HeaderChain<'a> {
    spec: &'a ChainSpec,
    random: Random,
    header: Header,
    raw: Vec<u8>,
    hash: Hash,
    total_difficulty: U256,
}

impl<'a> HeaderChain<'a> {
    /// Begins with the genesis block of `spec`.
    pub fn new(spec: &'a ChainSpec, seed: u64) -> Result<Self> {
        let raw = spec.genesis.raw.clone();
        let header = HeaderView::decode(&raw)?.to_owned();
        let total_difficulty = header.difficulty;
        let hash = spec.genesis.hash;
        Ok(Self { spec, random: Random(seed), header, raw, hash, total_difficulty })
    }

    /// The encoding of the last header.
    pub fn tip(&self) -> &[u8] {
        &self.raw
    }

    /// Total difficulty after the last header.
    pub fn total_difficulty(&self) -> U256 {
        self.total_difficulty
    }

    /// Lower bound of the next header's gas limit.
    pub fn least_gas_limit(&self) -> u64 {
        self.header.gas_limit - self.header.gas_limit / 1024
    }

    /// Adds a header over `content`, or over pseudo-random roots. Returns its encoding.
    pub fn next(&mut self, content: Option<&Content>) -> &[u8] {
        let number = self.header.number + 1;
        let mut header = Header {
            parent_hash: self.hash,
            number,
            timestamp: self.time(number),
            ..Header::default()
        };
        header.difficulty = self.difficulty(number, header.timestamp);
        header.base_fee = self.base_fee(number);
        header.gas_limit = self.gas_limit(number);
        self.fill_content(&mut header, content);
        header.extra_data = EXTRA[self.random.below(4) as usize].to_vec();
        let dao = self.spec.dao.filter(|dao| (dao.block..dao.block + 10).contains(&number));
        if dao.is_some_and(|dao| dao.support) {
            header.extra_data = DAO_MARK.to_vec();
        }
        self.random.fill(&mut header.mix_hash);
        self.random.fill(&mut header.nonce);
        self.total_difficulty += header.difficulty;
        self.raw.clear();
        header.encode_into(&mut self.raw);
        self.hash = blockmill_hashes::keccak256(&self.raw);
        self.header = header;
        &self.raw
    }

    /// Half of the blocks come early, which raises the difficulty, half of them late.
    fn time(&mut self, number: u64) -> u64 {
        let x = self.random.draw();
        let step = if x & 1 == 0 { 5 + (x >> 8) % 8 } else { 13 + (x >> 8) % 18 };
        if number == 1 { FIRST_TIME } else { self.header.timestamp + step }
    }

    fn difficulty(&self, number: u64, time: u64) -> U256 {
        let parent = Parent::from(&self.header.view(&self.raw));
        // `None` means more than 256 bits, which this chain never reaches
        self.spec.rules_at(number, 0).difficulty.next(time, &parent).unwrap_or(U256::MAX)
    }

    fn base_fee(&self, number: u64) -> Option<U256> {
        if !self.spec.rules_at(number, 0).london {
            return None;
        }
        match self.header.base_fee {
            Some(fee) => next_base_fee(fee, self.header.gas_used, self.header.gas_limit),
            None => Some(U256::from(FIRST_BASE_FEE)),
        }
    }

    fn gas_limit(&mut self, number: u64) -> u64 {
        let first_london = self.spec.rules_at(number, 0).first_london;
        let parent = self.header.gas_limit << u64::from(first_london);
        let bound = parent / 1024 - 1;
        if parent < GAS_LIMIT {
            parent + bound
        } else if self.random.draw() & 1 == 0 {
            parent + self.random.below(bound)
        } else {
            parent - self.random.below(bound)
        }
    }

    fn fill_content(&mut self, header: &mut Header, content: Option<&Content>) {
        let random = &mut self.random;
        if content.is_none() && random.below(3) != 0 {
            header.gas_used = random.below(header.gas_limit + 1);
        }
        let miner = random.below(64);
        let name = [
            (miner + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            (miner + 7).wrapping_mul(0xbf58_476d_1ce4_e5b9),
        ];
        header.beneficiary[..8].copy_from_slice(&name[0].to_be_bytes());
        header.beneficiary[8..16].copy_from_slice(&name[1].to_be_bytes());
        random.fill(&mut header.state_root);
        if let Some(content) = content {
            header.transactions_root = content.transactions_root;
            header.receipts_root = content.receipts_root;
            *header.logs_bloom = content.logs_bloom;
            header.gas_used = content.gas_used;
            return;
        }
        header.transactions_root = EMPTY_ROOT;
        header.receipts_root = EMPTY_ROOT;
        if header.gas_used > 0 {
            random.fill(&mut header.transactions_root);
            random.fill(&mut header.receipts_root);
            for _ in 0..24 {
                let bit = random.below(2048);
                header.logs_bloom[bit as usize / 8] |= 1 << (bit % 8);
            }
        }
        if random.below(16) == 0 {
            random.fill(&mut header.ommers_hash);
        }
    }
}
