//! The committee and the consensus nodes.

use num_bigint::BigInt;

use super::{
    ID, TOTAL, VOTERS,
    candidates::{self, is_positive},
};
use crate::{
    execute::{
        encode::Encoder,
        engine::Engine,
        interop::keys,
        native::stored_integer,
        vm::{Fault, Heap, Item, serialize},
    },
    params::{Hardfork, Protocol},
    state::State,
    types::PublicKey,
};
use std::sync::Arc;

const COMMITTEE: &[u8] = &[14];
/// The inverse of the share of NEO that must vote: a fifth.
const TURNOUT: u8 = 5;

/// Members with their votes at the election.
pub(super) type Members = Vec<(PublicKey, BigInt)>;

fn encode(members: &Members) -> Vec<u8> {
    let out = Encoder::default();
    let out = out.each(members, |out, (key, votes)| out.structure(2).bytes(key).integer(votes));
    out.done()
}

/// The committee with its votes, in the order of election.
pub(super) fn members(state: &State) -> Result<Arc<Members>, Fault> {
    let stored = state.get(ID, COMMITTEE).ok_or(Fault::Rule("no committee"))?;
    let mut known = state.native_cache().committee.borrow_mut();
    if let Some((value, members)) = &*known
        && *value == stored
    {
        return Ok(Arc::clone(members));
    }
    let members = Arc::new(read(&stored)?);
    *known = Some((stored, Arc::clone(&members)));
    Ok(members)
}

fn read(stored: &[u8]) -> Result<Members, Fault> {
    let mut heap = Heap::default();
    let item = serialize::deserialize(&mut heap, stored)?;
    let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
    let member = |item: &Item| {
        let fields = item.place().map(|place| heap.list(place)).unwrap_or_default();
        let [key, votes, ..] = fields else { return Err(Fault::Rule("invalid committee")) };
        Ok((key.to_array()?, votes.to_integer()?.to_big()))
    };
    list.iter().map(member).collect()
}

/// The committee, in the order of election.
///
/// # Errors
///
/// Returns a fault before the genesis block.
pub fn committee(state: &State) -> Result<Vec<PublicKey>, Fault> {
    Ok(members(state)?.iter().map(|(key, _)| *key).collect())
}

/// The account of the committee.
pub(crate) fn committee_account(state: &State) -> Result<[u8; 20], Fault> {
    keys::majority_account(&committee(state)?)
}

/// The consensus nodes of the block at a height, sorted by key.
///
/// # Errors
///
/// Returns a fault before the genesis block.
pub fn validators(
    state: &State,
    protocol: &Protocol,
    height: u32,
) -> Result<Vec<PublicKey>, Fault> {
    let mut members = committee(state)?;
    members.truncate(protocol.validator_count(height));
    keys::sort(&mut members);
    Ok(members)
}

/// The committee that would be elected now, for the block at a height (`computeCommitteeMembers`):
/// the standby committee while fewer than a fifth of all NEO votes, or there are too few
/// candidates.
pub(super) fn elect(state: &State, protocol: &Protocol, height: u32) -> Members {
    let count = protocol.committee_size(height);
    let voters = stored_integer(state, ID, VOTERS);
    let turnout: BigInt = voters * TURNOUT / TOTAL;
    let standby = || {
        let standby = protocol.standby_committee.iter().take(count);
        standby.map(|key| (*key, candidates::votes_for(state, key))).collect()
    };
    // without enough votes the candidates do not matter
    if !is_positive(&turnout) {
        return standby();
    }
    let mut candidates = candidates::all(state, usize::MAX);
    if candidates.len() < count {
        return standby();
    }
    candidates::sort(&mut candidates);
    candidates.truncate(count);
    candidates
}

/// The committee for the block at `height`, after all earlier blocks.
///
/// # Errors
///
/// Returns a fault before the genesis block.
pub fn next_committee(
    state: &State,
    protocol: &Protocol,
    height: u32,
) -> Result<Vec<PublicKey>, Fault> {
    if !protocol.updates_committee_at(height) {
        return committee(state);
    }
    Ok(elect(state, protocol, height).into_iter().map(|(key, _)| key).collect())
}

/// The committee of the genesis block.
pub(super) fn initialize(engine: &mut Engine<'_>) {
    let protocol = &engine.chain.protocol;
    let size = protocol.committee_size(engine.block.header.index);
    let standby = protocol.standby_committee.iter().take(size);
    let members: Members = standby.map(|key| (*key, BigInt::ZERO)).collect();
    engine.state.put(ID, COMMITTEE, encode(&members));
}

/// Elects a new committee at the end of a term.
pub(super) fn on_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let protocol = &engine.chain.protocol;
    let height = engine.block.header.index;
    if !protocol.updates_committee_at(height) {
        return Ok(());
    }
    let old = members(engine.state)?;
    let elected = elect(engine.state, protocol, height);
    if elected == *old {
        // the value counts as written, as in the reference client
        if let Some(stored) = engine.state.get(ID, COMMITTEE) {
            engine.state.put(ID, COMMITTEE, stored);
        }
        return Ok(());
    }
    engine.state.put(ID, COMMITTEE, encode(&elected));
    let keys = |members: &Members| members.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let (old, new) = (keys(&old), keys(&elected));
    if engine.is_active(Hardfork::Cockatrice) && old != new {
        let old = engine.array_of(&old);
        let new = engine.array_of(&new);
        let this = engine.native_hash(ID);
        engine.notify(this, "CommitteeChanged", vec![old, new])?;
    }
    Ok(())
}

/// `getCommittee`.
pub(super) fn get_committee(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let mut members = committee(engine.state)?;
    keys::sort(&mut members);
    Ok(Some(engine.array_of(&members)))
}

/// `getCommitteeAddress`.
pub(super) fn get_address(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::bytes(&committee_account(engine.state)?)))
}

/// `getNextBlockValidators`.
pub(super) fn get_validators(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let height = engine.block.header.index;
    let validators = validators(engine.state, &engine.chain.protocol, height)?;
    Ok(Some(engine.array_of(&validators)))
}
