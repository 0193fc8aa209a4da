//! Every instruction and every precompiled contract is covered, and executed the planned number of
//! times.

use super::machine::{Call, Machine, terms};
use super::plan::{Limits, Operation, Plan, Planner, Program};
use super::*;
use blockmill_ethereum::Address;
use blockmill_ethereum::execute::evm::{Census, precompiles};
use blockmill_generate::ethereum::assembly::{INSTRUCTIONS, bytes};
use std::collections::BTreeSet;

const LIMITS: Limits = Limits { gas: 300_000, code: 4_096 };

/// The plan of some lists, and a machine over its accounts.
fn planned(fork: Fork, lists: &[Vec<Unit>]) -> (Plan, Machine) {
    let mut planner = Planner::new(fork, LIMITS).unwrap();
    for list in lists {
        match list.as_slice() {
            [unit] => planner.add(unit).unwrap(),
            units => planner.add_all(&units.iter().collect::<Vec<_>>()).unwrap(),
        }
    }
    let (plan, accounts) = planner.finish();
    (plan, Machine::new(fork, &accounts).unwrap())
}

fn count(machine: &mut Machine, Program { to, input, blobs, .. }: &Program) -> Census {
    let to = bytes(to).unwrap().try_into().unwrap();
    let input = bytes(input).unwrap();
    machine.census(&Call { to, input: &input, blobs: *blobs }.transaction()).unwrap()
}

/// How often an operation is executed by a program that succeeds.
fn executed(census: &Census, operation: &Operation) -> u64 {
    assert!(census.success, "{}", operation.name);
    let of = bytes(&operation.executes).unwrap();
    match <Address>::try_from(of.as_slice()) {
        Ok(contract) => {
            let calls = census.calls.get(&contract).copied().unwrap_or_default();
            assert_eq!(calls.failed, 0, "{}", operation.name);
            calls.total
        }
        Err(_) => census.instructions[usize::from(of[0])],
    }
}

/// Each operation is executed the planned number of times more often than in its baseline.
fn expect_all_executed(plan: &Plan, machine: &mut Machine) {
    for operation in &plan.operations {
        let mut of = |at: usize| executed(&count(machine, &plan.programs[at]), operation);
        let without = operation.baseline.map_or(0, &mut of);
        let found = of(operation.program);
        assert_eq!(found - without, operation.times, "{}", operation.name);
        assert!(operation.times > 0 && operation.gas >= 0.0, "{operation:?}");
    }
}

#[test]
fn every_instruction_and_contract_of_every_fork_is_executed_the_planned_number_of_times() {
    for (name, fork, _) in FORKS {
        let mut lists = lists("instructions", None, fork).unwrap();
        lists.extend(super::lists("precompiles", None, fork).unwrap());
        lists.extend(super::lists("published", None, fork).unwrap());
        let (plan, mut machine) = planned(fork, &lists);
        expect_all_executed(&plan, &mut machine);
        let covered: BTreeSet<&str> =
            plan.operations.iter().map(|operation| operation.executes.as_str()).collect();
        let instructions = blockmill_ethereum::execute::evm::instructions(&terms(fork)).unwrap();
        assert!(instructions.len() > 128, "{name}");
        for byte in instructions {
            assert!(covered.contains(format!("{byte:02x}").as_str()), "{name}: {byte:#04x}");
        }
        for contract in precompiles(fork) {
            let text: String = contract.iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(covered.contains(text.as_str()), "{name}: {text}");
        }
    }
}

