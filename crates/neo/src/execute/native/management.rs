//! ContractManagement: deploys, updates and destroys contracts, and keeps the native ones.

use std::sync::Arc;

use super::{Definition, Event, Method, nothing, policy, stored_i64};
use crate::{
    execute::{
        contract::{Contract, Manifest, Nef, ParamType, check_methods, contract_hash},
        encode::integer_bytes,
        engine::{Engine, flags},
        interop::{
            iterator::{Iteration, options},
            keys,
        },
        vm::{Fault, Heap, Item, MAX_SIZE, PICO, serialize},
    },
    params::Hardfork,
    state::{Direction, State, StorageKey, Value},
};
use blockmill_hashes::sha256;

/// The contract's number.
pub const ID: i32 = -1;
const CONTRACT: u8 = 8;
const HASH: u8 = 12;
const NEXT_ID: &[u8] = &[15];
const MINIMUM_FEE: &[u8] = &[20];
/// 10 GAS.
const DEFAULT_FEE: i64 = 10_0000_0000;
/// The longest manifest.
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

/// The contract whose record stands under a key of the state.
pub(crate) fn contract_of_key(id: i32, key: &[u8]) -> Option<[u8; 20]> {
    match key {
        [CONTRACT, hash @ ..] if id == ID => hash.try_into().ok(),
        _ => None,
    }
}

/// The key of a contract's record in the state.
pub(crate) fn key_of(hash: &[u8; 20]) -> Option<StorageKey> {
    StorageKey::new(ID, &contract_key(hash))
}

/// What is stored of a contract.
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

fn get_contract(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let hash = arguments[0].to_array()?;
    item_of(engine, &hash).map(Some)
}

fn get_contract_by_id(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let id = arguments[0].to_integer()?.to_i32()?;
    match hash_of(engine.state, id) {
        Some(hash) => item_of(engine, &hash).map(Some),
        None => Ok(Some(Item::Null)),
    }
}

fn is_contract(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let hash = arguments[0].to_array()?;
    Ok(Some(Item::Bool(stored(engine.state, &hash).is_some())))
}

fn has_method(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let hash = arguments[0].to_array()?;
    let name = arguments[1].to_text()?;
    let count = arguments[2].to_i64()?;
    let found = engine.contract(&hash).is_some_and(|contract| match count {
        -1 => contract.manifest.method(&name, None).is_some(),
        count => usize::try_from(count)
            .is_ok_and(|count| contract.manifest.method(&name, Some(count)).is_some()),
    });
    Ok(Some(Item::Bool(found)))
}

fn get_contract_hashes(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let find = engine.state.find(ID, &[HASH], &[], Direction::Forwards);
    // those of native contracts are negative
    let deployed = |_: &Engine<'_>, key: &StorageKey, _: &Value| {
        matches!(key.key(), [_, first, _, _, _] if *first < 0x80)
            && key.key()[1..] != i32::MAX.to_be_bytes()
    };
    Ok(Some(Iteration::storage(find, 1, options::REMOVE_PREFIX, Some(deployed))))
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

fn bytes_or_null(item: &Item, max: usize) -> Result<Option<Vec<u8>>, Fault> {
    if matches!(item, Item::Null) {
        return Ok(None);
    }
    let bytes = item.to_bytes()?;
    if bytes.is_empty() || bytes.len() > max {
        return Err(Fault::TooBig(bytes.len()));
    }
    Ok(Some(bytes))
}

/// Reads and pays for code and manifest.
fn parts(
    engine: &mut Engine<'_>,
    arguments: &[Item],
    deploys: bool,
) -> Result<(Option<Nef>, Option<Manifest>), Fault> {
    let nef = bytes_or_null(&arguments[0], usize::MAX)?;
    let manifest = bytes_or_null(&arguments[1], MAX_MANIFEST)?;
    let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let bytes = length(&nef) + length(&manifest);
    let mut fee = bytes as u128 * u128::from(engine.storage_fee);
    if deploys {
        // a product beyond 64 bits is another number in the reference client
        let least = minimum_fee(engine.state).wrapping_mul(PICO as i64);
        fee = fee.max(u128::try_from(least).unwrap_or(0));
    }
    engine.vm.add_gas(fee)?;
    let nef = nef.map(|bytes| Nef::decode(&bytes)).transpose();
    let nef = nef.map_err(|error| Fault::Message(format!("invalid NEF file: {error}")))?;
    let manifest = manifest.map(|bytes| Manifest::parse(&bytes)).transpose();
    Ok((nef, manifest.map_err(invalid_manifest)?))
}

fn invalid_manifest(error: crate::execute::contract::Error) -> Fault {
    Fault::Message(match error {
        error @ crate::execute::contract::Error::NotUtf8 => error.to_string(),
        error => format!("invalid manifest: {error}"),
    })
}

