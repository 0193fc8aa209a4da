//! Notary: deposits that pay for notary-assisted transactions.

use num_bigint::{BigInt, Sign};

use super::{Definition, Method, gas, nothing, policy, roles, stored_i64, token::mint_quietly};
use crate::{
    execute::{
        contract::ParamType,
        encode::Encoder,
        engine::{Engine, flags},
        interop::keys::{self, signed_digest},
        vm::{Fault, Heap, Item, serialize},
    },
    params::Hardfork,
    state::State,
    types::{Attribute, Scopes, Transaction},
};

const ID: i32 = -10;
const BIG: u64 = 1 << 15;
const DEPOSIT: u8 = 1;
const MAX_DELTA: &[u8] = &[10];
const DEFAULT_DELTA: i64 = 140;
/// Number of blocks that a deposit for another account is locked.
const DEFAULT_LOCK: u32 = 5_760;

use Hardfork::{Echidna, Faun};
use ParamType::{Any, Boolean, ByteArray, Hash160, Integer, Void};
use flags::{ALL, READ, STATES};

const PAYMENT: &[(&str, ParamType)] = &[("from", Hash160), ("amount", Integer), ("data", Any)];
const LOCK: &[(&str, ParamType)] = &[("account", Hash160), ("till", Integer)];
const WITHDRAW: &[(&str, ParamType)] = &[("from", Hash160), ("to", Hash160)];
const ACCOUNT: &[(&str, ParamType)] = &[("account", Hash160)];
const SIGNATURE: &[(&str, ParamType)] = &[("signature", ByteArray)];
const VALUE: &[(&str, ParamType)] = &[("value", Integer)];

pub(super) static DEFINITION: Definition = Definition {
    name: "Notary",
    id: ID,
    active_in: Some(Echidna),
    methods: &[&[
        Method::new("onNEP17Payment", PAYMENT, Void, BIG, STATES, on_payment),
        Method::new("lockDepositUntil", LOCK, Boolean, BIG, STATES, lock),
        Method::new("withdraw", WITHDRAW, Boolean, BIG, ALL, withdraw),
        Method::new("balanceOf", ACCOUNT, Integer, BIG, READ, balance_of),
        Method::new("expirationOf", ACCOUNT, Integer, BIG, READ, expiration_of),
        Method::new("verify", SIGNATURE, Boolean, BIG, READ, verify),
        Method::new("getMaxNotValidBeforeDelta", &[], Integer, BIG, READ, get_delta),
        Method::new("setMaxNotValidBeforeDelta", VALUE, Void, BIG, STATES, set_delta),
    ]],
    events: &[],
    standards: &[("NEP-27", None), ("NEP-30", Some(Faun))],
    initialize,
    on_persist,
    post_persist: nothing,
};

/// A deposit.
struct Deposit {
    amount: BigInt,
    till: u32,
}

fn key(account: &[u8; 20]) -> [u8; 21] {
    let mut key = [DEPOSIT; 21];
    key[1..].copy_from_slice(account);
    key
}

/// The deposit of an account, in units of 10^-8 GAS.
#[must_use]
pub fn deposit_of(state: &State, account: &[u8; 20]) -> BigInt {
    load(state, account).ok().flatten().map(|deposit| deposit.amount).unwrap_or_default()
}

fn load(state: &State, account: &[u8; 20]) -> Result<Option<Deposit>, Fault> {
    let Some(stored) = state.get(ID, &key(account)) else { return Ok(None) };
    let mut heap = Heap::default();
    let item = serialize::deserialize(&mut heap, &stored)?;
    let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
    let [amount, till] = list else { return Err(Fault::Rule("invalid deposit")) };
    let till = u32::try_from(till.to_i64()?).map_err(|_| Fault::Range("till"))?;
    Ok(Some(Deposit { amount: amount.to_integer()?.to_big(), till }))
}

fn store(engine: &mut Engine<'_>, account: &[u8; 20], deposit: &Deposit) {
    let out = Encoder::default().structure(2).integer(&deposit.amount).number(deposit.till);
    engine.state.put(ID, &key(account), out.done());
}

