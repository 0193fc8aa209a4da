//! Plans the contents of each block. One thread makes all choices before anything is signed, so the
//! chain does not depend on the number of signing threads.

use super::coins::{Coin, Coins};
use super::mixture::{self, OutputKind};
use super::sign::Signed;
use super::wallet::KEYS;
use crate::random::Random;
use rust_bitcoin::Txid;
use rust_bitcoin::hashes::Hash;
use rust_bitcoin::sighash::EcdsaSighashType as Covers;
use std::collections::VecDeque;

/// Blocks after which a coinbase can be spent (consensus).
const MATURITY: usize = 100;

/// Limit of the length of a chain of dependent transactions in a block.
const ROW: u32 = 3;

/// Limits of the outputs of a transaction that splits a coin, while there are few coins. More are
/// used if the requested number of coins needs it.
const SPLIT: u64 = 1000;
const USUAL_SPLIT: u64 = 20;

/// Approximate number of outputs that fit a block.
const ROOM: u64 = 25_000;

/// Upper bound of the weight of a transaction: 199 inputs and 199 outputs, or a split coin, of the
/// heaviest kinds.
const LARGEST: u64 = 310_000;

/// Coins below this many satoshis are not split any further.
const DUST: u64 = 600;

/// An unsigned input.
#[derive(Clone, Copy, Debug)]
pub struct Spend {
    /// The coin; its `txid` is unknown if it is created in this block.
    pub coin: Coin,
    /// The transaction of the same block that creates the coin.
    pub parent: Option<usize>,
    pub sequence: u32,
    /// The signature hash type.
    pub covers: Covers,
}

/// An output: a coin, or a seed for the data of an OP_RETURN.
#[derive(Clone, Copy, Debug)]
pub enum Pay {
    To { kind: OutputKind, key: u16, value: u64 },
    Data(u64),
}

/// An unsigned transaction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub version: i32,
    pub lock_time: u32,
    pub spends: Vec<Spend>,
    pub pays: Vec<Pay>,
    pub fee: u64,
    /// Length of the longest chain of parents in the block.
    pub rank: u32,
}

/// Limits of a block and of the chain.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Inputs of the whole chain.
    pub inputs: u64,
    /// Inputs of a block.
    pub block_inputs: u64,
    /// Number of coins until which coins are split.
    pub coins: u64,
    /// Weight limit of the transactions of a block, without the coinbase. It also keeps signature
    /// operations below their limit: no generated kind has more than 4 in 170 units of weight.
    pub weight: u64,
}

impl Limits {
    /// Minimum number of outputs of a split, so that half of the inputs create all coins.
    fn least_split(&self) -> u64 {
        self.coins.saturating_mul(2).div_ceil(self.inputs.max(1)).clamp(USUAL_SPLIT, SPLIT)
    }
}

/// Plans the transactions of consecutive blocks.
pub struct Planner {
    limits: Limits,
    random: Random,
    coins: Coins,
    /// Coins to split first, if coins must be split into many.
    rich: Vec<Coin>,
    immature: VecDeque<Coin>,
    /// The coinbase that the next block can spend, and does.
    mature: Option<Coin>,
    spent: u64,
}

/// The block under construction.
#[derive(Default)]
struct Draught {
    drafts: Vec<Draft>,
    /// Outputs of drafts that later drafts may spend.
    fresh: Vec<(usize, Coin)>,
    inputs: u64,
    weight: u64,
}

impl Draught {
    fn push(&mut self, draft: Draft) {
        if draft.rank + 1 < ROW {
            let at = self.drafts.len();
            self.fresh.extend(coins(&draft, Txid::all_zeros()).map(|coin| (at, coin)));
        }
        self.inputs += draft.spends.len() as u64;
        self.weight += weight(&draft);
        self.drafts.push(draft);
    }
}