fn check_manifest(manifest: &Manifest, hash: &[u8; 20]) -> Result<(), Fault> {
    manifest.check().map_err(invalid_manifest)?;
    let digest = sha256(hash);
    let signed = |group: &crate::execute::contract::Group| {
        keys::verify(&group.key, digest, &group.signature)
    };
    match manifest.groups.iter().all(signed) {
        true => Ok(()),
        false => Err(Fault::Rule("incorrect group signature")),
    }
}

fn check_code(engine: &Engine<'_>, nef: &Nef, manifest: &Manifest) -> Result<(), Fault> {
    let mut methods = manifest.methods.iter();
    if let Some(method) = methods.find(|method| method.offset as usize >= nef.script.len()) {
        let (name, count) = (&method.name, method.parameters.len());
        let text = format!("method {name}/{count}: offset is out of the script range");
        return Err(Fault::Message(text));
    }
    let starts = manifest.methods.iter().map(|method| method.offset as usize);
    let strict = engine.is_active(Hardfork::Basilisk);
    check_methods(&nef.script, starts, strict).map_err(|error| Fault::Message(error.to_string()))
}

/// Puts a contract into the state.
fn put(engine: &mut Engine<'_>, contract: &Contract) -> Result<(), Fault> {
    let bytes = contract.encode();
    if bytes.len() > MAX_SIZE {
        return Err(Fault::TooBig(bytes.len()));
    }
    // too many parts are found where they are read
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

fn deploy(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let (nef, manifest) = parts(engine, arguments, true)?;
    let nef = nef.ok_or(Fault::Rule("no valid NEF provided"))?;
    let manifest = manifest.ok_or(Fault::Rule("no valid manifest provided"))?;
    let transaction = engine.transaction.ok_or(Fault::Rule("no transaction provided"))?;
    let hash = contract_hash(&transaction.sender().0, nef.checksum, &manifest.name);
    if policy::is_blocked(engine.state, &hash) {
        return Err(Fault::Rule("the contract has been blocked"));
    }
    if stored(engine.state, &hash).is_some() {
        return Err(Fault::Rule("contract already exists"));
    }
    let id = stored_i64(engine.state, ID, NEXT_ID).unwrap_or(1);
    engine.put_integer(ID, NEXT_ID, id + 1);
    check_manifest(&manifest, &hash)?;
    check_code(engine, &nef, &manifest)?;
    let contract = Contract::new(id as i32, 0, hash, nef, manifest);
    put(engine, &contract)?;
    call_deploy(engine, Arc::new(contract), arguments.get(2), false)
}

fn update(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let (nef, manifest) = parts(engine, arguments, false)?;
    if nef.is_none() && manifest.is_none() {
        return Err(Fault::Rule("both NEF and manifest are nil"));
    }
    let hash = engine.vm.calling_hash();
    let old = engine.contract(&hash).ok_or(Fault::Rule("contract doesn't exist"))?;
    let updates = old.updates.checked_add(1);
    let updates =
        updates.ok_or(Fault::Rule("the contract reached the maximum number of updates"))?;
    policy::clean_whitelist(engine, &hash)?;
    let nef = nef.unwrap_or_else(|| old.nef.clone());
    let manifest = match manifest {
        Some(manifest) => {
            if manifest.name != old.manifest.name {
                return Err(Fault::Rule("contract name can't be changed"));
            }
            check_manifest(&manifest, &hash)?;
            manifest
        }
        None => old.manifest.clone(),
    };
    check_code(engine, &nef, &manifest)?;
    let contract = Contract::new(old.id, updates, hash, nef, manifest);
    put(engine, &contract)?;
    call_deploy(engine, Arc::new(contract), arguments.get(2), true)
}

/// Calls the contract's `_deploy`, if it has one, and says that it was deployed or updated.
fn call_deploy(
    engine: &mut Engine<'_>,
    contract: Arc<Contract>,
    data: Option<&Item>,
    updates: bool,
) -> Result<Option<Item>, Fault> {
    let hash = contract.hash;
    let end = move |engine: &mut Engine<'_>| {
        emit(engine, if updates { "Update" } else { "Deploy" }, &hash)?;
        if updates { Ok(Item::Null) } else { item_of(engine, &hash) }
    };
    if contract.manifest.method("_deploy", Some(2)).is_none() {
        return end(engine).map(Some);
    }
    let this = engine.native_hash(ID);
    let arguments = vec![data.cloned().unwrap_or(Item::Null), Item::Bool(updates)];
    let then = Box::new(move |engine: &mut Engine<'_>| {
        let result = end(engine)?;
        engine.finish_native(result)
    });
    engine.call_from_native(this, &contract, "_deploy", arguments, false, then)?;
    Ok(None)
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

/// Deploys and updates native contracts where the genesis block or a hardfork does.
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
