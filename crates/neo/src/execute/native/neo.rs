//! NeoToken: votes, the committee, and the GAS that holders and voters get.

mod account;
mod candidates;
mod committee;
mod rewards;

pub use account::Account;
pub(crate) use committee::committee_account;
pub use committee::{committee, next_committee, validators};

use num_bigint::{BigInt, Sign};

use super::{
    Definition, Event, Method, gas, stored_i64,
    token::{self, Distribution, EVENTS, mint_quietly},
};
use crate::execute::{
    contract::ParamType,
    engine::{Engine, flags},
    interop::keys,
    vm::{Fault, Integer, Item},
};
use crate::params::Hardfork;
use crate::state::Value;

/// The contract's id.
pub const ID: i32 = -5;
/// The total supply.
pub const TOTAL: i64 = 100_000_000;
/// One GAS.
const GAS: i64 = 100_000_000;
const GAS_PER_BLOCK: u8 = 29;
const REGISTER_PRICE: &[u8] = &[13];
const VOTERS: &[u8] = &[1];
const BIG: u64 = 1 << 15;

use Hardfork::{Cockatrice, Echidna};
use ParamType::{
    Any, Array, Boolean, Hash160, Integer as Number, InteropInterface, PublicKey, Void,
};
use flags::{NOTIFY, READ, STATES};

static TOKEN: [Method; 5] = token::methods::<ID>();

const KEY: &[(&str, ParamType)] = &[("pubkey", PublicKey)];
const VOTE: &[(&str, ParamType)] = &[("account", Hash160), ("voteTo", PublicKey)];
const PAYMENT: &[(&str, ParamType)] = &[("from", Hash160), ("amount", Number), ("data", Any)];
const BOTH: u8 = STATES | NOTIFY;
const REGISTER: &str = "registerCandidate";
const UNREGISTER: &str = "unregisterCandidate";

static METHODS: [Method; 19] = [
    Method::new(
        "unclaimedGas",
        &[("account", Hash160), ("end", Number)],
        Number,
        1 << 17,
        READ,
        rewards::unclaimed,
    ),
    Method::new(REGISTER, KEY, Boolean, 0, STATES, candidates::register).till(Echidna),
    Method::new(REGISTER, KEY, Boolean, 0, BOTH, candidates::register).from(Echidna),
    Method::new(UNREGISTER, KEY, Boolean, 1 << 16, STATES, candidates::unregister).till(Echidna),
    Method::new(UNREGISTER, KEY, Boolean, 1 << 16, BOTH, candidates::unregister).from(Echidna),
    Method::new("onNEP17Payment", PAYMENT, Void, BIG, BOTH, candidates::on_payment).from(Echidna),
    Method::new("vote", VOTE, Boolean, 1 << 16, STATES, account::vote).till(Echidna),
    Method::new("vote", VOTE, Boolean, 1 << 16, BOTH, account::vote).from(Echidna),
    Method::new("getCandidates", &[], Array, 1 << 22, READ, candidates::get_candidates),
    Method::new("getAllCandidates", &[], InteropInterface, 1 << 22, READ, candidates::get_all),
    Method::new(
        "getCandidateVote",
        &[("pubKey", PublicKey)],
        Number,
        BIG,
        READ,
        candidates::get_vote,
    ),
    Method::new("getAccountState", &[("account", Hash160)], Array, BIG, READ, account::get_state),
    Method::new("getCommittee", &[], Array, 1 << 16, READ, committee::get_committee),
    Method::new("getCommitteeAddress", &[], Hash160, 1 << 16, READ, committee::get_address)
        .from(Cockatrice),
    Method::new("getNextBlockValidators", &[], Array, 1 << 16, READ, committee::get_validators),
    Method::new("getGasPerBlock", &[], Number, BIG, READ, get_gas_per_block),
    Method::new("setGasPerBlock", &[("gasPerBlock", Number)], Void, BIG, STATES, set_gas_per_block),
    Method::new("getRegisterPrice", &[], Number, BIG, READ, get_register_price),
    Method::new(
        "setRegisterPrice",
        &[("registerPrice", Number)],
        Void,
        BIG,
        STATES,
        set_register_price,
    ),
];

static OWN_EVENTS: [Event; 3] = [
    Event::new(
        "CandidateStateChanged",
        &[("pubkey", PublicKey), ("registered", Boolean), ("votes", Number)],
    ),
    Event::new(
        "Vote",
        &[("account", Hash160), ("from", PublicKey), ("to", PublicKey), ("amount", Number)],
    ),
    Event::new("CommitteeChanged", &[("old", Array), ("new", Array)]).from(Cockatrice),
];

