//! `CheckWitness`: scopes of signers and witness rules.

use crate::{
    execute::{
        engine::{Engine, flags},
        vm::Fault,
    },
    types::{Condition, PublicKey, Scopes, Signer},
};

/// Reports whether the witness of an account is valid in the running script.
///
/// # Errors
///
/// Returns a fault if there are no signers, or a scope needs groups and the script has no
/// ReadStates flag.
pub fn check(engine: &mut Engine<'_>, account: &[u8; 20]) -> Result<bool, Fault> {
    let caller = engine.vm.calling_hash();
    if caller != [0; 20] && caller == *account {
        return Ok(true);
    }
    let other = engine.other_signers.clone();
    let transaction = match &other {
        Some(other) => other.get(),
        None => engine.transaction.ok_or(Fault::Rule("no valid signers"))?,
    };
    let signer = transaction.signers().find(|signer| signer.account().0 == *account);
    signer.map_or(Ok(false), |signer| in_scope(engine, &signer))
}

fn in_scope(engine: &mut Engine<'_>, signer: &Signer<'_>) -> Result<bool, Fault> {
    let scopes = signer.scopes();
    if scopes == Scopes::GLOBAL
        || scopes.has(Scopes::CALLED_BY_ENTRY) && engine.vm.is_called_by_entry()
    {
        return Ok(true);
    }
    let current = engine.vm.current_hash();
    if scopes.has(Scopes::CUSTOM_CONTRACTS)
        && signer.contracts().any(|contract| contract.0 == current)
    {
        return Ok(true);
    }
    if scopes.has(Scopes::CUSTOM_GROUPS) {
        let groups = groups_of(engine, &current)?;
        if signer.groups().iter().any(|group| groups.contains(group)) {
            return Ok(true);
        }
    }
    if scopes.has(Scopes::WITNESS_RULES) {
        for rule in signer.rules() {
            if holds(engine, &rule.condition)? {
                return Ok(rule.allow);
            }
        }
    }
    Ok(false)
}

/// The groups of a contract; empty if there is no such contract.
fn groups_of(engine: &mut Engine<'_>, hash: &[u8; 20]) -> Result<Vec<PublicKey>, Fault> {
    if engine.vm.flags() & flags::READ == 0 {
        return Err(Fault::Rule("missing ReadStates call flag"));
    }
    let contract = engine.contract(hash);
    Ok(contract.map_or(Vec::new(), |contract| {
        contract.manifest.groups.iter().map(|group| group.key).collect()
    }))
}

/// Evaluates a condition, which has at most three levels.
fn holds(engine: &mut Engine<'_>, condition: &Condition<'_>) -> Result<bool, Fault> {
    Ok(match condition {
        Condition::Boolean(value) => *value,
        Condition::Not(inner) => !holds(engine, inner)?,
        Condition::And(all) => {
            for each in all.clone() {
                if !holds(engine, &each)? {
                    return Ok(false);
                }
            }
            true
        }
        Condition::Or(any) => {
            for each in any.clone() {
                if holds(engine, &each)? {
                    return Ok(true);
                }
            }
            false
        }
        Condition::ScriptHash(hash) => hash.0 == engine.vm.current_hash(),
        Condition::Group(key) => {
            let hash = engine.vm.current_hash();
            groups_of(engine, &hash)?.contains(*key)
        }
        Condition::CalledByEntry => engine.vm.is_called_by_entry(),
        Condition::CalledByContract(hash) => hash.0 == engine.vm.calling_hash(),
        Condition::CalledByGroup(key) => {
            let hash = engine.vm.calling_hash();
            groups_of(engine, &hash)?.contains(*key)
        }
    })
}
