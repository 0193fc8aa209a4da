//! GAS for holders of NEO, for the committee, and for its voters.

use num_bigint::{BigInt, Sign};

use super::{Account, GAS_PER_BLOCK, ID, TOTAL, candidates, committee};
use crate::{
    execute::{
        encode::{integer_bytes, integer_of},
        engine::{Engine, Trigger},
        native::{
            gas, stored_integer,
            token::{account_key, mint_quietly},
        },
        vm::{Fault, Item},
    },
    params::Hardfork,
    state::{Direction, GAS_RECORDS, State},
    types::PublicKey,
};

const REWARD: u8 = 23;
/// Rewards of voters are kept times this.
const FACTOR: i64 = 100_000_000;
/// Percentages of the GAS of a block.
const HOLDERS: i64 = 10;
const COMMITTEE: i64 = 10;
const VOTERS: i64 = 80;

/// The key of the voters' reward of a candidate.
pub(super) fn key(candidate: &PublicKey) -> [u8; 34] {
    let mut key = [REWARD; 34];
    key[1..].copy_from_slice(candidate);
    key
}

/// All that one NEO for a candidate has got so far.
pub(super) fn latest(state: &State, candidate: &PublicKey) -> BigInt {
    stored_integer(state, ID, &key(candidate))
}

/// The amounts of GAS of a block, the latest first, each with the block from which on it counts.
fn records(state: &State) -> impl Iterator<Item = (u32, BigInt)> {
    let stored = state.find_all(ID, &[GAS_PER_BLOCK], Direction::Backwards);
    stored.filter_map(|(key, value)| {
        let index = key.key().get(1..)?.try_into().ok()?;
        Some((u32::from_be_bytes(index), integer_of(&value)))
    })
}

/// The GAS of a block.
pub(super) fn gas_per_block(state: &State, height: u32) -> Result<BigInt, Fault> {
    let newest = || {
        let (index, gas) = records(state).next()?;
        Some((index, i64::try_from(gas).ok()?))
    };
    let newest =
        state.native_cache().gas_per_block.get_or_compute(state.version(&[GAS_RECORDS]), newest);
    if let Some((_, gas)) = newest.filter(|(index, _)| *index <= height) {
        return Ok(gas.into());
    }
    let found = records(state).find(|(index, _)| *index <= height);
    found.map(|(_, gas)| gas).ok_or(Fault::Rule("no GAS per block"))
}

/// The GAS of an account for the blocks since its last distribution, up to `end`.
fn bonus(state: &State, account: &Account, end: u32) -> BigInt {
    let reward = holder_reward(state, &account.balance, account.height, end);
    let Some(vote) = &account.vote else { return reward };
    let votes = (latest(state, vote) - &account.last_reward) * &account.balance;
    floor(&votes, &FACTOR.into()) + reward
}

/// Euclidean division, as in the client: it also rounds down for negative numbers.
fn floor(number: &BigInt, by: &BigInt) -> BigInt {
    let (quotient, rest) = (number / by, number % by);
    if rest.sign() == Sign::Minus { quotient - 1 } else { quotient }
}

fn holder_reward(state: &State, balance: &BigInt, start: u32, mut end: u32) -> BigInt {
    if balance.sign() != Sign::Plus || start >= end {
        return BigInt::ZERO;
    }
    let mut sum = BigInt::ZERO;
    for (index, gas) in records(state) {
        if index >= end {
            continue;
        }
        if index <= start {
            sum += gas * (end - start);
            break;
        }
        sum += gas * (end - index);
        end = index;
    }
    balance * sum * HOLDERS / (100 * TOTAL)
}

/// Distributes the GAS of an account, once per block. Returns `None` if this block has already done
/// it.
pub(super) fn distribute(
    engine: &mut Engine<'_>,
    account: &mut Account,
) -> Result<Option<BigInt>, Fault> {
    let index = engine.block.header.index;
    if index == 0 || index == account.height {
        return Ok(None);
    }
    let amount = bonus(engine.state, account, index);
    account.height = index;
    if let Some(vote) = &account.vote {
        account.last_reward = latest(engine.state, vote);
    }
    Ok(Some(amount))
}

/// `unclaimedGas`.
pub(super) fn unclaimed(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    let end = arguments[1].to_integer()?.low_i64() as u32;
    let stored = engine.state.get(ID, &account_key(&account));
    let state = Account::decode(stored.as_deref().unwrap_or_default())?;
    if state.balance.sign() == Sign::NoSign {
        return Ok(Some(Item::Int(0)));
    }
    let is_known = engine.trigger != Trigger::Verification;
    if !is_known || end != engine.height().wrapping_add(1) {
        return Err(Fault::Rule("can't calculate bonus of height unequal (BlockHeight + 1)"));
    }
    Item::integer(bonus(engine.state, &state, end)).map(Some)
}

/// GAS for a member of the committee; at the end of its term, also for its voters.
pub(super) fn post_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let protocol = &engine.chain.protocol;
    let index = engine.block.header.index;
    let gas = gas_per_block(engine.state, engine.height().wrapping_add(1))?;
    let members = committee::members(engine.state)?;
    let size = protocol.committee_size(index);
    let member = members.get(index as usize % size.max(1)).ok_or(Fault::Range("committee"))?;
    let reward: BigInt = &gas * COMMITTEE / 100;
    let account = engine.account_of(&member.0);
    mint_quietly(engine, gas::ID, account, reward)?;
    if !protocol.updates_committee_at(index) {
        return Ok(());
    }
    let validators = protocol.validator_count(index);
    let reward = gas * VOTERS * (FACTOR * size as i64) / (size + validators) / 100;
    let fresh = engine.is_active(Hardfork::Gorgon);
    for (place, (member, elected_with)) in members.iter().enumerate() {
        let votes = match fresh {
            true => candidates::votes_of(engine.state, member),
            false => elected_with.clone(),
        };
        if votes.sign() != Sign::Plus {
            continue;
        }
        // consensus nodes count twice
        let share = &reward * if place < validators { 2 } else { 1 } / votes;
        let sum = latest(engine.state, member) + share;
        engine.state.put(ID, &key(member), integer_bytes(&sum));
    }
    Ok(())
}
