//! Chains of regtest that tests make: spends of plain, P2SH and P2WSH outputs that need no
//! signature. What a block says can be changed before it is mined.

#![allow(dead_code)] // each test program uses its own part of this module

use crate::generated_headers::Random;
use crate::naive::{Plain, Tx, TxIn, TxOut};
use blockmill_bitcoin::Hash;
use blockmill_bitcoin::params::Params;
use blockmill_hashes::sha256d;
use std::collections::VecDeque;

/// What each transaction pays.
pub const FEE: u64 = 1_000;
/// Blocks after which a coinbase is spent.
const MATURITY: u32 = 100;
/// A script that anybody satisfies.
const TRUE: [u8; 1] = [0x51];

/// How a coin is locked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lock {
    /// By the script itself.
    Plain,
    /// By the script's hash.
    Script,
    /// By the script's hash, with the script in the witness.
    Witness,
}

/// A coin that can be spent.
#[derive(Clone, Debug)]
pub struct Coin {
    pub outpoint: Vec<u8>,
    pub value: u64,
    pub lock: Lock,
}

/// The output script of a lock of `script`.
pub fn locked(lock: Lock, script: &[u8]) -> Vec<u8> {
    match lock {
        Lock::Plain => script.to_vec(),
        Lock::Script => {
            let hash =
                <ripemd::Ripemd160 as ripemd::Digest>::digest(blockmill_hashes::sha256(script));
            [&[0xa9, 20][..], &hash, &[0x87]].concat()
        }
        Lock::Witness => [&[0, 32][..], &blockmill_hashes::sha256(script)].concat(),
    }
}

/// The input that spends `coin`, which anybody may spend.
pub fn spend(coin: &Coin, sequence: u32) -> TxIn {
    let script = if coin.lock == Lock::Script { vec![1, TRUE[0]] } else { vec![] };
    let witness = if coin.lock == Lock::Witness { vec![TRUE.to_vec()] } else { vec![] };
    TxIn { outpoint: coin.outpoint.clone(), script, sequence, witness }
}

/// A transaction that spends coins and pays `outputs` times the same.
pub fn pay(coins: &[Coin], outputs: usize) -> Tx {
    let sum: u64 = coins.iter().map(|coin| coin.value).sum();
    let value = ((sum - FEE) / outputs as u64) as i64;
    let output = |at: usize| {
        let lock = [Lock::Plain, Lock::Witness, Lock::Script][at % 3];
        TxOut { value, script: locked(lock, &TRUE) }
    };
    let inputs = coins.iter().map(|coin| spend(coin, u32::MAX)).collect();
    let mut outputs: Vec<_> = (0..outputs).map(output).collect();
    outputs[0].value += (sum - FEE) as i64 % outputs.len() as i64;
    Tx { version: 2, inputs, outputs, lock_time: 0 }
}

/// The id of a transaction.
pub fn txid(transaction: &Tx) -> Hash {
    sha256d(&transaction.encode(false))
}

/// The coins that a transaction makes.
pub fn coins(transaction: &Tx) -> Vec<Coin> {
    let id = txid(transaction);
    let coin = |(vout, output): (u32, &TxOut)| {
        let lock = [Lock::Plain, Lock::Script, Lock::Witness];
        let lock = lock.into_iter().find(|lock| locked(*lock, &TRUE) == output.script)?;
        let outpoint = [&id[..], &vout.to_le_bytes()].concat();
        Some(Coin { outpoint, value: output.value as u64, lock })
    };
    (0..).zip(&transaction.outputs).filter_map(coin).collect()
}

/// A block that has not been mined yet.
#[derive(Clone)]
pub struct Draft {
    pub height: u32,
    pub version: i32,
    pub parent: Hash,
    pub time: u32,
    pub bits: u32,
    /// The coinbase first; its last output is to hold the commitment to witnesses.
    pub transactions: Vec<Tx>,
    /// Does the coinbase commit to the witnesses?
    pub commits: bool,
    /// The commitment is wrong.
    pub wrong_commitment: bool,
    /// The header's merkle root is wrong.
    pub wrong_root: bool,
    /// Number of the last transactions that are repeated without a change of the merkle root.
    pub repeated: usize,
    /// Bytes after the last transaction.
    pub trailing: Vec<u8>,
}

impl Draft {
    /// Commits to the witnesses and the transactions, and mines.
    pub fn seal(mut self) -> Vec<u8> {
        if self.commits {
            let wtxid = |each: &Tx| sha256d(&each.encode(true));
            let others = self.transactions[1..].iter().map(wtxid);
            let root = root(std::iter::once([0; 32]).chain(others).collect());
            let mut hash = sha256d(&[&root[..], &[0; 32]].concat());
            hash[7] ^= u8::from(self.wrong_commitment);
            let script = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &hash].concat();
            self.transactions[0].outputs.push(TxOut { value: 0, script });
        }
        let mut root = root(self.transactions.iter().map(txid).collect());
        root[3] ^= u8::from(self.wrong_root);
        let mut header = self.version.to_le_bytes().to_vec();
        header.extend(self.parent);
        header.extend(root);
        header.extend(self.time.to_le_bytes());
        header.extend(self.bits.to_le_bytes());
        header.extend([0; 4]);
        mine(&mut header);
        let start = self.transactions.len() - self.repeated;
        self.transactions.extend_from_within(start..);
        let mut raw = Plain { header, transactions: self.transactions }.encode(true);
        raw.extend(self.trailing);
        raw
    }
}

