//! ContractManagement: deploys, updates and destroys contracts, including the native ones.

mod deploy;
mod queries;

use self::{
    deploy::{deploy, update},
    queries::{get_contract, get_contract_by_id, get_contract_hashes, has_method, is_contract},
};
use super::{Definition, Event, Method, nothing, policy, stored_i64};
use crate::{
    execute::{
        contract::{Contract, ParamType},
        encode::integer_bytes,
        engine::{Engine, flags},
        vm::{Fault, Heap, Item, MAX_SIZE, serialize},
    },
    params::Hardfork,
    state::{Direction, State, StorageKey, Value},
};

/// The contract's id.
pub const ID: i32 = -1;
const CONTRACT: u8 = 8;
const HASH: u8 = 12;
const NEXT_ID: &[u8] = &[15];
const MINIMUM_FEE: &[u8] = &[20];
/// 10 GAS.
const DEFAULT_FEE: i64 = 10_0000_0000;
/// Length limit of a manifest.
const MAX_MANIFEST: usize = 65_535;
const BIG: u64 = 1 << 15;

use ParamType::{Any, Array, Boolean, ByteArray, Hash160, Integer, InteropInterface, String, Void};
use flags::{ALL, NOTIFY, READ, STATES};

const CODE: [(&str, ParamType); 3] =
    [("nefFile", ByteArray), ("manifest", ByteArray), ("data", Any)];
const HAS_METHOD: &[(&str, ParamType)] =
    &[("hash", Hash160), ("method", String), ("pcount", Integer)];
const CHANGED: &[(&str, ParamType)] = &[("Hash", Hash160)];
const GORGON: Hardfork = Hardfork::Gorgon;

pub(super) static DEFINITION: Definition = Definition {
    name: "ContractManagement",
    id: ID,
    active_in: None,
    methods: &[&[
        Method::new("getContract", &[("hash", Hash160)], Array, BIG, READ, get_contract),
        Method::new("deploy", CODE.split_at(2).0, Array, 0, ALL, deploy),
        Method::new("deploy", &CODE, Array, 0, ALL, deploy),
        Method::new("update", CODE.split_at(2).0, Void, 0, ALL, update),
        Method::new("update", &CODE, Void, 0, ALL, update),
        Method::new("destroy", &[], Void, BIG, STATES | NOTIFY, destroy).till(GORGON),
        Method::new("destroy", &[], Void, BIG, STATES | NOTIFY, destroy).from(GORGON),
        Method::new("getMinimumDeploymentFee", &[], Integer, BIG, READ, get_fee),
        Method::new("setMinimumDeploymentFee", &[("value", Integer)], Void, BIG, STATES, set_fee),
        Method::new("hasMethod", HAS_METHOD, Boolean, BIG, READ, has_method),
        Method::new("getContractById", &[("id", Integer)], Array, BIG, READ, get_contract_by_id),
        Method::new("getContractHashes", &[], InteropInterface, BIG, READ, get_contract_hashes),
        Method::new("isContract", &[("hash", Hash160)], Boolean, 1 << 14, READ, is_contract)
            .from(Hardfork::Echidna),
    ]],
    events: &[&[
        Event::new("Deploy", CHANGED),
        Event::new("Update", CHANGED),
        Event::new("Destroy", CHANGED),
    ]],
    standards: &[],
    initialize,
    on_persist,
    post_persist: nothing,
};

fn contract_key(hash: &[u8; 20]) -> [u8; 21] {
    let mut key = [CONTRACT; 21];
    key[1..].copy_from_slice(hash);
    key
}

fn id_key(id: i32) -> [u8; 5] {
    let mut key = [HASH; 5];
    key[1..].copy_from_slice(&id.to_be_bytes());
    key
}

/// The contract whose record has this key.
pub(crate) fn contract_of_key(id: i32, key: &[u8]) -> Option<[u8; 20]> {
    match key {
        [CONTRACT, hash @ ..] if id == ID => hash.try_into().ok(),
        _ => None,
    }
}

/// The key of a contract's record.
pub(crate) fn key_of(hash: &[u8; 20]) -> Option<StorageKey> {
    StorageKey::new(ID, &contract_key(hash))
}

