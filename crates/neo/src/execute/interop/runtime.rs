//! System calls of `System.Runtime`: properties of the execution, and notifications.

use num_bigint::BigUint;

use super::{keys, murmur::murmur128};
use crate::{
    execute::{
        engine::{Engine, Event, Trigger},
        native::ledger,
        vm::{Fault, Item, MAX_ITEMS, copy, serialize},
    },
    params::Hardfork,
    types::{Condition, Signer},
};

/// The longest name of an event.
const MAX_NAME: usize = 32;
/// The most bytes of a notification and of a message.
const MAX_NOTIFICATION: usize = 1_024;
/// The version of addresses.
const ADDRESS_VERSION: i64 = 53;

fn push(engine: &mut Engine<'_>, item: impl Into<Item>) -> Result<(), Fault> {
    engine.vm.push(item.into());
    Ok(())
}

/// `System.Runtime.GasLeft`.
pub(super) fn gas_left(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let left = engine.vm.gas_left();
    push(engine, left)
}

/// `System.Runtime.GetAddressVersion`.
pub(super) fn address_version(engine: &mut Engine<'_>) -> Result<(), Fault> {
    push(engine, ADDRESS_VERSION)
}

/// `System.Runtime.GetCallingScriptHash`.
pub(super) fn calling_hash(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let hash = engine.vm.calling_hash();
    push(engine, Item::bytes(&hash))
}

/// `System.Runtime.GetEntryScriptHash`.
pub(super) fn entry_hash(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let hash = engine.vm.entry_hash();
    push(engine, Item::bytes(&hash))
}

/// `System.Runtime.GetExecutingScriptHash`.
pub(super) fn executing_hash(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let hash = engine.vm.current_hash();
    push(engine, Item::bytes(&hash))
}

/// `System.Runtime.GetInvocationCounter`.
pub(super) fn invocation_counter(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let hash = engine.vm.current_hash();
    let count = *engine.invocations.entry(hash).or_insert(1);
    push(engine, i64::from(count))
}

/// `System.Runtime.GetNetwork`.
pub(super) fn network(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let magic = engine.chain.protocol.magic;
    push(engine, i64::from(magic))
}

/// `System.Runtime.Platform`.
pub(super) fn platform(engine: &mut Engine<'_>) -> Result<(), Fault> {
    push(engine, Item::bytes(b"NEO"))
}

/// `System.Runtime.GetTrigger`.
pub(super) fn trigger(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let trigger = engine.trigger as u8;
    push(engine, i64::from(trigger))
}

/// `System.Runtime.GetTime`. It fails during the verification of a witness, which has no block, as
/// in neo-go and the C# node.
pub(super) fn time(engine: &mut Engine<'_>) -> Result<(), Fault> {
    if engine.trigger == Trigger::Verification {
        return Err(Fault::Rule("no block"));
    }
    let item = Item::integer(engine.block.header.timestamp.into())?;
    push(engine, item)
}

/// `System.Runtime.GetRandom`.
pub(super) fn random(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let counts = engine.is_active(Hardfork::Aspidochelone);
    let mut seed = engine.chain.protocol.magic;
    if counts {
        seed = seed.wrapping_add(engine.random_count);
        engine.random_count = engine.random_count.wrapping_add(1);
    }
    let number = murmur128(&engine.nonce, seed);
    if !counts {
        engine.nonce = number;
    }
    engine.charge(if counts { 1 << 13 } else { 1 << 4 })?;
    let item = Item::integer(BigUint::from_bytes_le(&number).into())?;
    push(engine, item)
}

/// `System.Runtime.BurnGas`.
pub(super) fn burn_gas(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let gas = engine.vm.pop_integer()?.to_i64().ok_or(Fault::Rule("invalid GAS value"))?;
    if gas <= 0 {
        return Err(Fault::Rule("GAS must be positive"));
    }
    engine.charge_gas(gas.unsigned_abs())
}

/// `System.Runtime.CheckWitness`.
pub(super) fn check_witness(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let item = engine.vm.pop()?;
    let account = match item.to_array::<20>() {
        Ok(account) => account,
        Err(_) => keys::account(&item.with_bytes(keys::public_key)??),
    };
    let found = engine.check_witness(&account)?;
    push(engine, found)
}

/// `System.Runtime.Log`. The message is checked and discarded.
pub(super) fn log(engine: &mut Engine<'_>) -> Result<(), Fault> {
    if engine.vm.pop()?.to_text()?.len() > MAX_NOTIFICATION {
        return Err(Fault::Rule("message length shouldn't exceed 1024"));
    }
    Ok(())
}

