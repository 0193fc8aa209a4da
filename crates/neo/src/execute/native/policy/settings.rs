//! Fees and limits.

use num_bigint::BigInt;

use super::{ID, blocked, blocked_key};
use crate::{
    execute::{
        engine::Engine,
        native::stored_i64,
        vm::{Fault, Item, PICO},
    },
    params::{Hardfork, Protocol},
    state::{State, StorageKey},
};

const FEE_PER_BYTE: &[u8] = &[10];
const EXEC_FEE_FACTOR: &[u8] = &[18];
const STORAGE_PRICE: &[u8] = &[19];
const ATTRIBUTE_FEE: u8 = 20;
const MILLISECONDS: &[u8] = &[21];
const VALID_UNTIL: &[u8] = &[22];
const TRACEABLE: &[u8] = &[23];

const DEFAULT_FEE_FACTOR: i64 = 30;
const DEFAULT_STORAGE_PRICE: i64 = 100_000;
const DEFAULT_FEE_PER_BYTE: i64 = 1_000;
/// 0.1 GAS.
const DEFAULT_NOTARY_FEE: i64 = 10_000_000;
const MAX_FEE_FACTOR: u32 = 100;
const MAX_STORAGE_PRICE: u32 = 10_000_000;
const MAX_FEE_PER_BYTE: i64 = 100_000_000;
const MAX_ATTRIBUTE_FEE: u32 = 10_0000_0000;
const MAX_MILLISECONDS: u32 = 30_000;
const MAX_VALID_UNTIL: u32 = 86_400;
const MAX_TRACEABLE: u32 = 2_102_400;

/// The attribute types with a fee.
const KNOWN_ATTRIBUTES: [u8; 5] = [0x01, 0x11, 0x20, 0x21, NOTARY_ASSISTED];
/// The type of the attribute `NotaryAssisted`.
pub(crate) const NOTARY_ASSISTED: u8 = 0x22;
const RESERVED_ATTRIBUTES: std::ops::RangeInclusive<u8> = 0xe0..=0xff;

fn number(state: &State, key: &[u8]) -> i64 {
    let stored = || stored_i64(state, ID, key).unwrap_or(0);
    let known = match key {
        [number] => {
            state.native_cache().policy.get(usize::from(number.wrapping_sub(FEE_PER_BYTE[0])))
        }
        _ => None,
    };
    known.map_or_else(stored, |known| known.get_or_compute(state.version(&[ID]), stored))
}

/// Reports whether the stored factor is in units of 10^-12. Faun changes the unit and deploys the
/// treasury.
fn has_pico_factor(state: &State) -> bool {
    let version = state.version(&[super::super::management::ID]);
    state.native_cache().has_pico_factor.get_or_compute(version, || {
        super::super::management::stored(state, &super::super::treasury::hash()).is_some()
    })
}

/// The fee of an opcode with coefficient 1, in units of 10^-12.
pub(crate) fn exec_fee_factor(state: &State, genesis: bool) -> u64 {
    if genesis {
        return DEFAULT_FEE_FACTOR as u64 * PICO as u64;
    }
    let factor = number(state, EXEC_FEE_FACTOR).unsigned_abs();
    if has_pico_factor(state) { factor } else { factor * PICO as u64 }
}

/// The fee of a byte of storage, in units of 10^-12.
pub(crate) fn storage_fee(state: &State, genesis: bool) -> u64 {
    let price = if genesis { DEFAULT_STORAGE_PRICE } else { number(state, STORAGE_PRICE) };
    price.unsigned_abs() * PICO as u64
}

/// The network fee of a byte of a transaction, in units of 10^-8 GAS.
pub(crate) fn fee_per_byte(state: &State) -> u64 {
    number(state, FEE_PER_BYTE).unsigned_abs()
}

/// The fee of an attribute of a transaction, in units of 10^-8 GAS.
pub(crate) fn attribute_fee(state: &State, kind: u8) -> u32 {
    number(state, &[ATTRIBUTE_FEE, kind]) as u32
}

