//! Deployment and update of contracts.

use std::sync::Arc;

use super::{ID, MAX_MANIFEST, NEXT_ID, emit, item_of, minimum_fee, put, stored};
use crate::{
    execute::{
        contract::{Contract, Manifest, Nef, check_methods, contract_hash},
        engine::Engine,
        interop::keys,
        native::{policy, stored_i64},
        vm::{Fault, Item, PICO},
    },
    params::Hardfork,
};
use blockmill_hashes::sha256;

pub(super) fn deploy(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
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

pub(super) fn update(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
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

/// Calls the contract's `_deploy`, if it has one, and sends the notification.
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

/// Reads code and manifest and charges for them.
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
        // the reference client truncates the product to 64 bits
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
