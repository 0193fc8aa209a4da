//! Who signed the transactions of a chunk: keys recovered in batches, across transactions and
//! across blocks.
//!
//! The costly part of a signature is the same for all, so transactions wait until there are enough
//! of them for the lanes of [`Signatures`]. The first fault, by block and transaction, is reported,
//! however many transactions wait together: a fault that is found while transactions wait gives
//! way to one that recovering them finds.
//!
//! Signers of code delegations (EIP-7702) are not recovered here: a delegation that nobody signed
//! does not make its transaction invalid, it only has no effect, which is the business of execution
//! (`execute/evm/authorities.rs`).

mod settings;

use crate::body::signing::{SignatureError, SignatureForm, address_of, address_of_hash};
use crate::body::transaction_rules::block::BlockTerms;
use crate::body::transaction_rules::{
    TransactionError, TransactionRules, is_sender_gas_open, verify_fields, verify_form,
    verify_sender_gas,
};
use crate::body::transactions::Transaction;
use crate::fault::Cause;
use crate::params::Fork;
use crate::rule::Violation;
use crate::{Address, Hash};
use blockmill_hashes::ManyKeccak;
use blockmill_signatures::{RecoverError, Recovery, Signatures};
pub use settings::{SenderBatches, SignatureLanes};
use std::time::{Duration, Instant};

/// Transactions that wait for each other: a larger batch makes a signature no cheaper.
pub const BATCH: usize = 256;

/// A transaction and what its `v` says.
#[derive(Clone, Debug)]
pub struct Signed<'a> {
    /// The transaction.
    pub transaction: Transaction<'a>,
    /// What [`verify_form`] gave for it.
    pub form: SignatureForm,
}

/// The public keys that signed transactions, many at once. Keeps its memory.
#[derive(Default)]
pub struct KeyBatch {
    digests: Vec<Hash>,
    signatures: Vec<Recovery>,
    keys: Vec<Option<[u8; 64]>>,
}

impl KeyBatch {
    /// The keys that signed, x and y, in order; [`super::signing::address_of`] gives their senders.
    /// `None` where the signature is of no key.
    pub fn recover(
        &mut self,
        signed: &[Signed<'_>],
        signatures: &Signatures,
        hasher: &ManyKeccak,
    ) -> &[Option<[u8; 64]>] {
        self.digests.resize(signed.len(), [0; 32]);
        let messages = signed.iter().map(|signed| {
            let Signed { transaction, form } = signed;
            transaction.signing(form.protected)
        });
        blockmill_rlp::hash_each(messages, hasher, &mut self.digests);
        self.signatures.clear();
        self.signatures.extend(signed.iter().zip(&self.digests).map(|(signed, digest)| Recovery {
            digest: *digest,
            r: signed.transaction.r.to_be_bytes(),
            s: signed.transaction.s.to_be_bytes(),
            recovery_id: signed.form.y_parity.into(),
        }));
        self.keys.resize(signed.len(), None);
        signatures.recover(&self.signatures, &mut self.keys);
        &self.keys
    }
}

/// A transaction that is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The index of its block in the chunk.
    pub block: usize,
    /// Its index in the block.
    pub index: usize,
    /// Why.
    pub error: TransactionError,
}

impl Refused {
    /// As the cause of the block's fault.
    pub(crate) fn cause(self) -> Cause {
        Cause::Rule(Violation::from(self.error).in_transaction(self.index))
    }
}

