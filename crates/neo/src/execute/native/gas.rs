//! GasToken: what fees are paid with.

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
        vm::{Fault, Type},
    },
    params::Hardfork,
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

/// The balance that an account's value holds.
pub(super) fn balance(value: &[u8]) -> Result<BigInt, Fault> {
    match value {
        [] => Ok(BigInt::ZERO),
        [kind, 1, integer, len, bytes @ ..]
            if *kind == Type::Struct as u8
                && *integer == Type::Integer as u8
                && usize::from(*len) == bytes.len() =>
        {
            Ok(integer_of(bytes))
        }
        _ => Err(Fault::Rule("invalid balance")),
    }
}

/// What an account has, in units of 10^-8.
pub(crate) fn balance_of(state: &crate::state::State, account: &[u8; 20]) -> BigInt {
    let value = state.get(ID, &super::token::account_key(account));
    value.and_then(|value| balance(&value).ok()).unwrap_or_default()
}

/// An account's value after a change, none where nothing is left.
pub(super) fn changed(
    old: Option<&[u8]>,
    amount: &BigInt,
    needed: Option<&BigInt>,
) -> Result<Option<Vec<u8>>, Fault> {
    let before = balance(old.unwrap_or_default())?;
    let lacks = match amount.sign() {
        Sign::NoSign => needed.is_some_and(|needed| before < *needed),
        Sign::Minus => before < -amount,
        Sign::Plus => false,
    };
    if lacks {
        return Err(Fault::Rule("insufficient funds"));
    }
    if amount.sign() == Sign::NoSign {
        return Ok(old.map(<[u8]>::to_vec));
    }
    let after = before + amount;
    let kept = after.sign() != Sign::NoSign;
    Ok(kept.then(|| Encoder::default().structure(1).integer(&after).done()))
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

/// Burns all fees, and gives the network fees to who made the block.
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
    mint_quietly(engine, ID, keys::account(primary), fees)
}