fn u32_of(item: &Item) -> Result<u32, Fault> {
    u32::try_from(item.to_i64()?)
        .map_err(|_| Fault::Rule("invalid value: bigint is not in uint32 range"))
}

/// The number of keys of a notary-assisted transaction.
fn assisted(transaction: Transaction<'_>) -> Option<u8> {
    transaction.attributes().find_map(|attribute| match attribute {
        Attribute::NotaryAssisted(keys) => Some(keys),
        _ => None,
    })
}

fn on_payment(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    if engine.vm.calling_hash() != engine.native_hash(gas::ID) {
        return Err(Fault::Rule("only GAS can be accepted for deposit"));
    }
    let from: [u8; 20] = arguments[0].to_array()?;
    let amount = arguments[1].to_integer()?.to_big();
    let Item::Array(place) = arguments[2] else { return Err(Fault::NotList) };
    let data = engine.vm.heap.list(place).to_vec();
    let [to, till] = &data[..] else { return Err(Fault::Rule("`data` has not 2 elements")) };
    let to = match to {
        Item::Null => from,
        to => to.to_array()?,
    };
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction"))?;
    let owner_pays = transaction.sender().0 == to;
    let height = engine.height();
    let old = load(engine.state, &to)?;
    let mut till = u32_of(till)?;
    if till < height + 2 {
        let least = format!("the chain's height + 1 ({} at min)", height + 2);
        return Err(Fault::Message(format!("`till` shouldn't be less than {least}")));
    }
    if let Some(old) = old.as_ref().filter(|old| till < old.till) {
        let least = format!("the previous value {}", old.till);
        return Err(Fault::Message(format!("`till` shouldn't be less than {least}")));
    }
    let deposit = match old {
        None => {
            let fee = policy::attribute_fee(engine.state, policy::NOTARY_ASSISTED);
            if amount < BigInt::from(2 * i64::from(fee)) {
                return Err(Fault::Rule("first deposit is too low"));
            }
            if !owner_pays {
                till = height + DEFAULT_LOCK;
            }
            Deposit { amount, till }
        }
        Some(old) => Deposit {
            amount: old.amount + amount,
            // only the owner may set it
            till: if owner_pays { till } else { old.till },
        },
    };
    store(engine, &to, &deposit);
    Ok(Some(Item::Null))
}

fn lock(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    if !engine.check_witness(&account)? {
        return Ok(Some(Item::Bool(false)));
    }
    let till = u32_of(&arguments[1])?;
    let deposit = load(engine.state, &account)?.filter(|deposit| till >= deposit.till);
    let Some(mut deposit) = deposit.filter(|_| till >= engine.height() + 2) else {
        return Ok(Some(Item::Bool(false)));
    };
    deposit.till = till;
    store(engine, &account, &deposit);
    Ok(Some(Item::Bool(true)))
}

fn withdraw(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let from: [u8; 20] = arguments[0].to_array()?;
    if !engine.check_witness(&from)? {
        return Ok(Some(Item::Bool(false)));
    }
    let to = match &arguments[1] {
        Item::Null => from,
        to => to.to_array()?,
    };
    let deposit = load(engine.state, &from)?;
    let Some(deposit) = deposit.filter(|deposit| engine.height() >= deposit.till) else {
        return Ok(Some(Item::Bool(false)));
    };
    let token = engine.native_hash(gas::ID);
    let token = engine.contract(&token).ok_or(Fault::Rule("no GAS"))?;
    engine.state.delete(ID, &key(&from));
    let this = engine.native_hash(ID);
    let amount = Item::integer(deposit.amount)?;
    let arguments = vec![Item::bytes(&this), Item::bytes(&to), amount, Item::Null];
    let then = Box::new(|engine: &mut Engine<'_>| {
        if !engine.vm.pop()?.to_bool()? {
            return Err(Fault::Rule("failed to transfer GAS from Notary account"));
        }
        engine.finish_native(Item::Bool(true))
    });
    engine.call_from_native(this, &token, "transfer", arguments, true, then)?;
    Ok(None)
}

