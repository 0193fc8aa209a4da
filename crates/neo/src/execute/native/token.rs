//! NEP-17 for both native tokens.

use num_bigint::{BigInt, Sign};

use super::{Event, Method, gas, neo};
use crate::{
    execute::{
        contract::ParamType,
        encode::integer_bytes,
        engine::{Continuation, Engine, flags},
        vm::{Fault, Item},
    },
    state::{State, Value},
};

/// The key of the balance of an account.
const ACCOUNT: u8 = 20;
const TOTAL_SUPPLY: &[u8] = &[11];
const BIG: u64 = 1 << 15;

use ParamType::{Any, Boolean, Hash160, Integer, String};

const TRANSFER: [(&str, ParamType); 4] =
    [("from", Hash160), ("to", Hash160), ("amount", Integer), ("data", Any)];
const CHANGES: u8 = flags::STATES | flags::CALL | flags::NOTIFY;

pub(super) static EVENTS: [Event; 1] = [Event::new("Transfer", TRANSFER.split_at(3).0)];

/// The methods of a token.
pub(super) const fn methods<const ID: i32>() -> [Method; 5] {
    [
        Method::new("symbol", &[], String, 0, flags::NONE, symbol::<ID>),
        Method::new("decimals", &[], Integer, 0, flags::NONE, decimals::<ID>),
        Method::new("totalSupply", &[], Integer, BIG, flags::READ, total_supply::<ID>),
        Method::new(
            "balanceOf",
            &[("account", Hash160)],
            Integer,
            BIG,
            flags::READ,
            balance_of::<ID>,
        ),
        Method::new("transfer", &TRANSFER, Boolean, 1 << 17, CHANGES, transfer::<ID>).storage(50),
    ]
}

/// GAS that holders of NEO get.
pub(super) struct Distribution {
    pub to: [u8; 20],
    pub amount: BigInt,
}

pub(super) fn account_key(account: &[u8; 20]) -> [u8; 21] {
    let mut key = [ACCOUNT; 21];
    key[1..].copy_from_slice(account);
    key
}

fn symbol<const ID: i32>(_: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::bytes(if ID == gas::ID { b"GAS" } else { b"NEO" })))
}

fn decimals<const ID: i32>(_: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(if ID == gas::ID { 8 } else { 0 })))
}

/// The total supply of a token.
pub(super) fn supply(state: &State, id: i32) -> BigInt {
    super::stored_integer(state, id, TOTAL_SUPPLY)
}

fn total_supply<const ID: i32>(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Item::integer(supply(engine.state, ID)).map(Some)
}

fn balance_of<const ID: i32>(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    let stored = engine.state.get(ID, &account_key(&account));
    let balance = match stored {
        None => BigInt::ZERO,
        Some(value) if ID == gas::ID => gas::balance(&value)?,
        Some(value) => neo::Account::decode(&value)?.balance,
    };
    Item::integer(balance).map(Some)
}

fn transfer<const ID: i32>(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let from = arguments[0].to_array()?;
    let to = arguments[1].to_array()?;
    let amount = arguments[2].to_integer()?.to_big();
    if amount.sign() == Sign::Minus {
        return Err(Fault::Rule("negative amount"));
    }
    let caller = engine.vm.calling_hash();
    if (caller == [0; 20] || from != caller) && engine.check_witness(&from) != Ok(true) {
        return Ok(Some(Item::Bool(false)));
    }
    let stays = from == to || amount.sign() == Sign::NoSign;
    let change = if stays { BigInt::ZERO } else { -&amount };
    let Ok(first) = change_balance(engine, ID, &from, &change, Some(&amount)) else {
        return Ok(Some(Item::Bool(false)));
    };
    let mut second = None;
    if !stays {
        match change_balance(engine, ID, &to, &amount, None) {
            Ok(distribution) => second = distribution,
            Err(_) => return Ok(Some(Item::Bool(false))),
        }
    }
    let then: Continuation = Box::new(|engine| engine.finish_native(Item::Bool(true)));
    let then = match second {
        Some(distribution) => mint_later(distribution, then),
        None => then,
    };
    let then = match first {
        Some(distribution) => mint_later(distribution, then),
        None => then,
    };
    let moved = Moved { id: ID, from: Some(from), to: Some(to), amount };
    after_transfer(engine, moved, arguments[3].clone(), true, then)?;
    Ok(None)
}

fn mint_later(distribution: Distribution, then: Continuation) -> Continuation {
    let Distribution { to, amount } = distribution;
    Box::new(move |engine| mint(engine, gas::ID, to, amount, true, then))
}

/// A transfer of tokens; minted without a sender, burnt without a receiver.
pub(super) struct Moved {
    pub id: i32,
    pub from: Option<[u8; 20]>,
    pub to: Option<[u8; 20]>,
    pub amount: BigInt,
}

