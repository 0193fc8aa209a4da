//! PolicyContract: fees, limits, blocked accounts.

mod fixed_fees;
mod settings;

pub(crate) use fixed_fees::{clean_whitelist, fixed_fee, whitelisted};
pub(crate) use settings::{
    NOTARY_ASSISTED, attribute_fee, exec_fee_factor, fee_per_byte, storage_fee, traceable_blocks,
    traceable_key, valid_until_increment,
};

use num_bigint::BigInt;

use super::{Definition, Event, Method, neo, nothing, token};
use crate::{
    execute::{
        contract::ParamType,
        encode::{Encoder, integer_bytes},
        engine::{Engine, flags},
        interop::{iterator::Iteration, keys},
        vm::{Fault, Item},
    },
    params::Hardfork,
    state::{Direction, State},
};

/// The contract's id.
pub const ID: i32 = -7;
const BLOCKED: u8 = 15;
const BIG: u64 = 1 << 15;
/// Funds of a blocked account can be recovered after a year of milliseconds.
const LOCKED: u64 = 365 * 24 * 60 * 60 * 1_000;

use Hardfork::{Echidna, Faun};
use ParamType::{Any, Boolean, Hash160, Integer, InteropInterface, String, Void};
use flags::{ALL, NOTIFY, READ, STATES};

const ACCOUNT: &[(&str, ParamType)] = &[("account", Hash160)];
const VALUE: &[(&str, ParamType)] = &[("value", Integer)];
const KIND: &[(&str, ParamType)] = &[("attributeType", Integer)];
const KIND_VALUE: &[(&str, ParamType)] = &[("attributeType", Integer), ("value", Integer)];
const FIXED: [(&str, ParamType); 4] =
    [("contractHash", Hash160), ("method", String), ("argCount", Integer), ("fixedFee", Integer)];
const RECOVER: &[(&str, ParamType)] = &[("account", Hash160), ("token", Hash160)];
const FEE_CHANGED: &[(&str, ParamType)] =
    &[("contract", Hash160), ("method", String), ("argCount", Integer), ("fee", Any)];
const BOTH: u8 = STATES | NOTIFY;

const fn get(name: &'static str, run: super::NativeFn) -> Method {
    Method::new(name, &[], Integer, BIG, READ, run)
}

const fn set(name: &'static str, run: super::NativeFn) -> Method {
    Method::new(name, VALUE, Void, BIG, STATES, run)
}

static METHODS: [Method; 26] = [
    get("getFeePerByte", settings::get_fee_per_byte),
    set("setFeePerByte", settings::set_fee_per_byte),
    Method::new("isBlocked", ACCOUNT, Boolean, BIG, READ, is_blocked_call),
    get("getExecFeeFactor", settings::get_exec_fee_factor),
    set("setExecFeeFactor", settings::set_exec_fee_factor),
    get("getStoragePrice", settings::get_storage_price),
    set("setStoragePrice", settings::set_storage_price),
    Method::new("getAttributeFee", KIND, Integer, BIG, READ, settings::get_attribute_fee)
        .till(Echidna),
    Method::new("getAttributeFee", KIND, Integer, BIG, READ, settings::get_attribute_fee)
        .from(Echidna),
    Method::new("setAttributeFee", KIND_VALUE, Void, BIG, STATES, settings::set_attribute_fee)
        .till(Echidna),
    Method::new("setAttributeFee", KIND_VALUE, Void, BIG, STATES, settings::set_attribute_fee)
        .from(Echidna),
    Method::new("blockAccount", ACCOUNT, Boolean, BIG, STATES, block).till(Faun),
    Method::new("blockAccount", ACCOUNT, Boolean, BIG, BOTH, block).from(Faun),
    Method::new("unblockAccount", ACCOUNT, Boolean, BIG, STATES, unblock),
    get("getMaxValidUntilBlockIncrement", settings::get_valid_until).from(Echidna),
    set("setMaxValidUntilBlockIncrement", settings::set_valid_until).from(Echidna),
    get("getMillisecondsPerBlock", settings::get_milliseconds).from(Echidna),
    Method::new("setMillisecondsPerBlock", VALUE, Void, BIG, BOTH, settings::set_milliseconds)
        .from(Echidna),
    get("getMaxTraceableBlocks", settings::get_traceable).from(Echidna),
    set("setMaxTraceableBlocks", settings::set_traceable).from(Echidna),
    Method::new("getBlockedAccounts", &[], InteropInterface, BIG, READ, get_blocked).from(Faun),
    get("getExecPicoFeeFactor", settings::get_pico_fee_factor).from(Faun),
    Method::new("setWhitelistFeeContract", &FIXED, Void, BIG, BOTH, fixed_fees::set).from(Faun),
    Method::new(
        "removeWhitelistFeeContract",
        FIXED.split_at(3).0,
        Void,
        BIG,
        BOTH,
        fixed_fees::remove,
    )
    .from(Faun),
    Method::new("getWhitelistFeeContracts", &[], InteropInterface, BIG, READ, fixed_fees::get_all)
        .from(Faun),
    Method::new("recoverFund", RECOVER, Boolean, BIG, ALL, recover).from(Faun),
];

static EVENTS: [Event; 3] = [
    Event::new("MillisecondsPerBlockChanged", &[("old", Integer), ("new", Integer)]).from(Echidna),
    Event::new("WhitelistFeeChanged", FEE_CHANGED).from(Faun),
    Event::new("RecoveredFund", ACCOUNT).from(Faun),
];

