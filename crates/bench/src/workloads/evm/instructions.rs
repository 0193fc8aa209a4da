//! A unit for each instruction of a fork, and further ones where its operands or the state decide
//! what it costs.

use super::accounts::{self, COLD, DELEGATED, EMPTY, LARGEST, STOPS};
use super::unit::{Setup, Unit};
use anyhow::Result;
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::assembly::{INSTRUCTIONS, Instruction};

/// Words without a pattern: of 256 bits, and what a division by them leaves work for.
const A: &str = "0xf1d3ff8443297732862df21dc4e57262e2b3c4d5968778695a4b3c2d1e0f7b5d";
const B: &str = "0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95";
/// A divisor of 127 bits: of all lengths the one that most libraries divide longest by.
const D: &str = "0x7e3779b97f4a7c15f39cc0605cedc835";
/// A divisor of 255 bits.
const M: &str = "0x7e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95";
const ONES: &str = "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
/// Where in the memory results go, and where running numbers are kept.
const TO: &str = "0x1000";
pub const AT: &str = "0x1fe0";
/// Gas for a call.
const GAS: &str = "0xffff";

/// The unit of each instruction of a fork, as it is in combinations.
///
/// # Errors
/// An instruction that no unit covers.
pub fn plain(fork: Fork) -> Result<Vec<Unit>> {
    INSTRUCTIONS.iter().filter(|one| one.since <= fork).map(unit).collect()
}

/// The plain instructions and the further ones.
///
/// # Errors
/// As [`plain`].
pub fn all(fork: Fork) -> Result<Vec<Unit>> {
    let mut all = plain(fork)?;
    all.extend(operands()?);
    all.extend(sizes(fork)?);
    all.extend(calls(fork)?);
    if fork >= Fork::Berlin {
        all.extend(cold()?);
    }
    if fork >= Fork::Amsterdam {
        all.extend(larger_state()?);
    }
    if fork >= Fork::Cancun {
        let unit = Unit::new("BLOBHASH of a blob", "BLOBHASH", "2 blobhash pop", "2 pop", 0)?;
        all.push(Unit { setup: Setup { blobs: 3, ..Setup::default() }, ..unit });
    }
    Ok(all)
}

/// The operands of an instruction in assembly, the one on top last.
fn operands_of(name: &str) -> String {
    let stops = accounts::number(&STOPS);
    match name {
        "DIV" | "SDIV" | "MOD" | "SMOD" => format!("{D} {A}"),
        "ADDMOD" | "MULMOD" => format!("{D} {B} {A}"),
        "EXP" => format!("{ONES} {A}"),
        "SIGNEXTEND" | "BYTE" => format!("{A} 5"),
        "SHL" | "SHR" | "SAR" => format!("{A} 77"),
        "CLZ" => "1".to_owned(),
        "ISZERO" | "NOT" => A.to_owned(),
        "KECCAK256" | "RETURN" | "REVERT" | "LOG0" => "32 0".to_owned(),
        "LOG1" => format!("{A} 32 0"),
        "LOG2" => format!("{B} {A} 32 0"),
        "LOG3" => format!("{M} {B} {A} 32 0"),
        "LOG4" => format!("{ONES} {M} {B} {A} 32 0"),
        "BALANCE" | "EXTCODESIZE" | "EXTCODEHASH" => stops,
        "EXTCODECOPY" => format!("32 0 {TO} {stops}"),
        "CALLDATACOPY" | "CODECOPY" | "MCOPY" => format!("32 0 {TO}"),
        "BLOCKHASH" => "999".to_owned(),
        "CALLDATALOAD" | "MLOAD" => "32".to_owned(),
        "MSTORE" | "MSTORE8" => format!("{A} {TO}"),
        "SLOAD" | "TLOAD" | "BLOBHASH" => "1".to_owned(),
        "TSTORE" => format!("{A} 1"),
        // what is there already
        "SSTORE" => "8 1".to_owned(),
        "CREATE" => "0 0 0".to_owned(),
        "CALL" | "CALLCODE" => format!("0 0 0 0 0 {} {GAS}", accounts::number(&EMPTY)),
        "DELEGATECALL" | "STATICCALL" => format!("0 0 0 0 {} {GAS}", accounts::number(&EMPTY)),
        _ => format!("{B} {A}"),
    }
}

