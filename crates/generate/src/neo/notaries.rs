//! Deposits in the contract Notary, and notary-assisted transactions.

use super::draft::{Draft, GAS, NOTARY_ASSISTED, Who};
use super::mixture::simple;
use super::participants::{NOTARY_NODE, Participants};
use super::script::{Value, call, payment};
use crate::random::Random;
use blockmill_neo::body::rules::NOTARY;
use blockmill_neo::execute::contract::native_hash;
use blockmill_neo::execute::native::deposit_of;
use blockmill_neo::state::State;
use blockmill_neo::types::Scopes;
use std::collections::HashMap;

/// System and network fee of a transaction that a deposit pays for.
const ASSISTED: i64 = GAS;

/// The deposits so far.
#[derive(Default)]
pub struct Notaries {
    /// Accounts with a deposit, unless its transaction failed.
    depositors: Vec<usize>,
    /// What the current block has spent of deposits.
    taken: HashMap<usize, i64>,
}

impl Notaries {
    /// Begins a block: nothing is spent yet.
    pub fn begin_block(&mut self) {
        self.taken.clear();
    }

    /// A deposit, its extension, or its withdrawal.
    pub fn deposit(
        &mut self,
        random: &mut Random,
        participants: &Participants,
        from: usize,
        height: u32,
    ) -> Draft {
        let own = participants.hash(from);
        let until = i64::from(height) + 2 + random.below(40) as i64;
        match random.below(4) {
            0 => {
                let values = [Value::Bytes(&own), Value::Integer(until)];
                simple(from, &NOTARY.0, "lockDepositUntil", &values, GAS / 2)
            }
            1 => {
                let values = [Value::Bytes(&own), Value::Bytes(&own)];
                simple(from, &NOTARY.0, "withdraw", &values, GAS / 2)
            }
            _ => {
                // sometimes for another account
                let other = (random.below(5) == 0).then(|| participants.any(random));
                let owner = participants.hash(other.unwrap_or(from));
                self.depositors.push(other.unwrap_or(from));
                let to = if other.is_some() { Value::Bytes(&owner) } else { Value::Null };
                let data = Value::Array(vec![to, Value::Integer(until)]);
                let values = payment(&own, &NOTARY.0, 2 * GAS, data);
                let script = call(&native_hash("GasToken"), "transfer", &values, true);
                Draft::new(from, script, GAS / 2)
            }
        }
    }

    /// A notary-assisted transaction: Notary is the second signer, or pays from the deposit of the
    /// second signer if that suffices.
    pub fn assisted(
        &mut self,
        random: &mut Random,
        participants: &Participants,
        state: &State,
        height: u32,
    ) -> Draft {
        let keys = random.below(4) as u8;
        let notary = (Who::Notary(NOTARY_NODE), Scopes::NONE);
        let (amount, to) =
            (random.below(1_000) as i64, participants.hash(participants.any(random)));
        let payer = self.payer(random, participants, state);
        let from = payer.unwrap_or_else(|| participants.any(random));
        let own = participants.hash(from);
        let values = payment(&own, &to, amount, Value::Null);
        let script = call(&native_hash("GasToken"), "transfer", &values, true);
        let mut draft = Draft::new(from, script, GAS * 3 / 20);
        match payer {
            None => draft.signers.push(notary),
            Some(_) => {
                draft.signers.insert(0, notary);
                draft.network_fee = Some(ASSISTED - draft.system_fee);
            }
        }
        if keys == 0 {
            // like a fallback transaction
            let mut conflicts = vec![0x21; 33];
            random.fill(&mut conflicts[1..]);
            let not_before = [&[0x20][..], &(height - 1).to_le_bytes()].concat();
            draft = draft.attribute(conflicts).attribute(not_before);
        }
        draft.attribute(vec![NOTARY_ASSISTED, keys])
    }

    /// An account with a deposit that pays for one more transaction.
    fn payer(
        &mut self,
        random: &mut Random,
        participants: &Participants,
        state: &State,
    ) -> Option<usize> {
        let count = self.depositors.len();
        let place = (count > 0).then(|| random.below(count as u64) as usize)?;
        let payer = self.depositors[place];
        let taken = self.taken.entry(payer).or_default();
        match deposit_of(state, &participants.hash(payer)) >= (*taken + ASSISTED).into() {
            true => {
                *taken += ASSISTED;
                Some(payer)
            }
            false => {
                self.depositors.swap_remove(place);
                None
            }
        }
    }
}
