//! Methods of ContractManagement that read deployed contracts.

use super::{HASH, ID, hash_of, item_of, stored};
use crate::{
    execute::{
        engine::Engine,
        interop::iterator::{Iteration, options},
        vm::{Fault, Item},
    },
    state::{Direction, StorageKey, Value},
};

pub(super) fn get_contract(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let hash = arguments[0].to_array()?;
    item_of(engine, &hash).map(Some)
}

pub(super) fn get_contract_by_id(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let id = arguments[0].to_integer()?.to_i32()?;
    match hash_of(engine.state, id) {
        Some(hash) => item_of(engine, &hash).map(Some),
        None => Ok(Some(Item::Null)),
    }
}

pub(super) fn is_contract(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let hash = arguments[0].to_array()?;
    Ok(Some(Item::Bool(stored(engine.state, &hash).is_some())))
}

pub(super) fn has_method(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
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

pub(super) fn get_contract_hashes(
    engine: &mut Engine<'_>,
    _: &[Item],
) -> Result<Option<Item>, Fault> {
    let find = engine.state.find(ID, &[HASH], &[], Direction::Forwards);
    // ids of native contracts are negative
    let deployed = |_: &Engine<'_>, key: &StorageKey, _: &Value| {
        matches!(key.key(), [_, first, _, _, _] if *first < 0x80)
            && key.key()[1..] != i32::MAX.to_be_bytes()
    };
    Ok(Some(Iteration::storage(find, 1, options::REMOVE_PREFIX, Some(deployed))))
}
