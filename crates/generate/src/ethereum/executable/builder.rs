//! Builds blocks: header fields follow from the parent and the execution of the block.

use super::Generated;
use super::draft::{Draft, Fees, sign};
use super::genesis::{FIRST_TIME, GAS_LIMIT};
use crate::ethereum::signers::Signers;
use crate::random::Random;
use anyhow::{Context, Result, ensure};
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::execute::Replay;
use blockmill_ethereum::header::{
    AtGenesis, BLOB_GAS, EMPTY_ROOT, Header, blob_base_fee, next_base_fee, next_excess_blob_gas,
};
use blockmill_ethereum::params::{BlobParams, ChainSpec, Fork};
use blockmill_ethereum::state::Tries;
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_rlp::ethereum::Withdrawal;
use blockmill_rlp::{Encode, OnePass, Write};

/// The body of a genesis block: two empty lists, and a third one if its header commits to
/// withdrawals.
pub fn genesis_body(header: &Header) -> &'static [u8] {
    match header.withdrawals_root {
        None => &[0xc2, 0xc0, 0xc0],
        Some(_) => &[0xc3, 0xc0, 0xc0, 0xc0],
    }
}

/// Seconds between blocks.
const STEP: u64 = 13;

/// Seconds of a slot.
const SLOT: u64 = 12;

/// The time of a block.
pub fn time_of(number: u64) -> u64 {
    FIRST_TIME + number * STEP
}
/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;

/// A block under construction.
pub struct Block {
    /// The header, without the fields that depend on the content.
    pub header: Header,
    pub fork: Fork,
    /// Blob limits, from Cancun on.
    pub blobs: Option<BlobParams>,
    /// The fees of its transactions.
    pub fees: Fees,
    /// Receiver and gwei of each withdrawal; from Shanghai on.
    pub withdrawals: Vec<(Address, u64)>,
    /// An ommer, under proof of work.
    pub ommer: Option<Header>,
}

/// A chain that grows block by block.
pub struct Builder<'c> {
    spec: &'c ChainSpec,
    replay: Replay<'c>,
    random: Random,
    parent: Header,
    parent_raw: Vec<u8>,
    /// Withdrawals so far.
    withdrawals: u64,
    generated: Generated,
}

impl<'c> Builder<'c> {
    /// Begins with the genesis block.
    pub fn new(spec: &'c ChainSpec, random: Random) -> Result<Self> {
        let replay = Replay::from_genesis(spec, Tries::arena()?)?;
        let genesis = &spec.genesis;
        let (parent, parent_raw) = (genesis.header.clone(), genesis.raw.clone());
        let generated = Generated {
            last: 0,
            hash: genesis.hash,
            state_root: parent.state_root,
            transactions: 0,
            gas: 0,
        };
        Ok(Self { spec, replay, random, parent, parent_raw, withdrawals: 0, generated })
    }

    /// The chain so far.
    pub fn generated(&self) -> Generated {
        self.generated
    }

    /// The last header.
    pub fn last(&self) -> &Header {
        &self.parent
    }

    /// The nonce of an account after the last block.
    pub fn nonce(&self, address: &Address) -> u64 {
        self.replay.state.account_at(address).map_or(0, |account| account.nonce)
    }