pub(super) static DEFINITION: Definition = Definition {
    name: "PolicyContract",
    id: ID,
    active_in: None,
    methods: &[&METHODS],
    events: &[&EVENTS],
    standards: &[],
    initialize: settings::initialize,
    on_persist: nothing,
    post_persist: nothing,
};

fn blocked_key(account: &[u8; 20]) -> [u8; 21] {
    let mut key = [BLOCKED; 21];
    key[1..].copy_from_slice(account);
    key
}

/// Reports whether an account is blocked.
pub(crate) fn is_blocked(state: &State, account: &[u8; 20]) -> bool {
    // nearly always nobody is
    let any = || state.find_all(ID, &[BLOCKED], Direction::Forwards).next().is_some();
    state.native_cache().blocks_any.get_or_compute(state.version(&[ID]), any)
        && state.get(ID, &blocked_key(account)).is_some()
}

fn is_blocked_call(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    Ok(Some(Item::Bool(is_blocked(engine.state, &account))))
}

/// The accounts that are blocked.
fn blocked(state: &State) -> Vec<[u8; 20]> {
    let stored = state.find_all(ID, &[BLOCKED], Direction::Forwards);
    stored.filter_map(|(key, _)| key.key().get(1..)?.try_into().ok()).collect()
}

fn get_blocked(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let accounts = blocked(engine.state);
    let items = accounts.iter().map(|account| Encoder::default().bytes(account).done());
    Ok(Some(Iteration::list(items.collect())))
}

/// Continues after an account was blocked; false: it was already blocked.
pub(super) type Blocked = Box<dyn FnOnce(&mut Engine<'_>, bool) -> Result<(), Fault>>;

/// Blocks an account. Since Faun its vote is revoked first.
pub(super) fn block_account(
    engine: &mut Engine<'_>,
    account: [u8; 20],
    then: Blocked,
) -> Result<(), Fault> {
    if is_blocked(engine.state, &account) {
        return then(engine, false);
    }
    let faun = engine.is_active(Faun);
    let end = move |engine: &mut Engine<'_>| {
        let since = BigInt::from(engine.block.header.timestamp);
        let value = if faun { integer_bytes(&since) } else { Vec::new() };
        engine.state.put(ID, &blocked_key(&account), value);
        then(engine, true)
    };
    if !faun {
        return end(engine);
    }
    match neo::take_back_vote(engine, &account)? {
        None => end(engine),
        Some(amount) => token::mint(engine, super::gas::ID, account, amount, true, Box::new(end)),
    }
}

fn block(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    engine.need_committee()?;
    let account = arguments[0].to_array()?;
    if engine.chain.natives.get(&account).is_some() {
        return Err(Fault::Rule("cannot block native contract"));
    }
    let then: Blocked = Box::new(|engine, changed| engine.finish_native(Item::Bool(changed)));
    block_account(engine, account, then)?;
    Ok(None)
}

fn unblock(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    engine.need_committee()?;
    let account = arguments[0].to_array()?;
    let was = is_blocked(engine.state, &account);
    if was {
        engine.state.delete(ID, &blocked_key(&account));
    }
    Ok(Some(Item::Bool(was)))
}

/// Checks the witness of nearly all of the committee.
fn need_most_of_committee(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let members = neo::committee(engine.state)?;
    let count = members.len();
    let majority = (count - count.saturating_sub(1) / 2).max(1);
    let account = keys::multisig_account(majority.max(count.saturating_sub(2)), &members)?;
    match engine.check_witness(&account)? {
        true => Ok(()),
        false => Err(Fault::Rule("invalid committee signature")),
    }
}

fn recover(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account: [u8; 20] = arguments[0].to_array()?;
    let token = arguments[1].to_array()?;
    need_most_of_committee(engine)?;
    let since = super::stored_i64(engine.state, ID, &blocked_key(&account));
    let since = since.ok_or(Fault::Rule("account is not blocked"))?;
    if engine.block.header.timestamp.wrapping_sub(since as u64) < LOCKED {
        return Err(Fault::Rule("funds recovery request must be signed at least 1 year ago"));
    }
    let contract = engine.contract(&token).ok_or(Fault::Rule("no such token"))?;
    if !contract.manifest.supports("NEP-17") {
        return Err(Fault::Rule("contract does not support NEP-17"));
    }
    let callee = std::sync::Arc::clone(&contract);
    let then = Box::new(move |engine: &mut Engine<'_>| {
        let balance = engine.vm.pop_integer()?;
        if balance.signum() <= 0 {
            return engine.finish_native(Item::Bool(false));
        }
        let treasury = engine.native_hash(super::treasury::ID);
        let arguments =
            vec![Item::bytes(&account), Item::bytes(&treasury), balance.into(), Item::Null];
        let end = Box::new(move |engine: &mut Engine<'_>| {
            if !engine.vm.pop()?.to_bool()? {
                return Err(Fault::Rule("transfer failed"));
            }
            let this = engine.native_hash(ID);
            engine.notify(this, "RecoveredFund", vec![Item::bytes(&account)])?;
            engine.finish_native(Item::Bool(true))
        });
        engine.call_from_native(account, &callee, "transfer", arguments, true, end)
    });
    let arguments = vec![Item::bytes(&account)];
    engine.call_from_native(account, &contract, "balanceOf", arguments, true, then)?;
    Ok(None)
}