#[test]
fn gas_of_operations_is_that_of_the_yellow_paper() {
    let lists = lists("instructions", None, Fork::Osaka).unwrap();
    let (plan, _) = planned(Fork::Osaka, &lists);
    let gas = |name: &str| plan.operations.iter().find(|one| one.name == name).unwrap().gas;
    for (name, expected) in [
        ("ADD", 3.0),
        ("MULMOD", 8.0),
        ("EXP", 1_610.0),
        ("POP", 2.0),
        ("PUSH0", 2.0),
        ("PUSH32", 3.0),
        ("SWAP16", 3.0),
        ("JUMP", 8.0),
        ("JUMPI", 10.0),
        ("JUMPI not taken", 10.0),
        ("JUMPDEST", 1.0),
        ("SLOAD", 100.0),
        ("SLOAD cold", 2_100.0),
        ("SSTORE cold", 5_000.0),
        ("SSTORE cold, absent", 22_100.0),
        ("BALANCE cold", 2_600.0),
        ("CALL", 100.0),
        ("CREATE", 32_000.0),
        ("STOP", 0.0),
        ("LOG4", 375.0 * 5.0 + 256.0),
        ("TSTORE", 100.0),
        ("BLOBHASH of a blob", 3.0),
    ] {
        assert_eq!(gas(name), expected, "{name}");
    }
}

#[test]
fn gas_of_operations_under_amsterdam_is_that_of_its_eips() {
    const STATE_BYTE: f64 = 1_530.0;
    let lists = lists("instructions", None, Fork::Amsterdam).unwrap();
    let (plan, _) = planned(Fork::Amsterdam, &lists);
    let gas = |name: &str| plan.operations.iter().find(|one| one.name == name).unwrap().gas;
    for (name, expected) in [
        ("SLOTNUM", 2.0),
        ("DUPN", 3.0),
        ("SWAPN", 3.0),
        ("EXCHANGE", 3.0),
        ("SLOAD", 100.0),
        ("SLOAD cold", 2_100.0),
        ("SSTORE cold", 2_100.0 + 10_000.0),
        ("SSTORE cold, absent", 2_100.0 + 10_000.0 + 64.0 * STATE_BYTE),
        ("BALANCE cold", 3_000.0),
        ("EXTCODESIZE cold", 3_000.0 + 100.0),
        ("CREATE", 12_000.0 + 120.0 * STATE_BYTE),
        // creation code and its memory, and the hash of the code
        ("CREATE, code of 32 bytes", 12_000.0 + 2.0 + 9.0 + 6.0 + (120.0 + 32.0) * STATE_BYTE),
        ("CALL with value, absent", 3_000.0 + 9_000.0 + 120.0 * STATE_BYTE),
    ] {
        assert_eq!(gas(name), expected, "{name}");
    }
}

#[test]
fn operations_follow_each_other_in_all_orders() {
    let among = "ADD SWAP1 SWAP3 DUP16 JUMPI MSIZE CALL RETURNDATACOPY SSTORE TLOAD CREATE2";
    for of in ["pairs", "triples"] {
        let lists = lists(of, Some(among), Fork::Osaka).unwrap();
        let words = among.split_whitespace().count();
        assert_eq!(lists.len(), words.pow(if of == "pairs" { 2 } else { 3 }));
        let step = if of == "pairs" { 1 } else { 37 };
        let some: Vec<_> = lists.into_iter().step_by(step).collect();
        let (plan, mut machine) = planned(Fork::Osaka, &some);
        for (operation, list) in plan.operations.iter().zip(&some) {
            let census = count(&mut machine, &plan.programs[operation.program]);
            for unit in list {
                let unit::Counted::Instruction(byte) = unit.counted else {
                    panic!("no instruction")
                };
                assert!(census.instructions[usize::from(byte)] >= operation.times, "{operation:?}");
            }
            assert!(census.success, "{operation:?}");
        }
    }
    let error = lists("pairs", Some("ADD BLOBHASH"), Fork::London).unwrap_err().to_string();
    assert_eq!(error, "among: London has no instruction BLOBHASH");
}

#[test]
fn every_instruction_has_a_name_of_its_own_among_the_units() {
    let units = instructions::plain(Fork::Amsterdam).unwrap();
    let names: BTreeSet<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!((names.len(), units.len()), (INSTRUCTIONS.len(), INSTRUCTIONS.len()));
}
