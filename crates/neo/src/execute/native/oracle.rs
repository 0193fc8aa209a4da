//! OracleContract: requests of contracts for external data, and the responses.

use num_bigint::BigInt;

use super::{Definition, Method, gas, nothing, roles, stored_i64, token::mint_quietly};
use crate::{
    execute::{
        contract::ParamType,
        encode::Encoder,
        engine::{Engine, flags},
        interop::{keys, syscalls::number},
        vm::{Fault, Heap, Item, opcode, serialize},
    },
    params::Hardfork,
    state::State,
    types::{Attribute, Transaction, UInt160, UInt256},
};

const ID: i32 = -9;
const BIG: u64 = 1 << 15;
const PRICE: &[u8] = &[5];
const LIST: u8 = 6;
const REQUEST: u8 = 7;
const NEXT_ID: &[u8] = &[9];
/// 0.5 GAS.
const DEFAULT_PRICE: i64 = 50_000_000;
/// 0.1 GAS.
const LEAST_GAS: i64 = 10_000_000;
const MAX_URL: usize = 256;
const MAX_FILTER: usize = 128;
const MAX_CALLBACK: usize = 32;
const MAX_DATA: usize = 512;
const MAX_REQUESTS: usize = 256;

use ParamType::{Any, Boolean, Hash160, Hash256, Integer as Number, String as Text, Void};
use flags::{CALL, NONE, NOTIFY, READ, STATES};

const ASK: &[(&str, ParamType)] = &[
    ("url", Text),
    ("filter", Text),
    ("callback", Text),
    ("userData", Any),
    ("gasForResponse", Number),
];

pub(super) static DEFINITION: Definition = Definition {
    name: "OracleContract",
    id: ID,
    active_in: None,
    methods: &[&[
        Method::new("request", ASK, Void, 0, STATES | NOTIFY, request),
        Method::new("finish", &[], Void, 0, STATES | CALL | NOTIFY, finish),
        Method::new("verify", &[], Boolean, BIG, NONE, verify),
        Method::new("getPrice", &[], Number, BIG, READ, get_price),
        Method::new("setPrice", &[("price", Number)], Void, BIG, STATES, set_price),
    ]],
    events: &[&[
        super::Event::new(
            "OracleRequest",
            &[("Id", Number), ("RequestContract", Hash160), ("Url", Text), ("Filter", Text)],
        ),
        super::Event::new("OracleResponse", &[("Id", Number), ("OriginalTx", Hash256)]),
    ]],
    standards: &[("NEP-30", Some(Hardfork::Faun))],
    initialize,
    on_persist: nothing,
    post_persist,
};

/// A request.
struct Request {
    transaction: UInt256,
    gas: u64,
    url: Vec<u8>,
    filter: Option<Vec<u8>>,
    contract: [u8; 20],
    method: Vec<u8>,
    data: Vec<u8>,
}