    /// The next block, empty.
    pub fn begin(&mut self) -> Block {
        let parent = self.parent.view(&self.parent_raw);
        let number = self.parent.number + 1;
        let timestamp = time_of(number);
        let rules = self.spec.rules_at(number, timestamp);
        let fork = rules.fork;
        let mut header = Header {
            parent_hash: self.generated.hash,
            number,
            timestamp,
            gas_limit: GAS_LIMIT,
            extra_data: b"blockmill".to_vec(),
            ..Header::default()
        };
        // each field of the fork has a value; those that mean something get theirs below
        let london = fork >= Fork::London;
        let Ok(()) = header.edit_later(&mut AtGenesis { fork, london });
        header.beneficiary = [0xc0; 20];
        header.beneficiary[19] = self.random.below(16) as u8;
        self.random.fill(&mut header.mix_hash);
        if fork < Fork::Paris {
            // `None` means more than 256 bits, which this chain never reaches
            let next = rules.difficulty.next(timestamp, &Parent::from(&parent));
            header.difficulty = next.unwrap_or(U256::MAX);
        }
        header.base_fee = self
            .parent
            .base_fee
            .and_then(|fee| next_base_fee(fee, self.parent.gas_used, self.parent.gas_limit));
        // slots of twelve seconds (EIP-7843), of which some have no block
        header.slot_number = (fork >= Fork::Amsterdam).then(|| (timestamp - FIRST_TIME) / SLOT);
        if let Some(blobs) = rules.blobs {
            header.excess_blob_gas =
                Some(u64::try_from(next_excess_blob_gas(fork, blobs, &parent)).unwrap_or(u64::MAX));
            let mut root = [0; 32];
            self.random.fill(&mut root);
            header.parent_beacon_root = Some(root);
        }
        let (fee, gwei) = (header.base_fee.unwrap_or_default(), U256::from(GWEI));
        let blob_fee = header.excess_blob_gas.zip(rules.blobs);
        let blob_fee = blob_fee.and_then(|(excess, blobs)| blob_base_fee(blobs, excess));
        let fees = Fees {
            max: fee + fee + gwei,
            priority: gwei / U256::from(10),
            max_blob: blob_fee.unwrap_or_default() + gwei,
        };
        Block { header, fork, blobs: rules.blobs.copied(), fees, withdrawals: vec![], ommer: None }
    }

    /// Signs the transactions and executes the block. Returns its header, body and access list;
    /// the list is empty before Amsterdam.
    pub fn finish(
        &mut self,
        block: Block,
        drafts: &[Draft],
        signers: &Signers,
    ) -> Result<[Vec<u8>; 3]> {
        let Block { mut header, fork, blobs, withdrawals, ommer, .. } = block;
        let signed = sign(drafts, signers);
        ensure!(signed.len() == drafts.len(), "a thread that signs did not come to its end");
        let ommers = list(ommer.iter().map(Encode::encode));
        header.ommers_hash = blockmill_hashes::keccak256(&ommers);
        let mut parts = vec![list(signed.iter().cloned()), ommers];
        if fork >= Fork::Shanghai {
            let paid: Vec<_> = withdrawals.iter().map(|of| self.withdrawal(of)).collect();
            header.withdrawals_root = Some(ordered_root(&paid));
            parts.push(list(paid.into_iter()));
        }
        if blobs.is_some() {
            let count: usize = drafts.iter().map(|draft| draft.blob_hashes.len()).sum();
            header.blob_gas_used = Some(count as u64 * BLOB_GAS);
        }
        let body = list(parts.into_iter());
        let canonical = signed.iter().map(|raw| canonical(raw)).collect::<Result<Vec<_>>>()?;
        header.transactions_root = blockmill_trie::ordered_root(canonical.into_iter());
        let senders: Vec<_> = drafts.iter().map(|draft| signers.address(draft.account)).collect();
        let list = self
            .replay
            .produce(&mut header, &body, &senders)
            .with_context(|| format!("block {}", header.number))?;
        let raw = header.encode();
        self.generated = Generated {
            last: header.number,
            hash: blockmill_hashes::keccak256(&raw),
            state_root: header.state_root,
            transactions: self.generated.transactions + drafts.len() as u64,
            gas: self.generated.gas + header.gas_used,
        };
        (self.parent, self.parent_raw) = (header, raw.clone());
        Ok([raw, body, list.unwrap_or_default()])
    }

    fn withdrawal(&mut self, (address, amount): &(Address, u64)) -> Vec<u8> {
        let index = self.withdrawals;
        self.withdrawals += 1;
        Withdrawal { index, validator: index / 3, address, amount: *amount }.encode()
    }
}

/// An RLP list of encoded items.
fn list(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let items = items.collect::<Vec<_>>();
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    out.into_bytes()
}

/// The value of a transaction in the transactions trie, from its encoding in a list.
fn canonical(raw: &[u8]) -> Result<&[u8]> {
    match raw.first() {
        Some(0xc0..) => Ok(raw),
        _ => Ok(blockmill_rlp::Reader::new(raw).bytes()?),
    }
}

fn ordered_root(items: &[Vec<u8>]) -> Hash {
    match items {
        [] => EMPTY_ROOT,
        items => blockmill_trie::ordered_root(items.iter().map(Vec::as_slice)),
    }
}