/// `MaxTraceableBlocks` in the block at a height.
pub(crate) fn traceable_blocks(state: &State, protocol: &Protocol, height: u32) -> u32 {
    match protocol.hardforks.holds(Hardfork::Echidna, height) {
        true => number(state, TRACEABLE) as u32,
        false => protocol.max_traceable_blocks,
    }
}

/// The key of `MaxTraceableBlocks` in Policy, from Echidna on. It can only be lowered.
pub(crate) fn traceable_key() -> Option<StorageKey> {
    StorageKey::new(ID, TRACEABLE)
}

/// `MaxValidUntilBlockIncrement` in the block at a height.
pub(crate) fn valid_until_increment(state: &State, protocol: &Protocol, height: u32) -> u32 {
    match protocol.hardforks.holds(Hardfork::Echidna, height) {
        true => number(state, VALID_UNTIL) as u32,
        false => protocol.max_valid_until_block_increment,
    }
}

fn get(engine: &Engine<'_>, key: &[u8]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(number(engine.state, key))))
}

fn u32_of(item: &Item) -> Result<u32, Fault> {
    u32::try_from(item.to_i64()?)
        .map_err(|_| Fault::Rule("invalid value: bigint is not in uint32 range"))
}

fn set(engine: &mut Engine<'_>, key: &[u8], value: i64) -> Result<Option<Item>, Fault> {
    engine.need_committee()?;
    engine.put_integer(ID, key, value);
    Ok(Some(Item::Null))
}

/// An argument between 1 and `max`.
fn positive(item: &Item, max: u32, rule: &'static str) -> Result<u32, Fault> {
    let value = u32_of(item)?;
    if value == 0 || value > max { Err(Fault::Rule(rule)) } else { Ok(value) }
}

pub(super) fn get_fee_per_byte(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    get(engine, FEE_PER_BYTE)
}

pub(super) fn set_fee_per_byte(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let value = arguments[0].to_integer()?.low_i64();
    if !(0..=MAX_FEE_PER_BYTE).contains(&value) {
        return Err(Fault::Message(format!(
            "FeePerByte shouldn't be negative or greater than {MAX_FEE_PER_BYTE}"
        )));
    }
    set(engine, FEE_PER_BYTE, value)
}

pub(super) fn get_exec_fee_factor(
    engine: &mut Engine<'_>,
    _: &[Item],
) -> Result<Option<Item>, Fault> {
    let factor = exec_fee_factor(engine.state, false) / PICO as u64;
    Ok(Some(Item::Int(factor as i64)))
}

pub(super) fn get_pico_fee_factor(
    engine: &mut Engine<'_>,
    _: &[Item],
) -> Result<Option<Item>, Fault> {
    get(engine, EXEC_FEE_FACTOR)
}

pub(super) fn set_exec_fee_factor(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let units = if engine.is_active(Hardfork::Faun) { PICO as u32 } else { 1 };
    let value = positive(&arguments[0], MAX_FEE_FACTOR * units, "ExecFeeFactor is out of range")?;
    set(engine, EXEC_FEE_FACTOR, value.into())
}

pub(super) fn get_storage_price(
    engine: &mut Engine<'_>,
    _: &[Item],
) -> Result<Option<Item>, Fault> {
    get(engine, STORAGE_PRICE)
}

pub(super) fn set_storage_price(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let value = positive(&arguments[0], MAX_STORAGE_PRICE, "StoragePrice is out of range")?;
    set(engine, STORAGE_PRICE, value.into())
}