impl Planner {
    pub fn new(limits: Limits, seed: u64) -> Self {
        Self {
            limits,
            random: Random(seed ^ 0x706c_616e),
            coins: Coins::default(),
            rich: vec![],
            immature: VecDeque::new(),
            mature: None,
            spent: 0,
        }
    }

    /// Inputs planned so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Number of unspent coins.
    pub fn coins(&self) -> u64 {
        self.coins.count() + self.rich.len() as u64
    }

    /// Chooses the transactions of the block at `height`.
    pub fn block(&mut self, height: u32) -> Vec<Draft> {
        let mut block = Draught::default();
        // split every coin a little instead of a few of them into dust
        let missing = self.limits.coins.saturating_sub(self.coins());
        let least = self.limits.least_split();
        let split = (missing.min(ROOM) / self.coins().max(1)).clamp(least, SPLIT);
        let mut made = 0;
        loop {
            let room = self.limits.block_inputs - block.inputs;
            let room = room.min(self.limits.inputs - self.spent);
            let few = made < missing;
            let (inputs, outputs) = match self.mature {
                // a pool pays its miners
                Some(_) => (1, if few { SPLIT } else { 100 + self.random.below(100) }),
                None if few => (1, split),
                None => mixture::shape(&mut self.random),
            };
            let spends = self.spends(inputs.min(room), few, &mut block);
            if spends.is_empty() {
                break;
            }
            let draft = self.draft(height, spends, outputs, &block);
            made += outputs;
            self.spent += draft.spends.len() as u64;
            block.push(draft);
            // the largest transaction may not fit
            if block.weight + LARGEST > self.limits.weight {
                break;
            }
        }
        block.drafts
    }

    /// Records the coins of the block that was built from `drafts`.
    pub fn connect(&mut self, drafts: &[Draft], signed: &[Signed], coinbase: Coin) {
        let mut spent: Vec<(usize, u32)> = drafts
            .iter()
            .flat_map(|draft| &draft.spends)
            .filter_map(|spend| Some((spend.parent?, spend.coin.vout)))
            .collect();
        spent.sort_unstable();
        let made = drafts.iter().zip(signed).enumerate().flat_map(|(at, (draft, signed))| {
            let spent = &spent;
            coins(draft, signed.txid)
                .filter(move |coin| spent.binary_search(&(at, coin.vout)).is_err())
        });
        let least = self.limits.least_split();
        let is_rich = |coin: &Coin| least > USUAL_SPLIT && coin.value > 2 * least * DUST;
        let (mut rich, made) = made.partition(is_rich);
        self.rich.append(&mut rich);
        self.immature.push_back(coinbase);
        // the block after this one is the first that may spend what is `MATURITY` deep then
        if self.immature.len() >= MATURITY {
            self.mature = self.immature.pop_front();
        }
        self.coins.push(made);
    }

    /// Chooses the coins of a transaction.
    fn spends(&mut self, count: u64, few: bool, block: &mut Draught) -> Vec<Spend> {
        let random = &mut self.random;
        let mut spends = vec![];
        for _ in 0..count {
            let fresh = !few
                && self.mature.is_none()
                && !block.fresh.is_empty()
                && mixture::in_same_block(random);
            let (parent, coin) = if fresh {
                let at = random.below(block.fresh.len() as u64) as usize;
                let (parent, coin) = block.fresh.swap_remove(at);
                (Some(parent), coin)
            } else {
                let rich = || if few { self.rich.pop() } else { None };
                let coin = self.mature.take().or_else(rich);
                let coin = coin.or_else(|| self.coins.remove_random(random));
                let Some(coin) = coin else { break };
                (None, coin)
            };
            spends.push(Spend { coin, parent, sequence: u32::MAX, covers: Covers::All });
        }
        spends
    }

