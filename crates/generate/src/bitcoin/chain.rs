//! Builds blocks: coinbase, roots, proof of work.

use super::coins::Coin;
use super::mixture::OutputKind;
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

/// Initial subsidy in satoshis, and the halving interval (regtest).
const SUBSIDY: u64 = 5_000_000_000;
const HALVING: u32 = 150;

/// Seconds between two blocks are 1 to this many: 600 on average, as on the main network.
const SPACING: u64 = 1199;

/// 2025-01-01: the latest time of a block, because a block from the future is rejected.
const LATEST: u32 = 1_735_689_600;

/// Limit of seconds to the next block: [`SPACING`] for some 600,000 blocks, then a small part of
/// the remaining time, and finally one second.
fn spacing(time: u32) -> u64 {
    let left = u64::from(LATEST.saturating_sub(time));
    (left >> 16).clamp(1, SPACING)
}

/// The tip of the chain or of a branch.
#[derive(Clone, Copy, Debug)]
pub struct Tip {
    pub hash: BlockHash,
    pub height: u32,
    pub time: u32,
}

/// The parameters of a block.
pub struct Content<'a> {
    pub signed: &'a [Signed],
    /// The fees of the transactions in satoshis.
    pub fees: u64,
    /// Padding bytes in an OP_RETURN output of the coinbase.
    pub padding: usize,
}

/// A block, the new tip, and the coin of its coinbase.
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub tip: Tip,
    pub coinbase: Coin,
}

impl Tip {
    /// The genesis block and its tip.
    pub fn genesis() -> (Vec<u8>, Self) {
        let block: Block = rust_bitcoin::constants::genesis_block(rust_bitcoin::Network::Regtest);
        let tip = Self { hash: block.block_hash(), height: 0, time: block.header.time };
        (serialize(&block), tip)
    }

    /// Builds the next block.
    pub fn extend(
        &self,
        wallet: &Wallet,
        random: &mut Random,
        content: &Content,
    ) -> Result<Sealed> {
        let height = self.height + 1;
        let kind = OutputKind::ALL[random.below(OutputKind::USUAL as u64) as usize];
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

/// A single push of random bytes, so that none of them counts as an operation.
fn padding(len: usize, random: &mut Random) -> Result<ScriptBuf> {
    let mut script = vec![0x6a, 0x4e];
    script.extend(u32::try_from(len)?.to_le_bytes());
    let data = script.len();
    script.resize(data + len, 0);
    random.fill(&mut script[data..]);
    Ok(ScriptBuf::from_bytes(script))
}

/// Searches a nonce: every second one is valid on regtest.
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
