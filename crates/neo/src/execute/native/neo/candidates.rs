//! Candidates for the committee.

use num_bigint::{BigInt, Sign};

use super::{ID, account::is_zero, key_of, register_price, rewards};
use crate::{
    execute::{
        encode::Encoder,
        engine::Engine,
        interop::{
            iterator::{Iteration, options},
            keys,
        },
        native::{gas, policy, token::burn},
        vm::{Fault, Heap, Item, serialize},
    },
    params::Hardfork,
    state::{Direction, State, StorageKey, Value},
    types::{PublicKey, point},
};

const CANDIDATE: u8 = 33;
/// Limit of candidates that `getCandidates` returns.
const MAX_CANDIDATES: usize = 256;

/// The stored state of a candidate.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub registered: bool,
    pub votes: BigInt,
}

impl Candidate {
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, bytes)?;
        let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
        let [registered, votes, ..] = list else { return Err(Fault::Rule("invalid candidate")) };
        Ok(Self { registered: registered.to_bool()?, votes: votes.to_integer()?.to_big() })
    }

    fn encode(&self) -> Vec<u8> {
        Encoder::default().structure(2).boolean(self.registered).integer(&self.votes).done()
    }
}

/// The key of a candidate.
pub(super) fn key(candidate: &PublicKey) -> [u8; 34] {
    let mut key = [CANDIDATE; 34];
    key[1..].copy_from_slice(candidate);
    key
}

/// Reports whether a candidate can be voted for.
fn is_electable(state: &State, key: &StorageKey, value: &Value) -> Option<(PublicKey, BigInt)> {
    let public_key: PublicKey = key.key().get(1..)?.try_into().ok()?;
    let candidate = Candidate::decode(value).ok().filter(|candidate| candidate.registered)?;
    let blocked = policy::is_blocked(state, &keys::account(&public_key));
    (!blocked).then_some((public_key, candidate.votes))
}

/// The candidates that can be voted for, by their keys, `max` of them.
pub(super) fn all(state: &State, max: usize) -> Vec<(PublicKey, BigInt)> {
    let stored = state.find_all(ID, &[CANDIDATE], Direction::Forwards);
    let electable = stored.filter_map(|(key, value)| is_electable(state, &key, &value));
    electable.take(max).collect()
}

/// The votes of an eligible candidate; `None` for any other key.
pub(super) fn votes_for(state: &State, candidate: &PublicKey) -> BigInt {
    let place = key(candidate);
    let stored = StorageKey::new(ID, &place).zip(state.get(ID, &place));
    let electable = stored.and_then(|(key, value)| is_electable(state, &key, &value));
    electable.map_or(BigInt::ZERO, |(_, votes)| votes)
}

/// `getCandidates`.
pub(super) fn get_candidates(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let mut items = Vec::new();
    for (key, votes) in all(engine.state, MAX_CANDIDATES) {
        let fields = vec![Item::bytes(&key), Item::integer(votes)?];
        items.push(engine.vm.heap.new_struct(fields));
    }
    Ok(Some(engine.vm.heap.new_array(items)))
}

/// `getAllCandidates`.
pub(super) fn get_all(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let find = engine.state.find(ID, &[CANDIDATE], &[], Direction::Forwards);
    let electable = |engine: &Engine<'_>, key: &StorageKey, value: &Value| {
        is_electable(engine.state, key, value).is_some()
    };
    let wanted = options::REMOVE_PREFIX | options::DESERIALIZE | options::PICK_1;
    Ok(Some(Iteration::storage(find, 1, wanted, Some(electable))))
}

/// The votes of a candidate; -1 where it is none.
pub(super) fn votes_of(state: &State, candidate: &PublicKey) -> BigInt {
    let stored = state.get(ID, &key(candidate));
    let candidate = stored.and_then(|value| Candidate::decode(&value).ok());
    let candidate = candidate.filter(|candidate| candidate.registered);
    candidate.map_or(BigInt::from(-1), |candidate| candidate.votes)
}

/// `getCandidateVote`.
pub(super) fn get_vote(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let candidate = key_of(&arguments[0])?;
    Item::integer(votes_of(engine.state, &candidate)).map(Some)
}

