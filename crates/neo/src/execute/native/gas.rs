//! GasToken, the currency of fees.

use num_bigint::{BigInt, Sign};

use super::{
    Definition, Method, neo, nothing, policy,
    token::{self, EVENTS, burn_of_supply, change_supply, mint_quietly},
};
use crate::{
    execute::{
        encode::{Encoder, integer_of},
        engine::Engine,
        interop::keys,
        vm::{Fault, Integer, Type, small_bytes},
    },
    params::Hardfork,
    state::Value,
    types::Attribute,
};

/// The contract's number.
pub const ID: i32 = -6;

static METHODS: [Method; 5] = token::methods::<ID>();

pub(super) static DEFINITION: Definition = Definition {
    name: "GasToken",
    id: ID,
    active_in: None,
    methods: &[&METHODS],
    events: &[&EVENTS],
    standards: &[("NEP-17", None)],
    initialize,
    on_persist,
    post_persist: nothing,
};

/// The bytes of the balance that an account's value holds.
fn balance_bytes(value: &[u8]) -> Result<&[u8], Fault> {
    match value {
        [] => Ok(&[]),
        [kind, 1, integer, len, bytes @ ..]
            if *kind == Type::Struct as u8
                && *integer == Type::Integer as u8
                && usize::from(*len) == bytes.len() =>
        {
            Ok(bytes)
        }
        _ => Err(Fault::Rule("invalid balance")),
    }
}

/// The balance that an account's value holds.
pub(super) fn balance(value: &[u8]) -> Result<BigInt, Fault> {
    balance_bytes(value).map(integer_of)
}

/// The balance of an account, in units of 10^-8.
pub(crate) fn balance_of(state: &crate::state::State, account: &[u8; 20]) -> BigInt {
    let value = state.get(ID, &super::token::account_key(account));
    value.and_then(|value| balance(&value).ok()).unwrap_or_default()
}

/// The value of an account after a change; `None` if the balance is zero.
pub(super) fn changed(
    old: Option<&Value>,
    amount: &BigInt,
    needed: Option<&BigInt>,
) -> Result<Option<Value>, Fault> {
    let bytes = balance_bytes(old.map_or(&[], |old| &old[..]))?;
    let lacking = Err(Fault::Rule("insufficient funds"));
    if amount.sign() == Sign::NoSign {
        let lacks = needed.is_some_and(|needed| integer_of(bytes) < *needed);
        return if lacks { lacking } else { Ok(old.cloned()) };
    }
    // all of the tokens are fewer than 2^63, but for networks that begin with more
    if let Ok(amount) = i64::try_from(amount)
        && let Ok(Integer::Small(before)) = Integer::from_bytes(bytes)
        && let Some(after) = before.checked_add(amount)
    {
        return match after {
            _ if amount < 0 && after < 0 => lacking,
            0 => Ok(None),
            _ => Ok(Some(account_of(after))),
        };
    }
    let before = integer_of(bytes);
    if amount.sign() == Sign::Minus && before < -amount {
        return lacking;
    }
    let after = before + amount;
    let kept = after.sign() != Sign::NoSign;
    Ok(kept.then(|| Encoder::default().structure(1).integer(&after).done().into()))
}

/// The value of an account with this balance.
fn account_of(balance: i64) -> Value {
    let (bytes, len) = small_bytes(balance);
    let mut value = [0; 12];
    value[..4].copy_from_slice(&[Type::Struct as u8, 1, Type::Integer as u8, len as u8]);
    value[4..].copy_from_slice(&bytes);
    value[..4 + len].into()
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_some() {
        return Ok(());
    }
    let to = standby_account(engine)?;
    let amount = engine.chain.protocol.initial_gas;
    mint_quietly(engine, ID, to, amount.into())
}

/// The account of the first consensus nodes, which gets all tokens.
pub(super) fn standby_account(engine: &Engine<'_>) -> Result<[u8; 20], Fault> {
    let protocol = &engine.chain.protocol;
    let count = protocol.validator_count(0).min(protocol.standby_committee.len());
    keys::consensus_account(&protocol.standby_committee[..count])
}

/// Burns all fees and mints the network fees to the primary.
fn on_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let block = engine.block;
    if block.transactions.is_empty() {
        return Ok(());
    }
    let (mut fees, mut burnt) = (BigInt::ZERO, BigInt::ZERO);
    for transaction in block.transactions() {
        let fields = transaction.fields();
        let fee = BigInt::from(fields.system_fee) + fields.network_fee;
        // the supply is written once for all of them
        burnt -= &fee;
        burn_of_supply(engine, transaction.sender().0, fee)?;
        fees += fields.network_fee;
        let keys = transaction.attributes().find_map(|attribute| match attribute {
            Attribute::NotaryAssisted(keys) => Some(keys),
            _ => None,
        });
        if let Some(keys) = keys {
            let fee = policy::attribute_fee(engine.state, policy::NOTARY_ASSISTED);
            fees -= (i64::from(keys) + 1) * i64::from(fee);
        }
    }
    change_supply(engine, ID, &burnt);
    let validators = neo::validators(engine.state, &engine.chain.protocol, block.header.index)?;
    let primary = validators.get(usize::from(block.header.primary));
    let primary = primary.ok_or(Fault::Range("primary index"))?;
    let account = engine.account_of(primary);
    mint_quietly(engine, ID, account, fees)
}
