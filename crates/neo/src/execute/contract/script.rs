//! Validates scripts: instructions, jump targets, types.

use std::ops::Range;

use super::{Error, field};
use crate::execute::vm::{
    Type,
    opcode::{self, INVALID, OPERANDS, PREFIX_1, PREFIX_2, PREFIX_4},
};

/// A set of offsets.
struct Offsets(Vec<u64>);

impl Offsets {
    fn new(len: usize) -> Self {
        Self(vec![0; len / 64 + 1])
    }

    fn insert(&mut self, offset: usize) {
        self.0[offset / 64] |= 1 << (offset % 64);
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }
}

/// Checks a script (`scparser.IsScriptCorrect`).
///
/// # Errors
///
/// Returns an error for an unknown opcode, a truncated operand, a jump into an instruction or an
/// invalid type.
pub fn check_script(script: &[u8]) -> Result<(), Error> {
    check(script, None)
}

/// Checks a script, and that each of its methods starts at an instruction.
///
/// # Errors
///
/// Returns the errors of [`check_script`], and an error for a method that does not start at an
/// instruction.
pub fn check_methods(
    script: &[u8],
    methods: impl Iterator<Item = usize>,
    strict: bool,
) -> Result<(), Error> {
    let mut starts = Offsets::new(script.len());
    for start in methods {
        if start >= script.len() {
            return Err(field("method", "its offset is out of the script"));
        }
        starts.insert(start);
    }
    if strict { check(script, Some(&starts)) } else { Ok(()) }
}

fn check(script: &[u8], methods: Option<&Offsets>) -> Result<(), Error> {
    let mut instructions = Offsets::new(script.len());
    let mut jumps = Offsets::new(script.len());
    let mut at = 0;
    while at < script.len() {
        let op = script[at];
        let operand = operand(script, at)?;
        instructions.insert(at);
        check_operand(script.len(), at, op, &script[operand.clone()], &mut jumps)?;
        at = operand.end;
    }
    if !jumps.is_within(&instructions) {
        return Err(field("script", "a jump into an instruction"));
    }
    if methods.is_some_and(|methods| !methods.is_within(&instructions)) {
        return Err(field("script", "a method starts inside an instruction"));
    }
    Ok(())
}

/// The range of an instruction's operand.
fn operand(script: &[u8], at: usize) -> Result<Range<usize>, Error> {
    let kind = OPERANDS[usize::from(script[at])];
    let prefix = match kind {
        INVALID => return Err(field("script", "unknown opcode")),
        PREFIX_1 => 1,
        PREFIX_2 => 2,
        PREFIX_4 => 4,
        _ => 0,
    };
    let short = field("script", "an operand is cut short");
    let start = at + 1 + prefix;
    let length = script.get(at + 1..start).ok_or(short.clone())?;
    let length = match prefix {
        0 => usize::from(kind),
        _ => length.iter().rev().fold(0, |len, byte| len << 8 | usize::from(*byte)),
    };
    if script.len() - start < length { Err(short) } else { Ok(start..start + length) }
}

fn check_operand(
    len: usize,
    at: usize,
    op: u8,
    operand: &[u8],
    jumps: &mut Offsets,
) -> Result<(), Error> {
    let mut jump = |relative: i32| {
        let target = usize::try_from(at as i64 + i64::from(relative));
        match target {
            Ok(target) if target < len => jumps.insert(target),
            Ok(target) if target == len => {}
            _ => return Err(field("script", "a jump out of the script")),
        }
        Ok(())
    };
    match op {
        opcode::JMP..=opcode::CALLL | opcode::ENDTRY | opcode::ENDTRYL | opcode::PUSHA => {
            jump(relative(operand))
        }
        opcode::TRY | opcode::TRYL => {
            let (catch, finally) = operand.split_at(operand.len() / 2);
            jump(relative(catch))?;
            jump(relative(finally))
        }
        opcode::NEWARRAYT | opcode::ISTYPE | opcode::CONVERT => match Type::from_byte(operand[0]) {
            None => Err(field("script", "unknown type")),
            Some(Type::Any) if op != opcode::NEWARRAYT => Err(field("script", "type any")),
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

fn relative(operand: &[u8]) -> i32 {
    match *operand {
        [byte] => i32::from(byte.cast_signed()),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}
