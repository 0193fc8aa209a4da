//! A block prepared for execution: everything that needs no state.

use super::evm::recover_authorities;
use super::rewards::block_reward;
use super::transaction::PreparedTransaction;
use crate::body::BodyView;
use crate::body::senders::{KeyBatch, Refused, Senders, Signed};
use crate::body::signing;
use crate::header::rules::author;
use crate::header::{Header, HeaderView, blob_base_fee};
use crate::params::{BlobParams, ChainSpec, CodeLimits, Consensus, Fork};
use crate::rule::Violation;
use crate::transaction_rules::TransactionRules;
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_signatures::Signatures;

/// Fewest transactions of a block for which the lanes are used: their first use in a process takes
/// as long as 100 signatures one at a time.
const IN_LANES: usize = 16;

/// The block environment that contracts see.
#[derive(Clone, Debug)]
pub struct BlockTerms {
    /// The fork.
    pub fork: Fork,
    /// Block number.
    pub number: u64,
    /// Receiver of the fees.
    pub beneficiary: Address,
    /// Timestamp, in seconds since 1970.
    pub timestamp: u64,
    /// Gas limit of the block.
    pub gas_limit: u64,
    /// Burnt wei for each unit of gas; 0 before London.
    pub base_fee: U256,
    /// Difficulty, under proof of work.
    pub difficulty: U256,
    /// Under proof of stake the random number of the beacon chain (EIP-4399).
    pub mix_hash: Hash,
    /// Excess blob gas and the blob base fee in wei; `None` before Cancun. A fee beyond 256 bits is
    /// the largest number, which nobody can pay.
    pub blob_fee: Option<(u64, U256)>,
    /// Limits of code sizes.
    pub code: CodeLimits,
    /// Slot of the beacon chain (EIP-7843); 0 before Amsterdam.
    pub slot: u64,
}

impl BlockTerms {
    /// The environment of a block with this header.
    pub fn new(fork: Fork, blobs: Option<&BlobParams>, header: &HeaderView<'_>) -> Self {
        let blob_fee = header
            .excess_blob_gas
            .zip(blobs)
            .map(|(excess, params)| (excess, blob_base_fee(params, excess).unwrap_or(U256::MAX)));
        Self {
            fork,
            number: header.number,
            beneficiary: *header.beneficiary,
            timestamp: header.timestamp,
            gas_limit: header.gas_limit,
            base_fee: header.base_fee.unwrap_or_default(),
            difficulty: header.difficulty,
            mix_hash: *header.mix_hash,
            blob_fee,
            code: CodeLimits::of(fork),
            slot: header.slot_number.unwrap_or_default(),
        }
    }
}

/// A block whose header and body satisfy every rule that needs no state.
#[derive(Clone, Debug)]
pub struct PreparedBlock {
    /// Its hash.
    pub hash: Hash,
    /// Its header.
    pub header: Header,
    /// Its environment.
    pub terms: BlockTerms,
    /// Its transactions.
    pub transactions: Vec<PreparedTransaction>,
    /// Wei that the block creates for its beneficiary, without the part for its ommers.
    pub reward: U256,
    /// Number and beneficiary of each ommer.
    pub ommers: Vec<(u64, Address)>,
    /// Receiver and gwei of each withdrawal.
    pub withdrawals: Vec<(Address, u64)>,
}

impl PreparedBlock {
    /// Prepares a block that was verified to level `bodies`, with the senders of its transactions.
    pub fn new(
        spec: &ChainSpec,
        hash: Hash,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
        senders: &[Address],
    ) -> Self {
        let fork = spec.rules_of(header).fork;
        let transactions = body.transactions().zip(senders).map(|(tx, sender)| {
            let form = signing::verify_v(&tx, fork, spec.chain_id);
            let protected = form.ok().and_then(|form| form.protected);
            PreparedTransaction::new(&tx, *sender, protected)
        });
        Self::from_parts(spec, hash, header, body, transactions.collect())
    }

    /// Prepares a block with prepared transactions.
    pub fn from_parts(
        spec: &ChainSpec,
        hash: Hash,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
        transactions: Vec<PreparedTransaction>,
    ) -> Self {
        let rules = spec.rules_of(header);
        let withdrawals = body.withdrawals().into_iter().flatten();
        let reward = match spec.consensus {
            Consensus::Clique(_) => U256::ZERO,
            Consensus::Bft(bft) => bft.reward,
            Consensus::Work | Consensus::FixedDifficulty(_) => block_reward(rules.fork),
        };
        Self {
            hash,
            header: header.to_owned(),
            terms: BlockTerms {
                code: spec.code_size.at(rules.fork, header.number, header.timestamp),
                // a block without signer was refused before
                beneficiary: author(spec, header).unwrap_or(*header.beneficiary),
                ..BlockTerms::new(rules.fork, rules.blobs, header)
            },
            transactions,
            reward,
            ommers: body.ommers().map(|ommer| (ommer.number, *ommer.beneficiary)).collect(),
            withdrawals: withdrawals.map(|w| (*w.address, w.amount)).collect(),
        }
    }

    /// Calls `each` with accounts that the machine may read without an access (EIP-7928): those
    /// that transactions name, the beneficiary and receivers of withdrawals.
    pub fn names(&self, each: &mut dyn FnMut(&Address)) {
        each(&self.terms.beneficiary);
        self.withdrawals.iter().for_each(|(receiver, _)| each(receiver));
        self.transactions.iter().for_each(|tx| tx.names(|address, _| each(address)));
    }

    /// Prepares a single block: verifies its body and transactions, and recovers the senders and
    /// the signers of delegations in the lanes of the CPU.
    ///
    /// # Errors
    /// The [`Violation`] of a rule.
    pub fn verified(
        spec: &ChainSpec,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
    ) -> Result<Self, Violation> {
        let fork_rules = spec.rules_of(header);
        let fork = fork_rules.fork;
        author(spec, header)?;
        crate::body::verify_body(fork, header, body, &mut blockmill_trie::RootBuilder::new())?;
        let terms = crate::transaction_rules::block::BlockTerms::new(header, fork_rules.blobs);
        let rules = TransactionRules::of(spec, fork, header);
        let mut prepared = Vec::with_capacity(body.transaction_count());
        let mut add = |signed: &Signed<'_>, sender| {
            let Signed { transaction, form } = signed;
            prepared.push(PreparedTransaction::new(transaction, sender, form.protected));
        };
        let few = body.transaction_count() < IN_LANES;
        let signatures = if few { Signatures::scalar() } else { Signatures::detect() };
        let mut keys = KeyBatch::default();
        let mut senders = Senders::new(signatures, ManyKeccak::detect(), &mut keys);
        senders.each = Some(&mut add);
        let violation =
            |refused: Refused| Violation::from(refused.error).in_transaction(refused.index);
        let refused = senders.add(0, body.transactions(), &rules, &terms).err();
        // a transaction that waits comes before the refused one
        senders.recover().map_err(violation)?;
        if let Some(refused) = refused {
            return Err(violation(refused));
        }
        drop(senders);
        recover_authorities(signatures, prepared.iter_mut());
        Ok(Self::from_parts(spec, header.hash(), header, body, prepared))
    }
}