impl Request {
    fn load(state: &State, id: u64) -> Option<Self> {
        let stored = state.get(ID, &request_key(id))?;
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, &stored).ok()?;
        let list = heap.list(item.place()?);
        let [transaction, gas, url, filter, contract, method, data, ..] = list else {
            return None;
        };
        Some(Self {
            transaction: UInt256(transaction.to_array().ok()?),
            gas: u64::try_from(gas.to_integer().ok()?.to_big()).ok()?,
            url: url.to_bytes().ok()?,
            filter: match filter {
                Item::Null => None,
                filter => Some(filter.to_bytes().ok()?),
            },
            contract: contract.to_array().ok()?,
            method: method.to_bytes().ok()?,
            data: data.to_bytes().ok()?,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let out = Encoder::default().array(7).bytes(&self.transaction.0).number(self.gas);
        let out = out.bytes(&self.url).option(self.filter.as_deref()).bytes(&self.contract);
        out.bytes(&self.method).bytes(&self.data).done()
    }
}

fn request_key(id: u64) -> [u8; 9] {
    let mut key = [REQUEST; 9];
    key[1..].copy_from_slice(&id.to_be_bytes());
    key
}

fn list_key(url: &[u8]) -> [u8; 21] {
    let mut key = [LIST; 21];
    key[1..].copy_from_slice(&UInt160::of_script(url).0);
    key
}

/// The pending requests of a URL.
fn load_list(state: &State, key: &[u8]) -> Result<Vec<BigInt>, Fault> {
    let Some(stored) = state.get(ID, key) else { return Ok(Vec::new()) };
    let mut heap = Heap::default();
    let item = serialize::deserialize(&mut heap, &stored)?;
    let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
    list.iter().map(|item| Ok(item.to_integer()?.to_big())).collect()
}

/// The gas of a pending request for its response, in units of 10^-8; `None` if there is no such
/// request.
pub(crate) fn gas_for_answer(state: &State, id: u64) -> Option<u64> {
    Request::load(state, id).map(|request| request.gas)
}

/// The account of the oracle nodes at a height (`Oracle.GetScriptHash`).
pub(crate) fn account(state: &State, height: u32) -> Option<[u8; 20]> {
    let nodes = roles::designated(state, roles::ORACLE, height).ok()?;
    keys::consensus_account(&nodes).ok()
}

/// The script of a response: it calls `finish` (`CreateOracleResponseScript`).
pub(crate) fn answer_script(this: &[u8; 20]) -> Vec<u8> {
    let mut script = vec![opcode::NEWARRAY0, opcode::PUSH0 + flags::ALL, opcode::PUSHDATA1, 6];
    script.extend_from_slice(b"finish");
    script.extend([opcode::PUSHDATA1, 20]);
    script.extend_from_slice(this);
    script.push(opcode::SYSCALL);
    script.extend_from_slice(&number("System.Contract.Call").to_le_bytes());
    script
}

fn encode_list(list: &[BigInt]) -> Vec<u8> {
    Encoder::default().each(list, Encoder::integer).done()
}

/// The oracle response of a transaction.
fn response(transaction: Transaction<'_>) -> Option<(u64, u8, Vec<u8>)> {
    transaction.attributes().find_map(|attribute| match attribute {
        Attribute::OracleResponse { id, code, result } => Some((id, code, result.to_vec())),
        _ => None,
    })
}

fn price(state: &State) -> i64 {
    stored_i64(state, ID, PRICE).unwrap_or(0)
}

fn get_price(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(price(engine.state))))
}

fn set_price(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let price = arguments[0].to_integer()?.to_i64().filter(|price| *price > 0);
    let price = price.ok_or(Fault::Rule("invalid price"))?;
    engine.need_committee()?;
    engine.put_integer(ID, PRICE, price);
    Ok(Some(Item::Null))
}

fn verify(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction"))?;
    Ok(Some(Item::Bool(response(transaction).is_some())))
}

fn request(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let url = arguments[0].to_text()?.into_bytes();
    let filter = match &arguments[1] {
        Item::Null => None,
        filter => Some(filter.to_text()?.into_bytes()),
    };
    let method = arguments[2].to_text()?.into_bytes();
    let gas = arguments[4].to_i64()?;
    let this = engine.native_hash(ID);
    engine.charge_gas(price(engine.state).unsigned_abs()).map_err(|fault| {
        Fault::Message(format!("{fault} executing {}/request", blockmill_verdict::Reversed(&this)))
    })?;
    let too_long = url.len() > MAX_URL
        || filter.as_ref().is_some_and(|filter| filter.len() > MAX_FILTER)
        || method.len() > MAX_CALLBACK;
    if too_long {
        return Err(Fault::Rule("some of the arguments are invalid"));
    }
    if gas < LEAST_GAS {
        return Err(Fault::Rule("not enough gas for response"));
    }
    if method.starts_with(b"_") {
        return Err(Fault::Rule("disallowed callback method (starts with '_')"));
    }
    engine
        .charge_gas(gas.unsigned_abs())
        .map_err(|fault| Fault::Message(format!("{fault} minting reward for Oracle request")))?;
    let contract = engine.vm.calling_hash();
    mint_quietly(engine, gas::ID, this, gas.into())?;
    let id = engine.stored_integer(ID, NEXT_ID);
    engine.put_integer(ID, NEXT_ID, &id + 1);
    let id = u64::try_from(id).map_err(|_| Fault::Range("request"))?;
    if engine.contract(&contract).is_none() {
        return Err(Fault::Rule("requests need a contract"));
    }
    let data = serialize::serialize(&engine.vm.heap, &arguments[3])?;
    if data.len() > MAX_DATA {
        return Err(Fault::Rule("some of the arguments are invalid"));
    }
    let fields = vec![
        Item::integer(id.into())?,
        Item::bytes(&contract),
        Item::bytes(&url),
        filter.as_ref().map_or(Item::Null, |filter| Item::bytes(filter)),
    ];
    engine.notify(this, "OracleRequest", fields)?;
    let transaction = original(engine)?;
    let gas = gas.unsigned_abs();
    let request = Request { transaction, gas, url, filter, contract, method, data };
    put(engine, id, &request)?;
    Ok(Some(Item::Null))
}

