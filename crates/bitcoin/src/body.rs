//! The level `bodies`: the rules of transactions that need no coins.
//!
//! The rules and their order are those of Bitcoin Core's CheckBlock and ContextualCheckBlock, so a
//! block that breaks several rules is reported with the same one.

pub mod locks;
pub mod merkle;
pub(crate) mod reader;
pub mod sigops;
pub mod transactions;

use crate::body::locks::is_final;
use crate::body::merkle::Merkle;
use crate::body::sigops::{LEGACY_COST, MAX_SIGOP_COST};
use crate::body::transactions::{MAX_STRIPPED_BYTES, Repeats, is_coinbase};
use crate::header::Header;
use crate::params::{MAX_BLOCK_WEIGHT, Rules};
use crate::rule::Violation;
use crate::types::Block;
use crate::{Hash, Rule};
use blockmill_hashes::ManySha256;
use blockmill_verdict::Reversed;

/// Minimum length of an output script with a commitment.
const LEAST_COMMITMENT: usize = 38;
/// Prefix of a commitment: OP_RETURN, a push of 36 bytes, a marker of four bytes.
const COMMITMENT: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];

/// Checks bodies. Keeps its memory for the next blocks.
#[derive(Clone, Debug)]
pub struct Bodies {
    merkle: Merkle,
    repeats: Repeats,
}

/// The result of the check of a body that connecting needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The cost of the signature checks in the block's own scripts.
    pub legacy_sigop_cost: u32,
}

impl Bodies {
    /// Creates an instance for any blocks.
    #[must_use]
    pub fn new(hasher: ManySha256) -> Self {
        Self { merkle: Merkle::new(hasher), repeats: Repeats::default() }
    }

    /// Checks a decoded block by its `rules`. `median_time_past` is that of its parent.
    ///
    /// # Errors
    /// Returns the first rule that is broken.
    pub fn check(
        &mut self,
        block: &Block,
        rules: &Rules,
        median_time_past: u32,
    ) -> Result<Checked, Violation> {
        self.check_merkle_root(block)?;
        check_length(block)?;
        check_coinbases(block)?;
        for index in 0..block.transactions.len() {
            transactions::check(block, index, &mut self.repeats)?;
        }
        let checked = check_sigops(block)?;
        let time = if rules.csv { median_time_past } else { block.time() };
        check_lock_times(block, rules.height, time)?;
        if rules.bip34 {
            check_height(block, rules.height)?;
        }
        self.check_witnesses(block, rules.segwit)?;
        check_weight(block)?;
        Ok(checked)
    }

    fn check_merkle_root(&mut self, block: &Block) -> Result<(), Violation> {
        let root = self.merkle.root(&block.txids);
        let stated = block.stated_merkle_root();
        if root.hash != stated {
            return Err(Violation::new(Rule::MerkleRoot, Reversed(&stated), Reversed(&root.hash)));
        }
        if root.repeated {
            let (expected, found) = ("different transactions", "repeated ones");
            return Err(Violation::new(Rule::RepeatedTransactions, expected, found));
        }
        Ok(())
    }

    /// Checks the commitment to the witnesses, if `segwit` is in force and the coinbase has one.
    /// Otherwise there must be no witnesses.
    fn check_witnesses(&mut self, block: &Block, segwit: bool) -> Result<(), Violation> {
        let commitment = witness_commitment(block).filter(|_| segwit);
        let Some(stated) = commitment else {
            return match block.transactions.iter().position(|each| each.has_witness) {
                None => Ok(()),
                Some(index) => {
                    let (rule, expected) = (Rule::UnexpectedWitness, "no witness");
                    let found = "one without a commitment";
                    Err(Violation::of_transaction(rule, index, expected, found))
                }
            };
        };
        let input = &block.inputs_of(&block.transactions[0])[0];
        let mut items = block.witness(input);
        let nonce = items.next().and_then(|item| <&Hash>::try_from(item).ok());
        let Some(nonce) = nonce.filter(|_| items.next().is_none()) else {
            let count = block.witness(input).count();
            let (rule, expected) = (Rule::WitnessNonce, "one item of 32 bytes");
            let found = format_args!("{count} items in {} bytes", input.witness.len());
            return Err(Violation::of_transaction(rule, 0, expected, found));
        };
        let root = self.merkle.root(&block.wtxids).hash;
        let found = blockmill_hashes::sha256d([root, *nonce].as_flattened());
        if found != stated {
            return Err(Violation::new(
                Rule::WitnessCommitment,
                Reversed(&stated),
                Reversed(&found),
            ));
        }
        Ok(())
    }
}

fn check_length(block: &Block) -> Result<(), Violation> {
    let count = block.transactions.len();
    if count == 0 || count > MAX_STRIPPED_BYTES {
        let expected = format_args!("1 to {MAX_STRIPPED_BYTES} transactions");
        return Err(Violation::new(Rule::BlockLength, expected, count));
    }
    let length = block.stripped_size();
    if length > MAX_STRIPPED_BYTES {
        let expected = format_args!("at most {MAX_STRIPPED_BYTES} bytes without witnesses");
        return Err(Violation::new(Rule::BlockLength, expected, length));
    }
    Ok(())
}