    fn draft(&mut self, height: u32, spends: Vec<Spend>, outputs: u64, block: &Draught) -> Draft {
        let rank_of = |spend: &Spend| spend.parent.map(|at| block.drafts[at].rank + 1);
        let rank = spends.iter().filter_map(rank_of).max().unwrap_or(0);
        let random = &mut self.random;
        let version = 1 + random.below(2) as i32;
        let mut draft = Draft { version, lock_time: 0, spends, pays: vec![], fee: 0, rank };
        let total: u64 = draft.spends.iter().map(|spend| spend.coin.value).sum();
        // as many outputs as possible without dust
        let outputs = outputs.min(total / DUST).max(1);
        draft.pays = (0..outputs).map(|_| pay(random)).collect();
        // 1 to 20 satoshis for 4 units of weight, at most a tenth of what there is
        draft.fee = (weight(&draft) / 4 * (1 + random.below(20))).min(total / 10);
        share(random, total - draft.fee, &mut draft.pays);
        let locked = random.below(4) == 0;
        if locked {
            draft.lock_time = height - 1;
        }
        for (at, spend) in draft.spends.iter_mut().enumerate() {
            spend.sequence = match random.below(64) {
                // one block after the coin's; coins of the same block are too young for it
                0 if version == 2 && spend.parent.is_none() => 1,
                0..32 => 0xffff_fffd,
                _ if locked => 0xffff_fffe,
                _ => u32::MAX,
            };
            spend.covers = covers(random, at < draft.pays.len());
        }
        draft
    }
}

/// The coins that a transaction creates.
pub fn coins(draft: &Draft, txid: Txid) -> impl Iterator<Item = Coin> {
    draft.pays.iter().zip(0..).filter_map(move |(pay, vout)| match *pay {
        Pay::To { kind, key, value } => Some(Coin { txid, vout, value, kind, key }),
        Pay::Data(_) => None,
    })
}

/// Upper bound of the weight of a transaction.
fn weight(draft: &Draft) -> u64 {
    let spends: u64 = draft.spends.iter().map(|spend| spend.coin.kind.input_weight()).sum();
    let pays = draft.pays.iter().map(|pay| match pay {
        Pay::To { kind, .. } => kind.output_weight(),
        Pay::Data(_) => (9 + 2 + 80) * 4,
    });
    // version, lock time, numbers of inputs and outputs, marker and flag
    (8 + 3 + 3) * 4 + 2 + spends + pays.sum::<u64>()
}

fn pay(random: &mut Random) -> Pay {
    match mixture::output(random) {
        Some(kind) => Pay::To { kind, key: random.below(KEYS as u64) as u16, value: 0 },
        None => Pay::Data(random.draw()),
    }
}

/// Distributes `total` satoshis over the outputs. Each gets from 1/64 to nearly twice the average;
/// the last one gets the rest.
fn share(random: &mut Random, total: u64, pays: &mut [Pay]) {
    // the rest must not become a fee
    if !pays.iter().any(|pay| matches!(pay, Pay::To { .. })) {
        pays[0] = Pay::To { kind: OutputKind::P2wpkh, key: 0, value: 0 };
    }
    let values = pays.iter_mut().filter_map(|pay| match pay {
        Pay::To { value, .. } => Some(value),
        Pay::Data(_) => None,
    });
    let values: Vec<&mut u64> = values.collect();
    let (mut rest, count) = (total, values.len() as u64);
    for (left, value) in (1..=count).rev().zip(values) {
        let part = rest / left;
        *value =
            if left == 1 { rest } else { (part * (1 + random.below(126)) / 64).max(part / 64) };
        rest -= *value;
    }
}

/// Nearly always `ALL`, sometimes another type. `SINGLE` needs an output with the index of the
/// input.
fn covers(random: &mut Random, has_output: bool) -> Covers {
    match random.below(160) {
        0 => Covers::None,
        1 if has_output => Covers::Single,
        2 => Covers::AllPlusAnyoneCanPay,
        3 => Covers::NonePlusAnyoneCanPay,
        4 if has_output => Covers::SinglePlusAnyoneCanPay,
        _ => Covers::All,
    }
}
