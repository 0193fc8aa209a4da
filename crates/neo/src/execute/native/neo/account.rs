//! Accounts that hold NEO, and their votes.

use num_bigint::{BigInt, Sign};

use super::{ID, candidates, change_turnout, key_of, rewards};
use crate::{
    execute::{
        encode::Encoder,
        engine::Engine,
        native::{
            gas,
            token::{account_key, mint},
        },
        vm::{Fault, Heap, Item, serialize},
    },
    types::PublicKey,
};

/// The stored state of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its NEO.
    pub balance: BigInt,
    /// The block of the last GAS distribution.
    pub height: u32,
    /// The candidate that it votes for.
    pub vote: Option<PublicKey>,
    /// The voters' reward of that candidate at the last distribution.
    pub last_reward: BigInt,
}

impl Account {
    /// Decodes the stored state; no bytes are an empty account.
    ///
    /// # Errors
    ///
    /// Returns a fault if the bytes are not an account.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, bytes)?;
        let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
        let [balance, height, vote, last_reward, ..] = list else {
            return Err(Fault::Rule("invalid account"));
        };
        Ok(Self {
            balance: balance.to_integer()?.to_big(),
            height: u32::try_from(height.to_i64()?).map_err(|_| Fault::Range("height"))?,
            vote: match vote {
                Item::Null => None,
                key => Some(key.to_array()?),
            },
            last_reward: last_reward.to_integer()?.to_big(),
        })
    }

    /// Encodes the state.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let out = Encoder::default().structure(4).integer(&self.balance).number(self.height);
        let vote = self.vote.as_ref().map(<[u8; 33]>::as_slice);
        out.option(vote).integer(&self.last_reward).done()
    }
}

/// `getAccountState`.
pub(super) fn get_state(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    match engine.state.get(ID, &account_key(&account)) {
        Some(value) if !value.is_empty() => {
            serialize::deserialize(&mut engine.vm.heap, &value).map(Some)
        }
        _ => Ok(Some(Item::Null)),
    }
}

/// `vote`.
pub(super) fn vote(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    let key = match &arguments[1] {
        Item::Null => None,
        item => Some(key_of(item)?),
    };
    if engine.check_witness(&account) != Ok(true) {
        return Ok(Some(Item::Bool(false)));
    }
    match change_vote(engine, &account, key) {
        Err(Refused::Fault(fault)) => Err(fault),
        Err(Refused::Rule) => Ok(Some(Item::Bool(false))),
        Ok(None) => Ok(Some(Item::Bool(true))),
        Ok(Some(amount)) => {
            let then = Box::new(|engine: &mut Engine<'_>| engine.finish_native(Item::Bool(true)));
            mint(engine, gas::ID, account, amount, true, then)?;
            Ok(None)
        }
    }
}

/// Why a vote did not change.
pub(in crate::execute::native) enum Refused {
    /// A voting rule is broken; earlier changes stay.
    Rule,
    /// The execution fails.
    Fault(Fault),
}

/// Changes the vote of an account. Returns the GAS to distribute, if there is any.
pub(in crate::execute::native) fn change_vote(
    engine: &mut Engine<'_>,
    account: &[u8; 20],
    vote: Option<PublicKey>,
) -> Result<Option<BigInt>, Refused> {
    let rule = |_| Refused::Rule;
    let key = account_key(account);
    let stored = engine.state.get(ID, &key).ok_or(Refused::Rule)?;
    let mut state = Account::decode(&stored).map_err(rule)?;
    // a value that was read counts as written, as in the reference client
    engine.state.put(ID, &key, stored);
    if let Some(vote) = &vote {
        let key = candidates::key(vote);
        let stored = engine.state.get(ID, &key).ok_or(Refused::Rule)?;
        let candidate = candidates::Candidate::decode(&stored).map_err(Refused::Fault)?;
        engine.state.put(ID, &key, stored);
        if !candidate.registered {
            return Err(Refused::Rule);
        }
    }
    if state.vote.is_none() != vote.is_none() {
        let amount = if vote.is_some() { state.balance.clone() } else { -&state.balance };
        change_turnout(engine, &amount).map_err(rule)?;
    }
    let gas = rewards::distribute(engine, &mut state).map_err(rule)?;
    candidates::change_votes(engine, state.vote.as_ref(), &-&state.balance, false).map_err(rule)?;
    if let Some(vote) = &vote {
        state.last_reward = rewards::latest(engine.state, vote);
    }
    let old = std::mem::replace(&mut state.vote, vote);
    candidates::change_votes(engine, state.vote.as_ref(), &state.balance, true).map_err(rule)?;
    if vote.is_none() {
        state.last_reward = BigInt::ZERO;
    }
    engine.state.put(ID, &key, state.encode());
    let item = |key: Option<PublicKey>| key.map_or(Item::Null, |key| Item::bytes(&key));
    let amount = Item::integer(state.balance).map_err(Refused::Fault)?;
    let fields = vec![Item::bytes(account), item(old), item(vote), amount];
    let this = engine.native_hash(ID);
    engine.notify(this, "Vote", fields).map_err(Refused::Fault)?;
    Ok(gas)
}

/// Whether an amount is zero.
pub(super) fn is_zero(amount: &BigInt) -> bool {
    amount.sign() == Sign::NoSign
}
