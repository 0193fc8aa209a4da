//! A block as execution takes it: everything that can be made of it before its turn.

use super::transaction::PreparedTransaction;
use crate::body::BodyView;
use crate::body::signing;
use crate::error::Violation;
use crate::header::{Header, HeaderView, blob_base_fee};
use crate::params::{BlobParams, ChainSpec, CodeLimits, Fork};
use crate::transaction_rules::TransactionRules;
use crate::{Address, Hash, U256};

/// What contracts see of their block.
#[derive(Clone, Debug)]
pub struct BlockTerms {
    /// The rules.
    pub fork: Fork,
    /// Its number.
    pub number: u64,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// Its time, in seconds since 1970.
    pub timestamp: u64,
    /// The most gas of its transactions together.
    pub gas_limit: u64,
    /// Wei for a unit of gas that nobody gets; 0 before London.
    pub base_fee: U256,
    /// Under proof of work.
    pub difficulty: U256,
    /// Under proof of stake the random number of the beacon chain (EIP-4399).
    pub mix_hash: Hash,
    /// Excess of blob gas, and the price that follows from it, in wei; none before Cancun. A price
    /// beyond 256 bits is the largest number, which nobody can pay.
    pub blob_fee: Option<(u64, U256)>,
    /// Most bytes of code.
    pub code: CodeLimits,
}

impl BlockTerms {
    /// Those of a block with this header.
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
            code: CodeLimits::default(),
        }
    }
}

/// A block whose header and body keep every rule that needs no state.
#[derive(Clone, Debug)]
pub struct PreparedBlock {
    /// Its hash.
    pub hash: Hash,
    /// Its header.
    pub header: Header,
    /// What contracts see of it.
    pub terms: BlockTerms,
    /// Its transactions.
    pub transactions: Vec<PreparedTransaction>,
    /// Number and beneficiary of each ommer.
    pub ommers: Vec<(u64, Address)>,
    /// Receiver and gwei of each withdrawal.
    pub withdrawals: Vec<(Address, u64)>,
}

impl PreparedBlock {
    /// A block that was verified to level bodies, with the senders of its transactions.
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
        Self::of(spec, hash, header, body, transactions.collect())
    }

    /// The same with its transactions as execution takes them.
    pub fn of(
        spec: &ChainSpec,
        hash: Hash,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
        transactions: Vec<PreparedTransaction>,
    ) -> Self {
        let rules = spec.rules_of(header);
        let withdrawals = body.withdrawals().into_iter().flatten();
        Self {
            hash,
            header: header.to_owned(),
            terms: BlockTerms {
                code: spec.code_size.at(header.number, header.timestamp),
                ..BlockTerms::new(rules.fork, rules.blobs, header)
            },
            transactions,
            ommers: body.ommers().map(|ommer| (ommer.number, *ommer.beneficiary)).collect(),
            withdrawals: withdrawals.map(|w| (*w.address, w.amount)).collect(),
        }
    }

    /// The same of one block alone: verifies the body and the transactions too, and recovers the
    /// senders one by one.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn verified(
        spec: &ChainSpec,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
    ) -> Result<Self, Violation> {
        let fork_rules = spec.rules_of(header);
        let fork = fork_rules.fork;
        crate::body::verify_body(fork, header, body, &mut blockmill_trie::RootBuilder::new())?;
        let terms = crate::transaction_rules::block::BlockTerms::new(header, fork_rules.blobs);
        let rules = TransactionRules::of(spec, fork, header);
        let mut senders = Vec::with_capacity(body.transaction_count());
        for (index, tx) in body.transactions().enumerate() {
            let sender = crate::transaction_rules::verify_transaction(&tx, &rules)
                .and_then(|sender| terms.verify(&tx).map(|()| sender))
                .map_err(|error| Violation::from(error).in_transaction(index))?;
            senders.push(sender);
        }
        Ok(Self::new(spec, header.hash(), header, body, &senders))
    }
}