/// Changes the votes of a candidate, if it exists. `new`: the votes come from a new voter, so a
/// candidate without votes stays.
pub(super) fn change_votes(
    engine: &mut Engine<'_>,
    candidate: Option<&PublicKey>,
    amount: &BigInt,
    new: bool,
) -> Result<(), Fault> {
    let Some(public_key) = candidate else { return Ok(()) };
    let key = key(public_key);
    let stored = engine.state.get(ID, &key).ok_or(Fault::Rule("invalid validator"))?;
    let mut candidate = Candidate::decode(&stored)?;
    candidate.votes += amount;
    if new || !drop_if_unused(engine, public_key, &candidate) {
        engine.state.put(ID, &key, candidate.encode());
    }
    Ok(())
}

/// Removes an unregistered candidate without votes.
fn drop_if_unused(engine: &mut Engine<'_>, public_key: &PublicKey, candidate: &Candidate) -> bool {
    let unused = !candidate.registered && is_zero(&candidate.votes);
    if unused {
        engine.state.delete(ID, &key(public_key));
        engine.state.delete(ID, &rewards::key(public_key));
    }
    unused
}

fn emit(
    engine: &mut Engine<'_>,
    public_key: &PublicKey,
    candidate: &Candidate,
) -> Result<(), Fault> {
    let votes = Item::integer(candidate.votes.clone())?;
    let fields = vec![Item::bytes(public_key), Item::Bool(candidate.registered), votes];
    let this = engine.native_hash(ID);
    engine.notify(this, "CandidateStateChanged", fields)
}

/// `registerCandidate`.
pub(super) fn register(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let public_key = key_of(&arguments[0])?;
    if !engine.is_active(Hardfork::Echidna) && !engine.check_witness(&keys::account(&public_key))? {
        return Ok(Some(Item::Bool(false)));
    }
    let price = register_price(engine);
    engine.charge_gas(price.unsigned_abs())?;
    add(engine, &public_key)?;
    Ok(Some(Item::Bool(true)))
}

fn add(engine: &mut Engine<'_>, public_key: &PublicKey) -> Result<(), Fault> {
    let key = key(public_key);
    let stored = engine.state.get(ID, &key);
    let mut candidate = match stored {
        Some(value) => Candidate::decode(&value)?,
        None => Candidate::default(),
    };
    let is_new = !candidate.registered;
    candidate.registered = true;
    engine.state.put(ID, &key, candidate.encode());
    if is_new { emit(engine, public_key, &candidate) } else { Ok(()) }
}

/// `onNEP17Payment`: GAS that pays for a candidate.
pub(super) fn on_payment(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let caller = engine.vm.calling_hash();
    arguments[0].to_array::<20>()?;
    let amount = arguments[1].to_integer()?;
    let public_key = key_of(&arguments[2])?;
    if caller != engine.native_hash(gas::ID) {
        return Err(Fault::Rule("only GAS is accepted"));
    }
    if amount.to_i64() != Some(register_price(engine)) {
        return Err(Fault::Rule("incorrect GAS amount for registration"));
    }
    if !engine.check_witness(&keys::account(&public_key))? {
        return Err(Fault::Rule("not witnessed by the key owner"));
    }
    add(engine, &public_key)?;
    let this = engine.native_hash(ID);
    burn(engine, this, amount.to_big())?;
    Ok(Some(Item::Null))
}

/// `unregisterCandidate`.
pub(super) fn unregister(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let public_key = key_of(&arguments[0])?;
    if !engine.check_witness(&keys::account(&public_key))? {
        return Ok(Some(Item::Bool(false)));
    }
    let key = key(&public_key);
    let Some(stored) = engine.state.get(ID, &key) else { return Ok(Some(Item::Bool(true))) };
    let mut candidate = Candidate::decode(&stored)?;
    let was = std::mem::replace(&mut candidate.registered, false);
    if !drop_if_unused(engine, &public_key, &candidate) {
        engine.state.put(ID, &key, candidate.encode());
    }
    if was {
        emit(engine, &public_key, &candidate)?;
    }
    Ok(Some(Item::Bool(true)))
}

/// Sorts candidates for an election: most votes first, then by their points.
pub(super) fn sort(list: &mut [(PublicKey, BigInt)]) {
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| point::compare(&a.0, &b.0)));
}

/// Whether votes count.
pub(super) fn is_positive(votes: &BigInt) -> bool {
    votes.sign() == Sign::Plus
}