/// Looks for a nonce: every second one is good on regtest. Only the header is changed.
pub fn mine(block: &mut [u8]) {
    for nonce in 0u32.. {
        block[76..80].copy_from_slice(&nonce.to_le_bytes());
        if sha256d(&block[..80])[31] < 0x7f {
            return;
        }
    }
}

/// The merkle root of ids.
pub fn root(mut ids: Vec<Hash>) -> Hash {
    while ids.len() > 1 {
        let pair = |pair: &[Hash]| sha256d(&[pair[0], pair[pair.len() - 1]].concat());
        ids = ids.chunks(2).map(pair).collect();
    }
    ids[0]
}

/// A chain that grows.
#[derive(Clone)]
pub struct Maker {
    pub params: Params,
    /// All blocks, the genesis block first.
    pub blocks: Vec<Vec<u8>>,
    /// Coins that can be spent now.
    pub pool: Vec<Coin>,
    /// The coinbase's coins that cannot be spent yet, of the last 100 blocks.
    pub unripe: VecDeque<Coin>,
    random: Random,
    time: u32,
}

impl Maker {
    /// The genesis block only.
    pub fn new(params: &Params, seed: u64) -> Self {
        Self {
            params: params.clone(),
            blocks: vec![params.genesis.clone()],
            pool: vec![],
            unripe: VecDeque::new(),
            random: Random::new(seed),
            time: 1_296_688_602,
        }
    }

    /// A chain of so many blocks after the genesis block.
    pub fn of(params: &Params, seed: u64, blocks: u32) -> Self {
        let mut maker = Self::new(params, seed);
        maker.extend(blocks);
        maker
    }

    /// The height of the next block.
    pub fn next(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// A branch of this chain whose blocks differ.
    pub fn branch(&self, seed: u64) -> Self {
        Self { random: Random::new(seed), ..self.clone() }
    }

    /// The next block: spends of random coins, up to six transactions.
    pub fn draft(&mut self) -> Draft {
        let mut transactions = vec![];
        for _ in 0..self.random.below(6).min(self.pool.len()) {
            let inputs = 1 + self.random.below(3).min(self.pool.len() - 1);
            let spent: Vec<Coin> = (0..inputs).map(|_| self.take_coin()).collect();
            if spent.iter().map(|coin| coin.value).sum::<u64>() < 100_000 {
                continue;
            }
            let transaction = pay(&spent, 1 + self.random.below(20));
            // some are spent in the same block
            self.pool.extend(coins(&transaction));
            transactions.push(transaction);
        }
        self.draft_of(transactions)
    }

    /// A coin out of the pool.
    pub fn take_coin(&mut self) -> Coin {
        let at = self.random.below(self.pool.len());
        self.pool.swap_remove(at)
    }

    /// The next block with these transactions after the coinbase.
    pub fn draft_of(&mut self, transactions: Vec<Tx>) -> Draft {
        let height = self.next();
        let fees = FEE * transactions.len() as u64;
        let value = (self.params.subsidy(height).to_sat() + fees) as i64;
        let [a, b, ..] = height.to_le_bytes();
        let start = match height {
            1..=16 => vec![0x50 + a],
            17..=0x7f => vec![1, a],
            _ => vec![2, a, b],
        };
        let script = [&start[..], &[8], &self.random.next_u64().to_le_bytes()].concat();
        let input = TxIn {
            outpoint: [&[0; 32][..], &[255; 4]].concat(),
            script,
            sequence: u32::MAX,
            witness: vec![vec![0; 32]],
        };
        let outputs = vec![TxOut { value, script: locked(Lock::Plain, &TRUE) }];
        let coinbase = Tx { version: 2, inputs: vec![input], outputs, lock_time: 0 };
        Draft {
            height,
            version: 0x2000_0000,
            parent: sha256d(&self.blocks[height as usize - 1][..80]),
            time: self.time + 600,
            bits: 0x207f_ffff,
            transactions: [vec![coinbase], transactions].concat(),
            commits: true,
            wrong_commitment: false,
            wrong_root: false,
            repeated: 0,
            trailing: vec![],
        }
    }

    /// Mines the next block.
    pub fn push(&mut self, draft: Draft) {
        self.time = draft.time;
        let raw = draft.seal();
        let id = match Plain::decode(&raw) {
            Some(plain) => coins(&plain.transactions[0]),
            None => vec![],
        };
        // a coinbase that is changed may make no coin that can be spent
        self.unripe.extend(id.into_iter().take(1));
        if self.unripe.len() >= MATURITY as usize {
            self.pool.extend(self.unripe.pop_front());
        }
        self.blocks.push(raw);
    }

    /// Mines so many blocks.
    pub fn extend(&mut self, count: u32) {
        for _ in 0..count {
            let draft = self.draft();
            self.push(draft);
        }
    }
}