/// `System.Runtime.Notify`.
pub(super) fn notify(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let name = engine.vm.pop()?.to_text()?;
    let item = engine.vm.pop()?;
    let (Item::Array(place) | Item::Struct(place)) = item else { return Err(Fault::NotList) };
    if name.len() > MAX_NAME {
        return Err(Fault::Rule("event name must be less than 32"));
    }
    let contract = engine.running_contract();
    let contract =
        contract.ok_or(Fault::Rule("notifications are not allowed in dynamic scripts"))?;
    let event = contract.manifest.events.iter().find(|event| event.name == name);
    if engine.is_active(Hardfork::Basilisk) {
        let event = event.ok_or(Fault::Rule("notification does not exist"))?;
        let items = engine.vm.heap.list(place);
        let matches = items.len() == event.parameters.len()
            && items.iter().zip(&event.parameters).all(|(item, each)| each.kind.matches(item));
        if !matches {
            return Err(Fault::Rule("notification is invalid"));
        }
    }
    let bytes = serialize::serialize(&engine.vm.heap, &item)?;
    if bytes.len() > MAX_NOTIFICATION {
        return Err(Fault::Rule("notification size shouldn't exceed 1024"));
    }
    let items = engine.vm.heap.list(place).to_vec();
    let array = engine.vm.heap.new_array(items);
    let state = copy::deep(&mut engine.vm.heap, &array, true, true)?;
    let contract = engine.vm.current_hash();
    engine.add_event(Event { contract, name: name.into(), state })
}

/// `System.Runtime.GetNotifications`.
pub(super) fn notifications(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let wanted = match engine.vm.pop()? {
        Item::Null => None,
        item => Some(item.to_array::<20>()?),
    };
    let all = engine.events.iter();
    let found = all.filter(|event| wanted.is_none_or(|wanted| wanted == event.contract));
    let found: Vec<Event> = found.cloned().collect();
    if found.len() > MAX_ITEMS {
        return Err(Fault::Rule("too many notifications"));
    }
    let heap = &mut engine.vm.heap;
    let items = found.into_iter().map(|event| {
        let name = Item::bytes(event.name.as_bytes());
        heap.new_array(vec![Item::bytes(&event.contract), name, event.state])
    });
    let items = items.collect();
    let array = heap.new_array(items);
    push(engine, array)
}

/// `System.Runtime.GetScriptContainer`.
pub(super) fn script_container(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let item = match engine.transaction {
        Some(transaction) => ledger::transaction_item(engine, transaction),
        None => ledger::block_item(engine, engine.block),
    };
    push(engine, item)
}

/// `System.Runtime.CurrentSigners`.
pub(super) fn current_signers(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let item = match engine.transaction {
        Some(transaction) => signers_item(engine, transaction.signers()),
        None => Item::Null,
    };
    push(engine, item)
}

/// Signers as an array of arrays.
pub fn signers_item<'a>(
    engine: &mut Engine<'_>,
    signers: impl Iterator<Item = Signer<'a>>,
) -> Item {
    let mut items = Vec::new();
    for signer in signers {
        let contracts: Vec<[u8; 20]> = signer.contracts().map(|hash| hash.0).collect();
        let contracts = engine.array_of(&contracts);
        let groups = engine.array_of(signer.groups());
        let mut rules = Vec::new();
        for rule in signer.rules() {
            let condition = condition_item(engine, &rule.condition);
            let fields = vec![Item::Int(i64::from(rule.allow)), condition];
            rules.push(engine.vm.heap.new_array(fields));
        }
        let rules = engine.vm.heap.new_array(rules);
        let fields = vec![
            Item::bytes(&signer.account().0),
            Item::Int(signer.scopes().0.into()),
            contracts,
            groups,
            rules,
        ];
        items.push(engine.vm.heap.new_array(fields));
    }
    engine.vm.heap.new_array(items)
}

/// A condition; it has three levels at most.
fn condition_item(engine: &mut Engine<'_>, condition: &Condition<'_>) -> Item {
    let mut fields = vec![Item::Int(condition.kind().into())];
    match condition {
        Condition::Boolean(value) => fields.push(Item::Bool(*value)),
        Condition::Not(inner) => fields.push(condition_item(engine, inner)),
        Condition::And(all) | Condition::Or(all) => {
            let items = all.clone().map(|each| condition_item(engine, &each)).collect();
            fields.push(engine.vm.heap.new_array(items));
        }
        Condition::ScriptHash(hash) | Condition::CalledByContract(hash) => {
            fields.push(Item::bytes(&hash.0));
        }
        Condition::Group(key) | Condition::CalledByGroup(key) => fields.push(Item::bytes(*key)),
        Condition::CalledByEntry => {}
    }
    engine.vm.heap.new_array(fields)
}