pub(super) static DEFINITION: Definition = Definition {
    name: "NeoToken",
    id: ID,
    active_in: None,
    methods: &[&TOKEN, &METHODS],
    events: &[&EVENTS, &OWN_EVENTS],
    standards: &[("NEP-17", None), ("NEP-27", Some(Echidna))],
    initialize,
    on_persist: committee::on_persist,
    post_persist: rewards::post_persist,
};

/// The value of an account after a change of its balance, and the GAS to distribute.
pub(super) fn changed(
    engine: &mut Engine<'_>,
    account: &[u8; 20],
    old: Option<&Value>,
    amount: &BigInt,
    needed: Option<&BigInt>,
) -> Result<(Option<Value>, Option<Distribution>), Fault> {
    let mut state = Account::decode(old.map_or(&[], |old| &old[..]))?;
    let lacks = match amount.sign() {
        Sign::Minus => state.balance < -amount,
        Sign::NoSign => needed.is_some_and(|needed| state.balance < *needed),
        Sign::Plus => false,
    };
    if lacks {
        return Err(Fault::Rule("insufficient funds"));
    }
    let gas = rewards::distribute(engine, &mut state)?;
    let distribution = gas.map(|amount| Distribution { to: *account, amount });
    if amount.sign() == Sign::NoSign {
        return Ok((Some(state.encode().into()), distribution));
    }
    candidates::change_votes(engine, state.vote.as_ref(), amount, false)?;
    if state.vote.is_some() {
        change_turnout(engine, amount)?;
    }
    state.balance += amount;
    let kept = state.balance.sign() != Sign::NoSign;
    Ok((kept.then(|| state.encode().into()), distribution))
}

/// Changes the total of voting NEO.
fn change_turnout(engine: &mut Engine<'_>, amount: &BigInt) -> Result<(), Fault> {
    if engine.state.get(ID, VOTERS).is_none() {
        return Err(Fault::Rule("voters count not found"));
    }
    let voters = engine.stored_integer(ID, VOTERS) + amount;
    engine.put_integer(ID, VOTERS, voters);
    Ok(())
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_some() {
        return Ok(());
    }
    committee::initialize(engine);
    let to = gas::standby_account(engine)?;
    mint_quietly(engine, ID, to, TOTAL.into())?;
    engine.put_integer(ID, &gas_key(0), 5 * GAS);
    engine.state.put(ID, VOTERS, &[][..]);
    engine.put_integer(ID, REGISTER_PRICE, 1_000 * GAS);
    Ok(())
}

fn gas_key(index: u32) -> [u8; 5] {
    let mut key = [GAS_PER_BLOCK; 5];
    key[1..].copy_from_slice(&index.to_be_bytes());
    key
}

fn get_gas_per_block(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let height = engine.height().wrapping_add(1);
    Item::integer(rewards::gas_per_block(engine.state, height)?).map(Some)
}

fn set_gas_per_block(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let gas = arguments[0].to_integer()?;
    if gas.signum() < 0 || gas > Integer::Small(10 * GAS) {
        return Err(Fault::Rule("invalid value for GASPerBlock"));
    }
    engine.need_committee()?;
    let key = gas_key(engine.block.header.index + 1);
    engine.put_integer(ID, &key, gas.to_big());
    Ok(Some(Item::Null))
}

/// The fee for the registration of a candidate.
fn register_price(engine: &Engine<'_>) -> i64 {
    stored_i64(engine.state, ID, REGISTER_PRICE).unwrap_or(0)
}

fn get_register_price(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(register_price(engine))))
}

fn set_register_price(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let price = arguments[0].to_integer()?.to_i64().filter(|price| *price > 0);
    let price = price.ok_or(Fault::Rule("invalid register price"))?;
    engine.need_committee()?;
    engine.put_integer(ID, REGISTER_PRICE, price);
    Ok(Some(Item::Null))
}

/// Revokes the vote of an account. Returns the GAS to distribute, if there is any.
pub(super) fn take_back_vote(
    engine: &mut Engine<'_>,
    account: &[u8; 20],
) -> Result<Option<BigInt>, Fault> {
    match account::change_vote(engine, account, None) {
        Ok(gas) => Ok(gas),
        // an account without NEO has no vote
        Err(account::Refused::Rule) => Ok(None),
        Err(account::Refused::Fault(fault)) => Err(fault),
    }
}

/// Reads a public key from an argument.
fn key_of(item: &Item) -> Result<crate::types::PublicKey, Fault> {
    item.with_bytes(keys::public_key)?
}
