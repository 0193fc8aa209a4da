//! Blocks: the coinbase, the roots, the proof of work.

use super::coins::Coin;
use super::mixture::Kind;
use super::sign::Signed;
use super::wallet::{KEYS, Wallet};
use crate::random::Random;
use anyhow::{Context, Result};
use rust_bitcoin::absolute::LockTime;
use rust_bitcoin::block::{Block, Header, Version};
use rust_bitcoin::consensus::Encodable;
use rust_bitcoin::consensus::encode::{VarInt, serialize};
use rust_bitcoin::hashes::Hash;
use rust_bitcoin::merkle_tree::calculate_root_inline;
use rust_bitcoin::script::{Builder, ScriptBuf};
use rust_bitcoin::{
    Amount, BlockHash, OutPoint, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Txid, Witness,
    WitnessMerkleNode, Wtxid, transaction,
};

/// Satoshis of a coinbase at first, and blocks after which they are halved (regtest).
const SUBSIDY: u64 = 5_000_000_000;
const HALVING: u32 = 150;

/// Seconds between two blocks are 1 to this many: 600 on average, as on the main network.
const SPACING: u64 = 1199;

/// 2025-01-01: no block is later, however long the chain, as a block from the future is refused.
const LATEST: u32 = 1_735_689_600;

/// The most seconds to the next block: [`SPACING`] for some 600,000 blocks, then a small part of
/// the time that is left, and one second in the end.
fn spacing(time: u32) -> u64 {
    let left = u64::from(LATEST.saturating_sub(time));
    (left >> 16).clamp(1, SPACING)
}

/// The end of the chain, or of a branch: what the next block is built on.
#[derive(Clone, Copy, Debug)]
pub struct Tip {
    pub hash: BlockHash,
    pub height: u32,
    pub time: u32,
}

/// What goes into a block, besides the transactions.
pub struct Content<'a> {
    pub signed: &'a [Signed],
    /// Satoshis that the transactions leave to the coinbase.
    pub fees: u64,
    /// Bytes that fill the block; they stand behind an OP_RETURN of the coinbase.
    pub padding: usize,
}

/// A block, the tip that it makes, and the coin that its coinbase makes.
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub tip: Tip,
    pub coinbase: Coin,
}

impl Tip {
    /// The genesis block and the tip that it is.
    pub fn genesis() -> (Vec<u8>, Self) {
        let block: Block = rust_bitcoin::constants::genesis_block(rust_bitcoin::Network::Regtest);
        let tip = Self { hash: block.block_hash(), height: 0, time: block.header.time };
        (serialize(&block), tip)
    }

    /// Makes the block after this one.
    pub fn extend(
        &self,
        wallet: &Wallet,
        random: &mut Random,
        content: &Content,
    ) -> Result<Sealed> {
        let height = self.height + 1;
        let kind = Kind::ALL[random.below(Kind::USUAL as u64) as usize];
        let key = random.below(KEYS as u64) as u16;
        let value = SUBSIDY.checked_shr(height / HALVING).unwrap_or(0) + content.fees;
        let script = wallet.script(kind, usize::from(key));
        let coinbase = coinbase(height, script, value, content, random)?;
        let txid = coinbase.compute_txid();
        let ids = content.signed.iter().map(|transaction| transaction.txid);
        let mut ids: Vec<Txid> = std::iter::once(txid).chain(ids).collect();
        let root = calculate_root_inline(&mut ids).context("the coinbase has an id")?;
        let time = self.time + 1 + random.below(spacing(self.time)) as u32;
        let header = mine(self.hash, TxMerkleNode::from_raw_hash(root.to_raw_hash()), time)?;

        let size: usize = content.signed.iter().map(|transaction| transaction.bytes.len()).sum();
        let mut bytes = Vec::with_capacity(size + content.padding + 1000);
        header.consensus_encode(&mut bytes)?;
        VarInt::from(content.signed.len() + 1).consensus_encode(&mut bytes)?;
        coinbase.consensus_encode(&mut bytes)?;
        content.signed.iter().for_each(|transaction| bytes.extend(&transaction.bytes));
        let tip = Self { hash: header.block_hash(), height, time };
        Ok(Sealed { bytes, tip, coinbase: Coin { txid, vout: 0, value, kind, key } })
    }
}

/// The first transaction: the height (BIP34), a random number, the witness commitment (BIP141).
fn coinbase(
    height: u32,
    script: &ScriptBuf,
    value: u64,
    content: &Content,
    random: &mut Random,
) -> Result<Transaction> {
    let number = random.draw().to_le_bytes();
    let script_sig = Builder::new().push_int(i64::from(height)).push_slice(number).into_script();
    let reserved = [0; 32];
    // the coinbase counts as zero in the tree of witness ids
    let ids = content.signed.iter().map(|transaction| transaction.wtxid);
    let mut ids: Vec<Wtxid> = std::iter::once(Wtxid::all_zeros()).chain(ids).collect();
    let root = calculate_root_inline(&mut ids).context("the coinbase has an id")?;
    let root = WitnessMerkleNode::from_raw_hash(root.to_raw_hash());
    let commitment = Block::compute_witness_commitment(&root, &reserved);
    let mut marked = vec![0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
    marked.extend(commitment.to_byte_array());

    let nothing = |script_pubkey| TxOut { value: Amount::ZERO, script_pubkey };
    let mut output = vec![TxOut { value: Amount::from_sat(value), script_pubkey: script.clone() }];
    if content.padding > 0 {
        output.push(nothing(padding(content.padding, random)?));
    }
    output.push(nothing(ScriptBuf::from_bytes(marked)));
    Ok(Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig,
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[reserved]),
        }],
        output,
    })
}

/// One push of random bytes, however many, so that none of them counts as an operation.
fn padding(len: usize, random: &mut Random) -> Result<ScriptBuf> {
    let mut script = vec![0x6a, 0x4e];
    script.extend(u32::try_from(len)?.to_le_bytes());
    let data = script.len();
    script.resize(data + len, 0);
    random.fill(&mut script[data..]);
    Ok(ScriptBuf::from_bytes(script))
}

/// Looks for a nonce: every second one is good on regtest.
fn mine(parent: BlockHash, merkle_root: TxMerkleNode, time: u32) -> Result<Header> {
    let bits = rust_bitcoin::Target::MAX_ATTAINABLE_REGTEST.to_compact_lossy();
    let mut header = Header {
        version: Version::from_consensus(0x2000_0000),
        prev_blockhash: parent,
        merkle_root,
        time,
        bits,
        nonce: 0,
    };
    while header.validate_pow(header.target()).is_err() {
        header.nonce = header.nonce.checked_add(1).context("no nonce is good")?;
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_of_a_chain_of_millions_is_from_the_future() {
        const BLOCKS: u32 = 10_000_000;
        let mut random = Random(1);
        let (_, tip) = Tip::genesis();
        let (mut time, mut usual) = (tip.time, 0);
        for height in 1..=BLOCKS {
            usual += u32::from(spacing(time) == SPACING);
            time += 1 + random.below(spacing(time)) as u32;
            assert!(time < LATEST + BLOCKS, "height {height}");
        }
        // the chains that tests and benchmarks know keep their bytes
        assert!(usual > 500_000, "{usual}");
    }
}