/// Sends the transfer notification and calls `onNEP17Payment` of a receiving contract.
fn after_transfer(
    engine: &mut Engine<'_>,
    moved: Moved,
    data: Item,
    call: bool,
    then: Continuation,
) -> Result<(), Fault> {
    let account =
        |account: Option<[u8; 20]>| account.map_or(Item::Null, |account| Item::bytes(&account));
    let (from, to) = (account(moved.from), account(moved.to));
    let amount = Item::integer(moved.amount)?;
    let token = engine.native_hash(moved.id);
    engine.notify(token, "Transfer", vec![from.clone(), to, amount.clone()])?;
    let receiver = moved.to.filter(|_| call).and_then(|to| engine.contract(&to));
    let Some(receiver) = receiver else { return then(engine) };
    let arguments = vec![from, amount, data];
    engine.call_from_native(token, &receiver, "onNEP17Payment", arguments, false, then)
}

/// Mints tokens.
pub(super) fn mint(
    engine: &mut Engine<'_>,
    id: i32,
    to: [u8; 20],
    amount: BigInt,
    call: bool,
    then: Continuation,
) -> Result<(), Fault> {
    if amount.sign() == Sign::NoSign {
        return then(engine);
    }
    add_tokens(engine, id, &to, &amount)?;
    let moved = Moved { id, from: None, to: Some(to), amount };
    after_transfer(engine, moved, Item::Null, call, then)
}

/// Mints tokens without calling the receiver.
pub(super) fn mint_quietly(
    engine: &mut Engine<'_>,
    id: i32,
    to: [u8; 20],
    amount: BigInt,
) -> Result<(), Fault> {
    mint(engine, id, to, amount, false, Box::new(|_| Ok(())))
}

/// Burns GAS.
pub(super) fn burn(engine: &mut Engine<'_>, from: [u8; 20], amount: BigInt) -> Result<(), Fault> {
    let less = -&amount;
    burn_of_supply(engine, from, amount)?;
    change_supply(engine, gas::ID, &less);
    Ok(())
}

/// Burns GAS. The caller reduces the supply.
pub(super) fn burn_of_supply(
    engine: &mut Engine<'_>,
    from: [u8; 20],
    amount: BigInt,
) -> Result<(), Fault> {
    if amount.sign() == Sign::NoSign {
        return Ok(());
    }
    change_account(engine, gas::ID, &from, &-&amount)?;
    let moved = Moved { id: gas::ID, from: Some(from), to: None, amount };
    after_transfer(engine, moved, Item::Null, false, Box::new(|_| Ok(())))
}

fn add_tokens(
    engine: &mut Engine<'_>,
    id: i32,
    account: &[u8; 20],
    amount: &BigInt,
) -> Result<(), Fault> {
    change_account(engine, id, account, amount)?;
    change_supply(engine, id, amount);
    Ok(())
}

fn change_account(
    engine: &mut Engine<'_>,
    id: i32,
    account: &[u8; 20],
    amount: &BigInt,
) -> Result<(), Fault> {
    let key = account_key(account);
    let old = engine.state.get(id, &key);
    let (new, _) = changed(engine, id, account, old.as_ref(), amount, None)?;
    store(engine, id, &key, new);
    Ok(())
}

/// Changes the total supply of a token.
pub(super) fn change_supply(engine: &mut Engine<'_>, id: i32, amount: &BigInt) {
    if amount.sign() != Sign::NoSign {
        let supply = supply(engine.state, id) + amount;
        engine.state.put(id, TOTAL_SUPPLY, integer_bytes(&supply));
    }
}

fn store(engine: &mut Engine<'_>, id: i32, key: &[u8], value: Option<Value>) {
    match value {
        Some(value) => engine.state.put(id, key, value),
        None => engine.state.delete(id, key),
    }
}

/// The value of an account after a change; `None` if the balance is zero.
fn changed(
    engine: &mut Engine<'_>,
    id: i32,
    account: &[u8; 20],
    old: Option<&Value>,
    amount: &BigInt,
    needed: Option<&BigInt>,
) -> Result<(Option<Value>, Option<Distribution>), Fault> {
    match id {
        gas::ID => gas::changed(old, amount, needed).map(|new| (new, None)),
        _ => neo::changed(engine, account, old, amount, needed),
    }
}

/// Changes a balance that must be at least `needed`.
fn change_balance(
    engine: &mut Engine<'_>,
    id: i32,
    account: &[u8; 20],
    amount: &BigInt,
    needed: Option<&BigInt>,
) -> Result<Option<Distribution>, Fault> {
    let key = account_key(account);
    let old = engine.state.get(id, &key);
    if old.is_none() {
        let lacks = amount.sign() == Sign::Minus
            || needed.is_some_and(|needed| needed.sign() == Sign::Plus);
        if lacks {
            return Err(Fault::Rule("insufficient funds"));
        }
        if amount.sign() == Sign::NoSign {
            return Ok(None);
        }
    }
    match changed(engine, id, account, old.as_ref(), amount, needed) {
        Ok((new, distribution)) => {
            store(engine, id, &key, new);
            Ok(distribution)
        }
        Err(fault) => {
            // a value that was read counts as written, as in the reference client
            if let Some(old) = old.filter(|_| amount.sign() != Sign::Plus) {
                engine.state.put(id, &key, old);
            }
            Err(fault)
        }
    }
}
