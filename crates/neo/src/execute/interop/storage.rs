//! Storage of contracts.

use std::rc::Rc;

use super::{
    Interop,
    iterator::{Iteration, options},
};
use crate::{
    execute::{
        engine::Engine,
        vm::{Fault, Item},
    },
    state::{Direction, MAX_STORAGE_KEY, MAX_STORAGE_VALUE},
};

/// The id of the running contract.
fn running(engine: &mut Engine<'_>) -> Result<i32, Fault> {
    let hash = engine.vm.current_hash();
    let contract = engine.contract(&hash);
    contract.map(|contract| contract.id).ok_or(Fault::Rule(
        "storage context can not be retrieved in dynamic scripts: key not found",
    ))
}

fn pop_context(engine: &mut Engine<'_>) -> Result<(i32, bool), Fault> {
    let item = engine.vm.pop()?;
    if let Item::Interop(interop) = &item
        && let Interop::Storage { contract, read_only } = &**interop
    {
        return Ok((*contract, *read_only));
    }
    Err(no_context(&item))
}

fn no_context(item: &Item) -> Fault {
    let found = if matches!(item, Item::Null) { "<nil>" } else { item.value_type() };
    Fault::Message(format!("{found} is not a storage.Context"))
}

fn push_context(engine: &mut Engine<'_>, read_only: bool) -> Result<(), Fault> {
    let contract = running(engine)?;
    engine.vm.push(Item::interop(Interop::Storage { contract, read_only }));
    Ok(())
}

/// `System.Storage.GetContext`.
pub(super) fn get_context(engine: &mut Engine<'_>) -> Result<(), Fault> {
    push_context(engine, false)
}

/// `System.Storage.GetReadOnlyContext`.
pub(super) fn get_read_only_context(engine: &mut Engine<'_>) -> Result<(), Fault> {
    push_context(engine, true)
}

/// `System.Storage.AsReadOnly`.
pub(super) fn as_read_only(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let item = engine.vm.pop()?;
    let Item::Interop(interop) = &item else { return Err(no_context(&item)) };
    match **interop {
        Interop::Storage { read_only: true, .. } => {
            let same = Rc::clone(interop);
            engine.vm.push(Item::Interop(same));
        }
        Interop::Storage { contract, .. } => {
            engine.vm.push(Item::interop(Interop::Storage { contract, read_only: true }));
        }
        _ => return Err(no_context(&item)),
    }
    Ok(())
}

/// Rejects a key that is too long, with neo-go's message: its key buffer has 69 bytes with prefix
/// and contract. The C# node finds nothing under such a key.
fn check_key(key: &[u8]) -> Result<(), Fault> {
    if key.len() > MAX_STORAGE_KEY {
        let (end, capacity) = (5 + key.len(), 5 + MAX_STORAGE_KEY);
        return Err(Fault::Panicked(format!(
            "runtime error: slice bounds out of range [:{end}] with capacity {capacity}"
        )));
    }
    Ok(())
}

fn get_from(engine: &mut Engine<'_>, contract: i32, key: &[u8]) -> Result<(), Fault> {
    check_key(key)?;
    let value = engine.state.get(contract, key);
    engine.vm.push(value.map_or(Item::Null, |value| Item::bytes(&value)));
    Ok(())
}

/// `System.Storage.Get`.
pub(super) fn get(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let (contract, _) = pop_context(engine)?;
    let key = engine.vm.pop()?.to_bytes()?;
    get_from(engine, contract, &key)
}

/// `System.Storage.Local.Get`.
pub(super) fn local_get(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let key = engine.vm.pop()?.to_bytes()?;
    let contract = running(engine)?;
    get_from(engine, contract, &key)
}

fn put_to(
    engine: &mut Engine<'_>,
    contract: i32,
    read_only: bool,
    key: &[u8],
    value: &[u8],
) -> Result<(), Fault> {
    if key.len() > MAX_STORAGE_KEY {
        return Err(Fault::Rule("key is too big"));
    }
    if value.len() > MAX_STORAGE_VALUE {
        return Err(Fault::Rule("value is too big"));
    }
    if read_only {
        return Err(Fault::Rule("storage.Context is read only"));
    }
    let old = engine.state.get(contract, key).map(|old| old.len());
    // overwritten bytes cost a quarter
    let paid = match (old, value.len()) {
        (None, len) => key.len() + len,
        (Some(_), 0) => 0,
        (Some(old), len) if len <= old => (len - 1) / 4 + 1,
        (Some(0), len) => len,
        (Some(old), len) => (old - 1) / 4 + 1 + len - old,
    };
    engine.vm.add_gas(paid as u128 * u128::from(engine.storage_fee))?;
    engine.state.put(contract, key, value);
    Ok(())
}

/// `System.Storage.Put`.
pub(super) fn put(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let (contract, read_only) = pop_context(engine)?;
    let key = engine.vm.pop()?.to_bytes()?;
    let value = engine.vm.pop()?.to_bytes()?;
    put_to(engine, contract, read_only, &key, &value)
}

/// `System.Storage.Local.Put`.
pub(super) fn local_put(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let key = engine.vm.pop()?.to_bytes()?;
    let value = engine.vm.pop()?.to_bytes()?;
    let contract = running(engine)?;
    put_to(engine, contract, false, &key, &value)
}

/// `System.Storage.Delete`.
pub(super) fn delete(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let (contract, read_only) = pop_context(engine)?;
    let key = engine.vm.pop()?.to_bytes()?;
    if read_only {
        return Err(Fault::Rule("storage.Context is read only"));
    }
    check_key(&key)?;
    engine.state.delete(contract, &key);
    Ok(())
}

/// `System.Storage.Local.Delete`.
pub(super) fn local_delete(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let key = engine.vm.pop()?.to_bytes()?;
    let contract = running(engine)?;
    check_key(&key)?;
    engine.state.delete(contract, &key);
    Ok(())
}

/// `System.Storage.Find`.
pub(super) fn find(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let (contract, _) = pop_context(engine)?;
    let prefix = engine.vm.pop()?.to_bytes()?;
    let options = engine.vm.pop_integer()?.low_i64();
    find_in(engine, contract, &prefix, options)
}

/// `System.Storage.Local.Find`.
pub(super) fn local_find(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let prefix = engine.vm.pop()?.to_bytes()?;
    let options = engine.vm.pop_integer()?.low_i64();
    let contract = running(engine)?;
    find_in(engine, contract, &prefix, options)
}

fn find_in(
    engine: &mut Engine<'_>,
    contract: i32,
    prefix: &[u8],
    wanted: i64,
) -> Result<(), Fault> {
    let has = |flags: i64| wanted & flags != 0;
    let picks = has(options::PICK_0) || has(options::PICK_1);
    if has(!options::ALL)
        || has(options::KEYS_ONLY) && (has(options::DESERIALIZE) || picks)
        || has(options::VALUES_ONLY) && has(options::KEYS_ONLY | options::REMOVE_PREFIX)
        || has(options::PICK_0) && has(options::PICK_1)
        || picks && !has(options::DESERIALIZE)
    {
        return Err(Fault::Rule("invalid Find options"));
    }
    check_key(prefix)?;
    let direction = match has(options::BACKWARDS) {
        true => Direction::Backwards,
        false => Direction::Forwards,
    };
    let found = engine.state.find(contract, prefix, &[], direction);
    engine.vm.push(Iteration::storage(found, prefix.len(), wanted, None));
    Ok(())
}