/// Reads an attribute type that is valid at this height.
fn attribute_kind(engine: &Engine<'_>, item: &Item) -> Result<u8, Fault> {
    let kind = u8::try_from(item.to_i64()?)
        .map_err(|_| Fault::Rule("invalid value: bigint is not in uint8 range"))?;
    let reserved = engine.chain.protocol.reserved_attributes && RESERVED_ATTRIBUTES.contains(&kind);
    let known = KNOWN_ATTRIBUTES.contains(&kind) || reserved;
    let early = kind == NOTARY_ASSISTED && !engine.is_active(Hardfork::Echidna);
    if !known || early { Err(Fault::Rule("invalid attribute type")) } else { Ok(kind) }
}

pub(super) fn get_attribute_fee(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let kind = attribute_kind(engine, &arguments[0])?;
    Ok(Some(Item::Int(attribute_fee(engine.state, kind).into())))
}

pub(super) fn set_attribute_fee(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let kind = attribute_kind(engine, &arguments[0])?;
    let value = u32_of(&arguments[1])?;
    if value > MAX_ATTRIBUTE_FEE {
        return Err(Fault::Rule("attribute value is out of range"));
    }
    set(engine, &[ATTRIBUTE_FEE, kind], value.into())
}

pub(super) fn get_valid_until(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    get(engine, VALID_UNTIL)
}

pub(super) fn set_valid_until(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let rule = "MaxValidUntilBlockIncrement is out of range";
    let value = positive(&arguments[0], MAX_VALID_UNTIL, rule)?;
    if i64::from(value) >= number(engine.state, TRACEABLE) {
        return Err(Fault::Rule("MaxValidUntilBlockIncrement is not below MaxTraceableBlocks"));
    }
    set(engine, VALID_UNTIL, value.into())
}

pub(super) fn get_milliseconds(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    get(engine, MILLISECONDS)
}

pub(super) fn set_milliseconds(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let rule = "MillisecondsPerBlock is out of range";
    let value = i64::from(positive(&arguments[0], MAX_MILLISECONDS, rule)?);
    let old = number(engine.state, MILLISECONDS);
    set(engine, MILLISECONDS, value)?;
    let this = engine.native_hash(ID);
    let fields = vec![Item::Int(old), Item::Int(value)];
    engine.notify(this, "MillisecondsPerBlockChanged", fields)?;
    Ok(Some(Item::Null))
}

pub(super) fn get_traceable(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    get(engine, TRACEABLE)
}

pub(super) fn set_traceable(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let rule = "MaxTraceableBlocks is out of range";
    let value = i64::from(positive(&arguments[0], MAX_TRACEABLE, rule)?);
    if value > number(engine.state, TRACEABLE) || value <= number(engine.state, VALID_UNTIL) {
        return Err(Fault::Rule(rule));
    }
    set(engine, TRACEABLE, value)
}

pub(super) fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    let protocol = &engine.chain.protocol;
    match hardfork {
        None => {
            engine.put_integer(ID, FEE_PER_BYTE, DEFAULT_FEE_PER_BYTE);
            engine.put_integer(ID, EXEC_FEE_FACTOR, DEFAULT_FEE_FACTOR);
            engine.put_integer(ID, STORAGE_PRICE, DEFAULT_STORAGE_PRICE);
        }
        Some(Hardfork::Echidna) => {
            engine.put_integer(ID, VALID_UNTIL, protocol.genesis.max_valid_until_block_increment);
            engine.put_integer(ID, MILLISECONDS, protocol.genesis.milliseconds_per_block);
            engine.put_integer(ID, TRACEABLE, protocol.genesis.max_traceable_blocks);
            engine.put_integer(ID, &[ATTRIBUTE_FEE, NOTARY_ASSISTED], DEFAULT_NOTARY_FEE);
        }
        Some(Hardfork::Faun) => {
            let factor = number(engine.state, EXEC_FEE_FACTOR) * PICO as i64;
            engine.put_integer(ID, EXEC_FEE_FACTOR, factor);
            let now = BigInt::from(engine.block.header.timestamp);
            for account in blocked(engine.state) {
                engine.put_integer(ID, &blocked_key(&account), now.clone());
            }
        }
        Some(_) => {}
    }
    Ok(())
}