/// Who takes transactions with their senders.
pub type Take<'k, 'a> = dyn FnMut(&Signed<'a>, Address) + 'k;

/// Collects the transactions of one chunk, block by block, and recovers their senders.
pub struct Senders<'k, 'a> {
    signatures: Signatures,
    hasher: ManyKeccak,
    keys: &'k mut KeyBatch,
    waiting: Vec<Signed<'a>>,
    /// Gets each transaction with its sender, in order, where somebody wants them.
    pub each: Option<&'k mut Take<'k, 'a>>,
    /// The place of each that waits.
    places: Vec<Place>,
    /// Senders that were recovered.
    pub recovered: u64,
    /// Time it took to hash what was signed and to recover the keys.
    pub busy: Duration,
}

impl<'k, 'a> Senders<'k, 'a> {
    /// None so far; `keys` lends its memory.
    pub fn new(signatures: Signatures, hasher: ManyKeccak, keys: &'k mut KeyBatch) -> Self {
        Self {
            signatures,
            hasher,
            keys,
            waiting: vec![],
            each: None,
            places: vec![],
            recovered: 0,
            busy: Duration::ZERO,
        }
    }

    /// Adds the transactions of a block, up to the first that breaks a rule. When one is refused,
    /// those that wait come before it, and may still be refused themselves.
    ///
    /// A transaction's faults have the order of
    /// [`super::transaction_rules::verify_transaction`]: so one with a fault other than that of its
    /// signature is recovered before it is refused.
    pub fn add(
        &mut self,
        block: usize,
        transactions: impl Iterator<Item = Transaction<'a>>,
        rules: &TransactionRules,
        terms: &BlockTerms,
    ) -> Result<(), Refused> {
        for (index, transaction) in transactions.enumerate() {
            let refused = |error| Refused { block, index, error };
            let form = verify_form(&transaction, rules).map_err(refused)?;
            let fields =
                verify_fields(&transaction, rules).and_then(|()| terms.verify(&transaction));
            let open_gas = is_sender_gas_open(&transaction, rules.fork).then_some(rules.fork);
            self.waiting.push(Signed { transaction, form });
            self.places.push(Place { block, index, open_gas });
            if self.waiting.len() == BATCH || fields.is_err() {
                self.recover()?;
            }
            fields.map_err(refused)?;
        }
        Ok(())
    }

    /// Recovers the senders of all that wait; the first that has none, or whose sender owes more
    /// gas than its limit, is refused.
    pub fn recover(&mut self) -> Result<(), Refused> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let keys = self.keys.recover(&self.waiting, &self.signatures, &self.hasher);
        let signed = self.waiting.iter().zip(&self.places).zip(keys);
        let refused = signed.enumerate().find_map(|(i, ((signed, place), key))| {
            let error = place.verify(signed, key.as_ref()).err()?;
            Some((i, Refused { block: place.block, index: place.index, error }))
        });
        let good = refused.as_ref().map_or(keys.len(), |(i, _)| *i);
        let mut hashes = vec![];
        if self.each.is_some() {
            let good = &keys[..good];
            let keys: Vec<&[u8]> = good.iter().flatten().map(|key| &key[..]).collect();
            hashes.resize(keys.len(), [0; 32]);
            self.hasher.keccak256(&keys, &mut hashes);
        }
        self.busy += start.elapsed();
        if let Some(each) = &mut self.each {
            for (signed, hash) in self.waiting.iter().zip(&hashes) {
                each(signed, address_of_hash(hash));
            }
        }
        self.recovered += good as u64;
        self.waiting.clear();
        self.places.clear();
        refused.map_or(Ok(()), |(_, refused)| Err(refused))
    }
}

/// Where a transaction that waits is.
#[derive(Clone, Copy)]
struct Place {
    /// The index of its block in the chunk.
    block: usize,
    /// Its index in the block.
    index: usize,
    /// The fork, if the gas that is due depends on the sender.
    open_gas: Option<Fork>,
}

impl Place {
    /// Verifies what depends on the key that signed.
    fn verify(&self, signed: &Signed<'_>, key: Option<&[u8; 64]>) -> Result<(), TransactionError> {
        // r and s are within the group, so there is one reason left
        let key = key.ok_or(SignatureError::NoSigner(RecoverError::NoKey))?;
        match self.open_gas {
            None => Ok(()),
            Some(fork) => verify_sender_gas(&signed.transaction, fork, &address_of(key)),
        }
    }
}