/// The original transaction: a request in the callback of a response belongs to it.
fn original(engine: &Engine<'_>) -> Result<UInt256, Fault> {
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction"))?;
    Ok(match response(transaction) {
        None => transaction.hash(),
        Some((id, _, _)) => {
            Request::load(engine.state, id).map_or(UInt256::ZERO, |request| request.transaction)
        }
    })
}

fn put(engine: &mut Engine<'_>, id: u64, request: &Request) -> Result<(), Fault> {
    engine.state.put(ID, &request_key(id), request.encode());
    let key = list_key(&request.url);
    let mut list = load_list(engine.state, &key)?;
    if list.len() >= MAX_REQUESTS {
        return Err(Fault::Rule("there are too many pending requests for the url"));
    }
    list.push(id.into());
    engine.state.put(ID, &key, encode_list(&list));
    Ok(())
}

fn finish(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let this = engine.native_hash(ID);
    if engine.vm.frames() != 2 || engine.invocations.get(&this) != Some(&1) {
        return Err(Fault::Rule("'Oracle.finish' called from non-entry script, or again"));
    }
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction"))?;
    let answer = response(transaction).ok_or(Fault::Rule("oracle response not found"))?;
    let (id, code, result) = answer;
    let not_found = Fault::Rule("oracle request not found");
    let request = Request::load(engine.state, id).ok_or(not_found.clone())?;
    let fields = vec![Item::integer(id.into())?, Item::bytes(&request.transaction.0)];
    engine.notify(this, "OracleResponse", fields)?;
    let asked = (engine.chain.view.transaction)(request.transaction).ok_or(not_found)?;
    let data = serialize::deserialize(&mut engine.vm.heap, &request.data)?;
    let arguments =
        vec![Item::bytes(&request.url), data, Item::Int(code.into()), Item::bytes(&result)];
    let contract = engine.contract(&request.contract);
    let contract = contract.ok_or(Fault::Rule("no contract to call back"))?;
    engine.other_signers = Some(asked.transaction);
    let method = String::from_utf8_lossy(&request.method).into_owned();
    let then = Box::new(|engine: &mut Engine<'_>| {
        engine.other_signers = None;
        engine.finish_native(Item::Null)
    });
    engine.call_from_native(this, &contract, &method, arguments, false, then)?;
    Ok(None)
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_none() {
        engine.put_integer(ID, NEXT_ID, 0);
        engine.put_integer(ID, PRICE, DEFAULT_PRICE);
    }
    Ok(())
}

/// Removes answered requests and rewards the oracle nodes.
fn post_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let block = engine.block;
    let mut rewards: Option<Vec<(crate::types::PublicKey, i64)>> = None;
    for transaction in block.transactions() {
        let Some((id, _, _)) = response(transaction) else { continue };
        let Some(request) = Request::load(engine.state, id) else { continue };
        engine.state.delete(ID, &request_key(id));
        let key = list_key(&request.url);
        let mut list = load_list(engine.state, &key)?;
        let place = list.iter().position(|each| *each == BigInt::from(id));
        list.remove(place.ok_or(Fault::Rule("response ID wasn't found"))?);
        match list.is_empty() {
            true => engine.state.delete(ID, &key),
            false => engine.state.put(ID, &key, encode_list(&list)),
        }
        if rewards.is_none() {
            let nodes = roles::designated(engine.state, roles::ORACLE, block.header.index)?;
            rewards = Some(nodes.into_iter().map(|node| (node, 0)).collect());
        }
        let single = price(engine.state);
        let nodes = rewards.as_mut().filter(|nodes| !nodes.is_empty());
        if let Some(nodes) = nodes {
            let index = (id % nodes.len() as u64) as usize;
            nodes[index].1 += single;
        }
    }
    for (node, reward) in rewards.unwrap_or_default() {
        let account = keys::account(&node);
        mint_quietly(engine, gas::ID, account, reward.into())?;
    }
    Ok(())
}