fn balance_of(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    let deposit = load(engine.state, &account)?;
    Item::integer(deposit.map_or(BigInt::ZERO, |deposit| deposit.amount)).map(Some)
}

fn expiration_of(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let account = arguments[0].to_array()?;
    let deposit = load(engine.state, &account)?;
    Ok(Some(Item::Int(deposit.map_or(0, |deposit| deposit.till.into()))))
}

fn verify(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let signature = arguments[0].to_bytes()?;
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction"))?;
    Ok(Some(Item::Bool(is_signed(engine, transaction, &signature)?)))
}

fn is_signed(
    engine: &Engine<'_>,
    transaction: Transaction<'_>,
    signature: &[u8],
) -> Result<bool, Fault> {
    let this = engine.native_hash(ID);
    let mut signers = transaction.signers();
    let own = signers.find(|signer| signer.account().0 == this);
    if assisted(transaction).is_none() || own.is_some_and(|signer| signer.scopes() != Scopes::NONE)
    {
        return Ok(false);
    }
    if transaction.sender().0 == this {
        let mut signers = transaction.signers();
        let (2, Some(payer)) = (signers.len(), signers.nth(1)) else { return Ok(false) };
        let fields = transaction.fields();
        let fees = BigInt::from(fields.network_fee) + fields.system_fee;
        let deposit = load(engine.state, &payer.account().0)?;
        if deposit.is_none_or(|deposit| deposit.amount < fees) {
            return Ok(false);
        }
    }
    let digest = signed_digest(engine.chain.protocol.magic, &transaction.hash());
    let notaries = roles::designated(engine.state, roles::NOTARY, u32::MAX)?;
    Ok(notaries.iter().any(|notary| keys::verify(notary, digest, signature)))
}

fn get_delta(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(stored_i64(engine.state, ID, MAX_DELTA).unwrap_or(0))))
}

fn set_delta(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let value = u32_of(&arguments[0])?;
    let protocol = &engine.chain.protocol;
    let height = engine.next_height();
    let most = policy::valid_until_increment(engine.state, protocol, height) / 2;
    let least = protocol.validator_count(engine.height());
    if value > most || (value as usize) < least {
        return Err(Fault::Rule("MaxNotValidBeforeDelta is out of range"));
    }
    engine.need_committee()?;
    engine.put_integer(ID, MAX_DELTA, value);
    Ok(Some(Item::Null))
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_none() {
        engine.put_integer(ID, MAX_DELTA, DEFAULT_DELTA);
    }
    Ok(())
}

/// Charges fees to deposits and rewards the notaries.
fn on_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let block = engine.block;
    let this = engine.native_hash(ID);
    let mut keys_completed = 0i64;
    for transaction in block.transactions() {
        let Some(keys) = assisted(transaction) else { continue };
        keys_completed += i64::from(keys) + 1;
        if transaction.sender().0 != this {
            continue;
        }
        let payer = transaction.signers().nth(1).ok_or(Fault::Rule("no payer"))?;
        let account = payer.account().0;
        let deposit = load(engine.state, &account)?;
        let mut deposit = deposit.ok_or(Fault::Rule("no deposit for the payer"))?;
        let fields = transaction.fields();
        deposit.amount -= BigInt::from(fields.system_fee) + fields.network_fee;
        match deposit.amount.sign() {
            Sign::Minus => return Err(Fault::Rule("negative deposit for the payer")),
            Sign::NoSign => engine.state.delete(ID, &key(&account)),
            Sign::Plus => store(engine, &account, &deposit),
        }
    }
    if keys_completed == 0 {
        return Ok(());
    }
    let notaries = roles::designated(engine.state, roles::NOTARY, u32::MAX)?;
    if notaries.is_empty() {
        return Ok(());
    }
    let fee = policy::attribute_fee(engine.state, policy::NOTARY_ASSISTED);
    let reward = keys_completed * i64::from(fee) / notaries.len() as i64;
    for notary in &notaries {
        mint_quietly(engine, gas::ID, keys::account(notary), reward.into())?;
    }
    Ok(())
}
