//! Calls of contracts and scripts, accounts and signatures.

use super::{
    keys::{self, multisig_account, signed_digest},
    multisig,
    syscalls::SIGNATURE_PRICE,
};
use crate::{
    execute::{
        contract::{ParamType, check_script},
        engine::{CallOptions, Engine, flags},
        vm::{Fault, Item},
    },
    params::Hardfork,
    types::{Transaction, UInt160},
};

/// Pops flags of a call.
fn pop_flags(engine: &mut Engine<'_>) -> Result<u8, Fault> {
    // the reference client cuts the number to 32 bits, and those to 8
    let wanted = engine.vm.pop_integer()?.low_i64() as u8;
    if wanted & !flags::ALL != 0 {
        return Err(Fault::Rule("call flags out of range"));
    }
    Ok(wanted)
}

fn pop_list(engine: &mut Engine<'_>) -> Result<Vec<Item>, Fault> {
    match engine.vm.pop()? {
        Item::Array(place) | Item::Struct(place) => Ok(engine.vm.heap.list(place).to_vec()),
        _ => Err(Fault::NotList),
    }
}

/// `System.Contract.Call`.
pub(super) fn call(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let hash = engine.vm.pop()?.to_array::<20>()?;
    let name = engine.vm.pop()?.to_text()?;
    let flags = pop_flags(engine)?;
    let arguments = pop_list(engine)?;
    let contract = engine.contract(&hash).ok_or_else(|| {
        let hash = UInt160(hash).to_string();
        let hash = hash.trim_start_matches("0x");
        Fault::Message(format!("called contract {hash} not found: key not found"))
    })?;
    if name.starts_with('_') {
        return Err(Fault::Rule("invalid method name (starts with '_')"));
    }
    let method = contract.manifest.method(&name, Some(arguments.len()));
    let method = method
        .ok_or_else(|| Fault::Message(format!("method not found: {name}/{}", arguments.len())))?;
    let returns = method.returns != ParamType::Void;
    let options = CallOptions { flags, returns, dynamic: true, continuation: None };
    engine.call_checked(&contract, method, arguments, options)
}

/// `System.Runtime.LoadScript`.
pub(super) fn load_script(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let script = engine.vm.pop()?.to_bytes()?;
    let wanted = pop_flags(engine)?;
    let arguments = pop_list(engine)?;
    check_script(&script).map_err(|_| Fault::Rule("invalid script"))?;
    let flags = engine.vm.flags() & flags::READ_ONLY & wanted;
    let hash = UInt160::of_script(&script).0;
    engine.load_script(&script, hash, flags, -1, true)?;
    for argument in arguments.into_iter().rev() {
        engine.vm.push(argument);
    }
    Ok(())
}

/// `System.Contract.GetCallFlags`.
pub(super) fn get_call_flags(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let flags = engine.vm.flags();
    engine.vm.push(Item::Int(flags.into()));
    Ok(())
}

/// Charges for the creation of an account with so many keys.
fn charge_account(engine: &mut Engine<'_>, keys: usize) -> Result<(), Fault> {
    let units = match engine.is_active(Hardfork::Aspidochelone) {
        true => SIGNATURE_PRICE * keys as u64,
        false => 1 << 8,
    };
    engine.charge(units)
}

/// `System.Contract.CreateStandardAccount`.
pub(super) fn create_standard_account(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let key = engine.vm.pop()?.with_bytes(keys::public_key)??;
    charge_account(engine, 1)?;
    engine.vm.push(Item::bytes(&keys::account(&key)));
    Ok(())
}

/// `System.Contract.CreateMultisigAccount`.
pub(super) fn create_multisig_account(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let needed = engine.vm.pop_i32()?;
    let needed = usize::try_from(needed).map_err(|_| Fault::Range("number of signatures"))?;
    let items = pop_list(engine)?;
    let mut keys = Vec::with_capacity(items.len());
    for item in &items {
        let bytes = match item {
            Item::Short(..) | Item::Bytes(_) | Item::Buffer(_) => item.to_bytes()?,
            other => return Err(Fault::ItemType(other.kind())),
        };
        keys.push(keys::public_key(&bytes)?);
    }
    charge_account(engine, keys.len())?;
    let account = multisig_account(needed, &keys)?;
    engine.vm.push(Item::bytes(&account));
    Ok(())
}

/// The signed digest of the script container.
fn digest(engine: &Engine<'_>) -> [u8; 32] {
    let hash = engine.transaction.map_or(engine.block.hash, Transaction::hash);
    signed_digest(engine.chain.protocol.magic, &hash)
}

/// `System.Crypto.CheckSig`.
pub(super) fn check_signature(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let key = engine.vm.pop()?.to_bytes()?;
    let signature = engine.vm.pop()?.to_bytes()?;
    let key = keys::public_key(&key)?;
    if engine.is_active(Hardfork::Gorgon) && signature.len() != 64 {
        let found = signature.len();
        let text = format!("wrong signature length: expected 64, got {found}");
        return Err(Fault::Message(text));
    }
    let valid = keys::verify(&key, digest(engine), &signature);
    engine.vm.push(Item::Bool(valid));
    Ok(())
}

/// Pops keys or signatures: an array, or a count and so many items.
fn pop_elements(engine: &mut Engine<'_>) -> Result<Vec<Vec<u8>>, Fault> {
    let item = engine.vm.pop()?;
    if let Item::Array(place) = item {
        let list = engine.vm.heap.list(place);
        if list.is_empty() {
            return Err(Fault::Rule("less than one element in the array"));
        }
        let bytes = |item: &Item| match item {
            Item::Short(..) | Item::Bytes(_) | Item::Buffer(_) => item.to_bytes(),
            other => Err(Fault::ItemType(other.kind())),
        };
        return list.iter().map(bytes).collect();
    }
    let count = item.to_integer()?.low_i64();
    let count = usize::try_from(count).unwrap_or(0);
    if count < 1 || count > engine.vm.depth() {
        return Err(Fault::Rule("wrong number of elements"));
    }
    (0..count).map(|_| engine.vm.pop()?.to_bytes()).collect()
}

/// `System.Crypto.CheckMultisig`.
pub(super) fn check_multisig(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let public_keys = pop_elements(engine)?;
    let signatures = pop_elements(engine)?;
    engine.charge(SIGNATURE_PRICE * public_keys.len() as u64)?;
    if public_keys.len() < signatures.len() {
        return Err(Fault::Rule("more signatures than there are keys"));
    }
    if engine.is_active(Hardfork::Gorgon)
        && let Some(number) = signatures.iter().position(|signature| signature.len() != 64)
    {
        let found = signatures[number].len();
        let text = format!("wrong signature #{number} length: expected 64, got {found}");
        return Err(Fault::Message(text));
    }
    let digest = digest(engine);
    let valid = multisig::check(
        public_keys.len(),
        signatures.len(),
        |key| keys::public_key(&public_keys[key]),
        |key, signature| keys::verify(key, digest, &signatures[signature]),
    )?;
    engine.vm.push(Item::Bool(valid));
    Ok(())
}