/// The record of a contract.
pub(crate) fn stored(state: &State, hash: &[u8; 20]) -> Option<Value> {
    state.get(ID, &contract_key(hash))
}

/// The hash of the contract with an id, native ones included.
pub(crate) fn hash_of(state: &State, id: i32) -> Option<[u8; 20]> {
    state.get(ID, &id_key(id)).and_then(|hash| hash[..].try_into().ok())
}

/// A stored contract as an item.
fn item_of(engine: &mut Engine<'_>, hash: &[u8; 20]) -> Result<Item, Fault> {
    match stored(engine.state, hash) {
        Some(value) => serialize::deserialize(&mut engine.vm.heap, &value),
        None => Ok(Item::Null),
    }
}

fn minimum_fee(state: &State) -> i64 {
    stored_i64(state, ID, MINIMUM_FEE).unwrap_or(0)
}

fn get_fee(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(minimum_fee(engine.state))))
}

fn set_fee(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let fee = arguments[0].to_integer()?;
    if fee.signum() < 0 {
        return Err(Fault::Rule("MinimumDeploymentFee cannot be negative"));
    }
    engine.need_committee()?;
    engine.state.put(ID, MINIMUM_FEE, integer_bytes(&fee.to_big()));
    Ok(Some(Item::Null))
}

/// Stores a contract.
fn put(engine: &mut Engine<'_>, contract: &Contract) -> Result<(), Fault> {
    let bytes = contract.encode();
    if bytes.len() > MAX_SIZE {
        return Err(Fault::TooBig(bytes.len()));
    }
    // decoding enforces the limit of items
    serialize::deserialize(&mut Heap::default(), &bytes)?;
    engine.state.put(ID, &contract_key(&contract.hash), bytes);
    if contract.updates == 0 {
        engine.state.put(ID, &id_key(contract.id), &contract.hash[..]);
    }
    Ok(())
}

fn emit(engine: &mut Engine<'_>, name: &'static str, hash: &[u8; 20]) -> Result<(), Fault> {
    let this = engine.native_hash(ID);
    engine.notify(this, name, vec![Item::bytes(hash)])
}

fn erase(engine: &mut Engine<'_>, contract: &Contract) {
    engine.state.delete(ID, &contract_key(&contract.hash));
    engine.state.delete(ID, &id_key(contract.id));
    let keys: Vec<StorageKey> =
        engine.state.find_all(contract.id, &[], Direction::Forwards).map(|(key, _)| key).collect();
    for key in keys {
        engine.state.delete(contract.id, key.key());
    }
}

fn destroy(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let hash = engine.vm.calling_hash();
    let contract = engine.contract(&hash).ok_or(Fault::Rule("key not found"))?;
    let block_first = engine.is_active(Hardfork::Gorgon);
    if !block_first {
        erase(engine, &contract);
    }
    let then = Box::new(move |engine: &mut Engine<'_>, _: bool| {
        policy::clean_whitelist(engine, &hash)?;
        if block_first {
            erase(engine, &contract);
        }
        emit(engine, "Destroy", &hash)?;
        engine.finish_native(Item::Null)
    });
    policy::block_account(engine, hash, then)?;
    Ok(None)
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_none() {
        engine.put_integer(ID, MINIMUM_FEE, DEFAULT_FEE);
        engine.put_integer(ID, NEXT_ID, 1);
    }
    Ok(())
}

/// Deploys and updates native contracts at the genesis block and at hardforks.
fn on_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let chain = engine.chain;
    for native in &chain.natives.list {
        let Some(due) = native.due(&chain.protocol, engine.block.header.index) else { continue };
        let updates = match due.deploys {
            true => 0,
            false => {
                let old = engine.contract(&native.hash);
                old.ok_or(Fault::Rule("no native contract to update"))?.updates + 1
            }
        };
        let contract = native.contract(due.latest, updates);
        put(engine, &contract)?;
        let initialize = native.definition.initialize;
        if due.deploys {
            initialize(engine, None)?;
        }
        for hardfork in due.forks {
            initialize(engine, Some(hardfork))?;
        }
        emit(engine, if due.deploys { "Deploy" } else { "Update" }, &native.hash)?;
    }
    Ok(())
}