fn check_coinbases(block: &Block) -> Result<(), Violation> {
    for (index, transaction) in block.transactions.iter().enumerate() {
        match (index, is_coinbase(block, transaction)) {
            (0, true) | (1.., false) => {}
            (0, false) => {
                let (expected, found) = ("a coinbase", "another transaction");
                return Err(Violation::of_transaction(Rule::CoinbaseMissing, 0, expected, found));
            }
            (1.., true) => {
                let (rule, found) = (Rule::CoinbaseMultiple, "a coinbase");
                return Err(Violation::of_transaction(rule, index, "no coinbase", found));
            }
        }
    }
    Ok(())
}

fn check_sigops(block: &Block) -> Result<Checked, Violation> {
    let counts = block.transactions.iter().map(|each| sigops::legacy(block, each));
    let legacy_sigop_cost = LEGACY_COST * counts.sum::<u32>();
    if legacy_sigop_cost > MAX_SIGOP_COST {
        let expected = format_args!("a cost of at most {MAX_SIGOP_COST}");
        return Err(Violation::new(Rule::SigopCost, expected, legacy_sigop_cost));
    }
    Ok(Checked { legacy_sigop_cost })
}

fn check_lock_times(block: &Block, height: u32, time: u32) -> Result<(), Violation> {
    for (index, transaction) in block.transactions.iter().enumerate() {
        let sequences = block.inputs_of(transaction).iter().map(|input| input.sequence);
        if !is_final(transaction.lock_time, sequences, height, time) {
            let expected = format_args!("a lock time before height {height} or time {time}");
            let found = transaction.lock_time;
            return Err(Violation::of_transaction(Rule::LockTime, index, expected, found));
        }
    }
    Ok(())
}

fn check_height(block: &Block, height: u32) -> Result<(), Violation> {
    let (bytes, length) = pushed_height(height);
    let script = block.inputs[0].script.slice(&block.raw);
    if !script.starts_with(&bytes[..length]) {
        let expected = format_args!("a script that begins with {:02x?}", &bytes[..length]);
        let found = format_args!("{:02x?}", &script[..script.len().min(length)]);
        return Err(Violation::of_transaction(Rule::CoinbaseHeight, 0, expected, found));
    }
    Ok(())
}

/// The height that the coinbase states, if BIP34 requires it (`from` that height on).
pub(crate) fn announced_height(block: &Block, from: u32) -> Option<u32> {
    let header = block.raw.first_chunk().map(Header)?;
    let script = block.inputs.first()?.script.slice(&block.raw);
    let (first, rest) = script.split_first()?;
    let height = match *first {
        small @ 0x51..=0x60 => u32::from(small - 0x50),
        length @ 1..=4 => {
            let bytes = rest.get(..usize::from(length))?.iter().rev();
            bytes.fold(0, |sum, byte| sum << 8 | u32::from(*byte))
        }
        _ => return None,
    };
    let (bytes, length) = pushed_height(height);
    let is_meant = script.starts_with(&bytes[..length]) && header.version() >= 2;
    (is_meant && height >= from).then_some(height)
}

/// The shortest instruction that pushes a height, and its length. Numbers are little-endian, with
/// the sign in the highest bit.
fn pushed_height(height: u32) -> ([u8; 6], usize) {
    let [a, b, c, d] = height.to_le_bytes();
    match height {
        0 => ([0; 6], 1),
        1..=16 => ([0x50 + a, 0, 0, 0, 0, 0], 1),
        17..=0x7f => ([1, a, 0, 0, 0, 0], 2),
        0x80..=0x7fff => ([2, a, b, 0, 0, 0], 3),
        0x8000..=0x7f_ffff => ([3, a, b, c, 0, 0], 4),
        0x80_0000..=0x7fff_ffff => ([4, a, b, c, d, 0], 5),
        _ => ([5, a, b, c, d, 0], 6),
    }
}

/// The commitment in the last output of the coinbase that has one.
fn witness_commitment(block: &Block) -> Option<Hash> {
    let coinbase = block.transactions.first()?;
    let scripts = block.outputs_of(coinbase).iter().map(|output| output.script.slice(&block.raw));
    let found = scripts
        .rev()
        .find(|script| script.len() >= LEAST_COMMITMENT && script.starts_with(&COMMITMENT))?;
    found[COMMITMENT.len()..].first_chunk().copied()
}

fn check_weight(block: &Block) -> Result<(), Violation> {
    let weight = block.weight();
    if weight as u64 > MAX_BLOCK_WEIGHT {
        let expected = format_args!("at most {MAX_BLOCK_WEIGHT}");
        return Err(Violation::new(Rule::Weight, expected, weight));
    }
    Ok(())
}
