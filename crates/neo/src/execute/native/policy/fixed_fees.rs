//! Fixed fees of contract methods (since Faun).

use super::ID;
use crate::{
    execute::{
        contract::{Contract, Method},
        encode::Encoder,
        engine::Engine,
        interop::iterator::Iteration,
        vm::{Fault, Heap, Item, serialize},
    },
    state::{Direction, State},
};

const FIXED: u8 = 16;

fn key(contract: &[u8; 20], offset: u32) -> [u8; 25] {
    let mut key = [FIXED; 25];
    key[1..21].copy_from_slice(contract);
    key[21..].copy_from_slice(&offset.to_be_bytes());
    key
}

/// The stored record of a method with a fixed fee.
struct Fixed {
    method: String,
    arguments: i64,
    fee: i64,
}

impl Fixed {
    fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, bytes)?;
        let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
        let [_, method, arguments, fee] = list else { return Err(Fault::Rule("invalid fee")) };
        Ok(Self { method: method.to_text()?, arguments: arguments.to_i64()?, fee: fee.to_i64()? })
    }
}

/// The fixed fee of the method at an offset, in units of 10^-8 GAS.
pub(crate) fn whitelisted(state: &State, contract: &[u8; 20], offset: u32) -> Option<u64> {
    // nearly always there is none
    let any = || state.find_all(ID, &[FIXED], Direction::Forwards).next().is_some();
    if !state.native_cache().fixes_any.get_or_compute(state.version(&[ID]), any) {
        return None;
    }
    let stored = state.get(ID, &key(contract, offset))?;
    Fixed::decode(&stored).ok().map(|fixed| fixed.fee.unsigned_abs())
}

/// The fixed fee of a method, in units of 10^-8 GAS.
pub(crate) fn fixed_fee(state: &State, contract: &Contract, method: &Method) -> Option<u64> {
    whitelisted(state, &contract.hash, method.offset as u32)
}

fn emit(
    engine: &mut Engine<'_>,
    contract: &[u8; 20],
    method: &str,
    arguments: i64,
    fee: Item,
) -> Result<(), Fault> {
    let this = engine.native_hash(ID);
    let method = Item::bytes(method.as_bytes());
    let fields = vec![Item::bytes(contract), method, Item::Int(arguments), fee];
    engine.notify(this, "WhitelistFeeChanged", fields)
}

/// Removes the fixed fees of a contract.
pub(crate) fn clean_whitelist(engine: &mut Engine<'_>, contract: &[u8; 20]) -> Result<(), Fault> {
    let mut prefix = vec![FIXED];
    prefix.extend_from_slice(contract);
    let stored: Vec<_> = engine.state.find_all(ID, &prefix, Direction::Forwards).collect();
    for (key, value) in stored {
        let fixed = Fixed::decode(&value)?;
        engine.state.delete(ID, key.key());
        emit(engine, contract, &fixed.method, fixed.arguments, Item::Null)?;
    }
    Ok(())
}

/// The contract, the method's name, the number of its arguments and its offset.
type Named = ([u8; 20], String, i64, u32);

/// The method in the first three arguments.
fn named(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Named, Fault> {
    let hash = arguments[0].to_array()?;
    let name = arguments[1].to_text()?;
    let count = arguments[2].to_i64()?;
    let contract = engine.contract(&hash).ok_or(Fault::Rule("contract not found"))?;
    let parameters = match count {
        -1 => None,
        count => Some(usize::try_from(count).map_err(|_| Fault::Rule("method not found"))?),
    };
    let method = contract.manifest.method(&name, parameters);
    let offset = method.ok_or(Fault::Rule("method not found"))?.offset as u32;
    Ok((hash, name, count, offset))
}

/// `setWhitelistFeeContract`.
pub(super) fn set(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let fee = arguments[3].to_i64()?;
    if fee < 0 {
        return Err(Fault::Message(format!("fee should be positive, got {fee}")));
    }
    engine.need_committee()?;
    let (hash, name, count, offset) = named(engine, arguments)?;
    let value = Encoder::default().structure(4).bytes(&hash).bytes(name.as_bytes());
    let value = value.number(count).number(fee).done();
    engine.state.put(ID, &key(&hash, offset), value);
    emit(engine, &hash, &name, count, Item::Int(fee))?;
    Ok(Some(Item::Null))
}

/// `removeWhitelistFeeContract`.
pub(super) fn remove(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    engine.need_committee()?;
    let (hash, name, count, offset) = named(engine, arguments)?;
    let key = key(&hash, offset);
    if engine.state.get(ID, &key).is_none() {
        return Err(Fault::Rule("whitelist not found"));
    }
    engine.state.delete(ID, &key);
    emit(engine, &hash, &name, count, Item::Null)?;
    Ok(Some(Item::Null))
}

/// `getWhitelistFeeContracts`.
pub(super) fn get_all(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let stored = engine.state.find_all(ID, &[FIXED], Direction::Forwards);
    let items = stored.map(|(_, value)| value.to_vec()).collect();
    Ok(Some(Iteration::list(items)))
}