/// See [`plain`].
fn unit(instruction: &Instruction) -> Result<Unit> {
    let name = instruction.name();
    let of = name.as_str();
    let call = |to| format!("0 0 0 0 0 {} {GAS} call pop", accounts::number(&to));
    let frames = |ours, other, pops| Unit::new(of, of, &call(ours), &call(other), pops);
    match of {
        "STOP" => frames(STOPS, EMPTY, 0),
        "RETURN" => frames(accounts::RETURNS, accounts::PUSHES, 0),
        "REVERT" => frames(accounts::REVERTS, accounts::PUSHES, 0),
        "SELFDESTRUCT" => frames(accounts::DESTROYED, accounts::PUSHES_ONE, 0),
        "INVALID" => frames(accounts::INVALID, STOPS, 0),
        "POP" => Unit::new(of, of, "1 pop", "", -1),
        "JUMP" => {
            let unit = Unit::new(of, of, "@next jump next:", "@next pop next:", 1)?;
            Ok(Unit { jump: Some(1), ..unit })
        }
        "JUMPI" => {
            let unit = Unit::new(of, of, "1 @next jumpi next:", "1 @next pop pop next:", 2)?;
            Ok(Unit { jump: Some(3), ..unit })
        }
        "CREATE2" => {
            // the gas that is left is a salt that never was
            Unit::new(of, of, "gas 0 0 0 create2 pop", "gas 0 0 0 pop pop pop pop", 3)
        }
        "RETURNDATACOPY" => {
            let operands = format!("returndatasize 0 {TO}");
            let body = format!("{operands} returndatacopy");
            Unit::new(of, of, &body, &format!("{operands} pop pop pop"), 3)
        }
        "SSTORE" => {
            let unit = Unit::of(of, instruction, &operands_of(of))?;
            Ok(Unit { setup: Setup { slots: true, ..Setup::default() }, ..unit })
        }
        _ if instruction.byte >= 0x80 && instruction.byte <= 0x8f => {
            Unit::new(of, of, &format!("{} pop", of.to_lowercase()), "", -1)
        }
        _ if instruction.byte >= 0x90 && instruction.byte <= 0x9f => {
            Unit::new(of, of, &of.to_lowercase(), "", 0)
        }
        _ if instruction.byte > 0x5f && instruction.byte < 0x80 => push(instruction),
        "DUPN" => Unit::new(of, of, "dupn17 pop", "", -1),
        "SWAPN" => Unit::new(of, of, "swapn17", "", 0),
        "EXCHANGE" => Unit::new(of, of, "exchange1,2", "", 0),
        _ if instruction.takes == 0 => Unit::of(of, instruction, ""),
        _ => Unit::of(of, instruction, &operands_of(of)),
    }
}

/// A push of as many bytes as it can push.
fn push(instruction: &Instruction) -> Result<Unit> {
    let (name, bytes) = (instruction.name(), usize::from(instruction.byte - 0x5f));
    let body = format!("0x{} pop", "a5".repeat(bytes));
    Unit::new(&name, &name, &body, "", -1)
}

fn known(name: &str) -> Result<&'static Instruction> {
    let found = INSTRUCTIONS.iter().find(|one| one.name() == name);
    found.ok_or_else(|| anyhow::anyhow!("no instruction {name}"))
}

/// Arithmetic with operands of other lengths.
fn operands() -> Result<Vec<Unit>> {
    let mut all = vec![];
    for bits in [63, 191, 255] {
        // as the one of 127 bits, shorter or longer
        let divisor = format!("0x{}", &M[2..2 + (bits + 1) / 4]);
        for name in ["DIV", "SDIV", "MOD", "SMOD"] {
            let title = format!("{name} by {bits} bits");
            all.push(Unit::of(&title, known(name)?, &format!("{divisor} {A}"))?);
        }
        for name in ["ADDMOD", "MULMOD"] {
            let title = format!("{name} by {bits} bits");
            all.push(Unit::of(&title, known(name)?, &format!("{divisor} {B} {A}"))?);
        }
    }
    all.push(Unit::of("EXP, exponent of 1 byte", known("EXP")?, &format!("255 {A}"))?);
    all.push(Unit::of("EXP, exponent 0", known("EXP")?, &format!("0 {A}"))?);
    let (body, baseline) = ("0 @next jumpi next:", "0 @next pop pop next:");
    let unit = Unit::new("JUMPI not taken", "JUMPI", body, baseline, 2)?;
    all.push(Unit { jump: Some(3), ..unit });
    Ok(all)
}

/// Instructions whose work grows with a length.
fn sizes(fork: Fork) -> Result<Vec<Unit>> {
    let mut all = vec![];
    for (bytes, size) in [(0, "no bytes"), (1_024, "1 KiB"), (16_384, "16 KiB")] {
        let copies = ["CALLDATACOPY", "CODECOPY", "MCOPY"].iter();
        for name in copies.filter(|name| **name != "MCOPY" || fork >= Fork::Cancun) {
            let operands = format!("{bytes} 0 {TO}");
            all.push(Unit::of(&format!("{name}, {size}"), known(name)?, &operands)?);
        }
        let operands = format!("{bytes} 0");
        all.push(Unit::of(&format!("KECCAK256, {size}"), known("KECCAK256")?, &operands)?);
        all.push(Unit::of(&format!("LOG0, {size}"), known("LOG0")?, &operands)?);
    }
    let largest = format!("24576 0 {TO} {}", accounts::number(&LARGEST));
    all.push(Unit::of("EXTCODECOPY, 24 KiB", known("EXTCODECOPY")?, &largest)?);
    let size = accounts::number(&LARGEST);
    all.push(Unit::of("EXTCODESIZE, 24 KiB", known("EXTCODESIZE")?, &size)?);
    all.push(Unit::of("MLOAD, unaligned", known("MLOAD")?, "61")?);
    all.push(Unit::of("MSTORE, unaligned", known("MSTORE")?, &format!("{A} 0x1005"))?);
    Ok(all)
}

