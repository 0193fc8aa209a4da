//! Rules between the transactions of a block (`mempool.Pool`).

use crate::{
    body::rules::NOTARY,
    execute::native::{self, gas},
    rule::{Rule, Violation},
    state::State,
    types::{Attribute, Block, Transaction, UInt160, UInt256},
};
use hashbrown::HashMap;
use num_bigint::BigInt;

/// The payer: an account, or Notary with the owner of the deposit.
type Payer = (UInt160, Option<UInt160>);

/// The balance of a payer, and the fees of its transactions in the block so far.
#[derive(Clone, Copy)]
struct Purse {
    balance: u128,
    fees: u128,
}

/// The admitted transactions of a block. A conflicting transaction that pays more displaces an
/// admitted one.
pub(super) struct Pool<'a> {
    block: &'a Block,
    admitted: HashMap<UInt256, usize>,
    /// Transactions by the hashes that their `Conflicts` attributes name.
    naming: HashMap<UInt256, Vec<usize>>,
    purses: HashMap<Payer, Purse>,
    /// Oracle responses by request.
    answers: HashMap<u64, usize>,
}

/// System and network fee.
fn fees(transaction: Transaction<'_>) -> u128 {
    let fields = transaction.fields();
    u128::from(fields.system_fee.unsigned_abs()) + u128::from(fields.network_fee.unsigned_abs())
}

fn payer(transaction: Transaction<'_>) -> Payer {
    let sender = transaction.sender();
    let second = transaction.signers().nth(1).map(|signer| signer.account());
    (sender, second.filter(|_| sender == NOTARY))
}

fn purse(state: &State, payer: Payer) -> Purse {
    let balance: BigInt = match payer {
        (_, Some(owner)) => native::deposit_of(state, &owner.0),
        (account, None) => gas::balance_of(state, &account.0),
    };
    Purse { balance: u128::try_from(&balance).unwrap_or(0), fees: 0 }
}

impl<'a> Pool<'a> {
    pub fn new(block: &'a Block) -> Self {
        Self {
            block,
            admitted: HashMap::with_capacity(block.transactions.len()),
            naming: HashMap::new(),
            purses: HashMap::new(),
            answers: HashMap::new(),
        }
    }

    /// Adds the transaction of this index (`Pool.Add`).
    pub fn add(&mut self, state: &State, index: usize) -> Result<(), Violation> {
        let transaction = self.block.transaction(index);
        let displaced = self.conflicts(transaction)?;
        self.funds(state, transaction, &displaced)?;
        self.answer(index)?;
        displaced.into_iter().for_each(|other| self.remove(other));
        let purse = self.purses.entry(payer(transaction));
        purse.and_modify(|purse| purse.fees += fees(transaction));
        self.admitted.insert(transaction.hash(), index);
        for attribute in transaction.attributes() {
            if let Attribute::Conflicts(other) = attribute {
                self.naming.entry(other).or_default().push(index);
            }
        }
        Ok(())
    }

    /// The transactions that this one displaces. Its network fee must exceed the sum of those that
    /// its sender signed or that it names itself (`Pool.checkTxConflicts`).
    fn conflicts(&self, transaction: Transaction<'_>) -> Result<Vec<usize>, Violation> {
        let author = match payer(transaction) {
            (_, Some(owner)) => owner,
            (sender, None) => sender,
        };
        let mut displaced = Vec::new();
        let mut others: u128 = 0;
        let fee = |other: Transaction<'_>| u128::from(other.fields().network_fee.unsigned_abs());
        for index in self.naming.get(&transaction.hash()).into_iter().flatten() {
            let other = self.block.transaction(*index);
            if other.signers().any(|signer| signer.account() == author) {
                others += fee(other);
            }
            displaced.push(*index);
        }
        for attribute in transaction.attributes() {
            let Attribute::Conflicts(hash) = attribute else { continue };
            let Some(index) = self.admitted.get(&hash) else { continue };
            let other = self.block.transaction(*index);
            let signs = |account| transaction.signers().any(|own| own.account() == account);
            if !other.signers().any(|signer| signs(signer.account())) {
                let expected = format!("a signer of transaction {index}, which it names");
                return Err(Violation::new(Rule::ConflictInBlock, expected, "none"));
            }
            others += fee(other);
            displaced.push(*index);
        }
        let own = fee(transaction);
        match others == 0 || own > others {
            true => Ok(displaced),
            false => {
                let expected = format!(
                    "a network fee above {others}, the sum of the fees of conflicting transactions"
                );
                Err(Violation::new(Rule::ConflictInBlock, expected, own))
            }
        }
    }

    /// The payer can pay the fees (`ErrInsufficientFunds`), including those of its other
    /// transactions in the block (`ErrConflict`).
    fn funds(
        &mut self,
        state: &State,
        transaction: Transaction<'_>,
        displaced: &[usize],
    ) -> Result<(), Violation> {
        let payer_of = payer(transaction);
        let purse = *self.purses.entry(payer_of).or_insert_with(|| purse(state, payer_of));
        let own = fees(transaction);
        if own > purse.balance {
            let expected = format!("fees of at most {}", purse.balance);
            return Err(Violation::new(Rule::Funds, expected, own));
        }
        let displaced = displaced.iter().map(|index| self.block.transaction(*index));
        let freed = displaced.filter(|other| payer(*other) == payer_of).map(fees).sum();
        let all = purse.fees.saturating_sub(freed) + own;
        match all <= purse.balance {
            true => Ok(()),
            false => {
                let expected = format!("fees of at most {} in the block", purse.balance);
                Err(Violation::new(Rule::Funds, expected, all))
            }
        }
    }

    /// Of two responses to a request, the one with the higher network fee is admitted
    /// (`ErrOracleResponse`).
    fn answer(&mut self, index: usize) -> Result<(), Violation> {
        let transaction = self.block.transaction(index);
        let id = transaction.attributes().find_map(|attribute| match attribute {
            Attribute::OracleResponse { id, .. } => Some(id),
            _ => None,
        });
        let Some(id) = id else { return Ok(()) };
        if let Some(other) = self.answers.get(&id).copied() {
            let other_fee = self.block.transaction(other).fields().network_fee;
            let own = transaction.fields().network_fee;
            if other_fee >= own {
                let expected = format!("a network fee above {other_fee} of transaction {other}");
                return Err(Violation::new(Rule::OracleResponse, expected, own));
            }
            self.remove(other);
        }
        self.answers.insert(id, index);
        Ok(())
    }

    fn remove(&mut self, index: usize) {
        let transaction = self.block.transaction(index);
        if self.admitted.remove(&transaction.hash()).is_none() {
            return;
        }
        if let Some(purse) = self.purses.get_mut(&payer(transaction)) {
            purse.fees = purse.fees.saturating_sub(fees(transaction));
        }
        self.naming.values_mut().for_each(|naming| naming.retain(|other| *other != index));
        self.answers.retain(|_, other| *other != index);
    }
}