/// Calls of contracts, with value, and of a delegation.
fn calls(fork: Fork) -> Result<Vec<Unit>> {
    let call = |name: &str, title: &str, value: &str, to| {
        let to = accounts::number(&to);
        Unit::of(&format!("{name} {title}"), known(name)?, &format!("0 0 0 0 {value}{to} {GAS}"))
    };
    let mut all = vec![
        call("CALL", "of a contract", "0 ", STOPS)?,
        call("CALL", "with value", "1 ", EMPTY)?,
        call("CALL", "of a contract of 24 KiB", "0 ", LARGEST)?,
    ];
    if fork >= Fork::Homestead {
        all.push(call("DELEGATECALL", "of a contract", "", STOPS)?);
    }
    if fork >= Fork::Byzantium {
        all.push(call("STATICCALL", "of a contract", "", STOPS)?);
    }
    if fork >= Fork::Prague {
        all.push(call("CALL", "of a delegation", "0 ", DELEGATED)?);
    }
    // the value is never the one before
    let unit = Unit::new("SSTORE, changed again", "SSTORE", "gas 1 sstore", "gas 1 pop pop", 2)?;
    all.push(Unit { setup: Setup { slots: true, ..Setup::default() }, ..unit });
    Ok(all)
}

/// What is cold (EIP-2929): each time another account or slot, there or not.
fn cold() -> Result<Vec<Unit>> {
    let mut all = vec![];
    // the gas that is left is a number that never was
    let absent = [
        ("SLOAD", "gas sload pop", "gas pop", 0),
        ("SSTORE", "1 gas sstore", "1 gas pop pop", 2),
        ("BALANCE", "gas balance pop", "gas pop", 0),
        ("EXTCODESIZE", "gas extcodesize pop", "gas pop", 0),
        ("EXTCODEHASH", "gas extcodehash pop", "gas pop", 0),
    ];
    for (name, body, baseline, pops) in absent {
        all.push(Unit::new(&format!("{name} cold, absent"), name, body, baseline, pops)?);
    }
    let next = format!("1 {AT} mload add dup1 {AT} mstore");
    let slots = Setup { slots: true, ..Setup::default() };
    let (body, baseline) = (format!("{next} sload pop"), format!("{next} pop"));
    let unit = Unit::new("SLOAD cold", "SLOAD", &body, &baseline, 0)?;
    all.push(Unit { setup: slots.clone(), ..unit });
    let (body, baseline) = (format!("1 {next} sstore"), format!("1 {next} pop pop"));
    let unit = Unit::new("SSTORE cold", "SSTORE", &body, &baseline, 2)?;
    all.push(Unit { setup: slots, ..unit });
    let accounts = [
        ("BALANCE", format!("{next} balance pop"), format!("{next} pop")),
        ("EXTCODESIZE", format!("{next} extcodesize pop"), format!("{next} pop")),
        ("EXTCODEHASH", format!("{next} extcodehash pop"), format!("{next} pop")),
    ];
    let first = format!("{COLD} {AT} mstore");
    for (name, body, baseline) in accounts {
        let unit = Unit::new(&format!("{name} cold"), name, &body, &baseline, 0)?;
        all.push(unit.after(&first)?);
    }
    let operands = format!("0 0 0 0 0 {next} {GAS}");
    let unit = Unit::of("CALL cold, of a contract", known("CALL")?, &operands)?;
    all.push(unit.after(&first)?);
    let operands = format!("32 0 {TO} {next}");
    let unit = Unit::of("EXTCODECOPY cold", known("EXTCODECOPY")?, &operands)?;
    all.push(unit.after(&first)?);
    Ok(all)
}

/// What makes the state larger (EIP-8037), next to CREATE, CREATE2 and SSTORE of an absent slot.
fn larger_state() -> Result<Vec<Unit>> {
    // the gas that is left is an account that never was
    let to_new =
        Unit::of("CALL with value, absent", known("CALL")?, &format!("0 0 0 0 1 gas {GAS}"))?;
    // code that returns 32 bytes
    let unit = Unit::of("CREATE, code of 32 bytes", known("CREATE")?, &format!("5 {TO} 0"))?;
    Ok(vec![to_new, unit.after(&format!("0x60206000f3 216 shl {TO} mstore"))?])
}
