//! An assembler for the EVM.

use anyhow::{Context, Result, ensure};
use blockmill_ethereum::U256;
use blockmill_ethereum::params::Fork;
use std::sync::LazyLock;

/// PUSH0; the pushes of 1 to 32 bytes follow.
pub const PUSH0: u8 = 0x5f;
/// POP.
pub const POP: u8 = 0x50;
/// JUMPDEST.
pub const JUMPDEST: u8 = 0x5b;
/// PUSH2.
const PUSH2: u8 = 0x61;
/// DUPN, SWAPN and EXCHANGE, whose numbers are in the next byte (EIP-8024).
const DUPN: u8 = 0xe6;
const SWAPN: u8 = 0xe7;
const EXCHANGE: u8 = 0xe8;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its opcode.
    pub byte: u8,
    /// Words that it pops.
    pub takes: u8,
    /// Words that it pushes.
    pub gives: u8,
    /// The first fork that has it.
    pub since: Fork,
    /// Its name; for a family the part before the number.
    word: &'static str,
    /// Its number in a family, such as 3 in `dup3`.
    number: Option<u8>,
}

impl Instruction {
    /// Its name in capitals, as in the Yellow Paper.
    #[must_use]
    pub fn name(&self) -> String {
        let number = self.number.map_or(String::new(), |number| number.to_string());
        self.word.to_uppercase() + &number
    }

    /// Reports whether it has this name in assembly.
    fn is_called(&self, name: &str) -> bool {
        match self.number {
            None => self.word == name,
            Some(number) => {
                let rest = name.strip_prefix(self.word);
                rest.and_then(|rest| rest.parse().ok()) == Some(number)
            }
        }
    }
}

/// Instructions without families: name, opcode, popped and pushed words, and first fork (Yellow
/// Paper, appendix H, and later proposals).
const SINGLE: [(&str, u8, u8, u8, Fork); 85] = [
    ("stop", 0x00, 0, 0, Fork::Frontier),
    ("add", 0x01, 2, 1, Fork::Frontier),
    ("mul", 0x02, 2, 1, Fork::Frontier),
    ("sub", 0x03, 2, 1, Fork::Frontier),
    ("div", 0x04, 2, 1, Fork::Frontier),
    ("sdiv", 0x05, 2, 1, Fork::Frontier),
    ("mod", 0x06, 2, 1, Fork::Frontier),
    ("smod", 0x07, 2, 1, Fork::Frontier),
    ("addmod", 0x08, 3, 1, Fork::Frontier),
    ("mulmod", 0x09, 3, 1, Fork::Frontier),
    ("exp", 0x0a, 2, 1, Fork::Frontier),
    ("signextend", 0x0b, 2, 1, Fork::Frontier),
    ("lt", 0x10, 2, 1, Fork::Frontier),
    ("gt", 0x11, 2, 1, Fork::Frontier),
    ("slt", 0x12, 2, 1, Fork::Frontier),
    ("sgt", 0x13, 2, 1, Fork::Frontier),
    ("eq", 0x14, 2, 1, Fork::Frontier),
    ("iszero", 0x15, 1, 1, Fork::Frontier),
    ("and", 0x16, 2, 1, Fork::Frontier),
    ("or", 0x17, 2, 1, Fork::Frontier),
    ("xor", 0x18, 2, 1, Fork::Frontier),
    ("not", 0x19, 1, 1, Fork::Frontier),
    ("byte", 0x1a, 2, 1, Fork::Frontier),
    ("shl", 0x1b, 2, 1, Fork::Petersburg),
    ("shr", 0x1c, 2, 1, Fork::Petersburg),
    ("sar", 0x1d, 2, 1, Fork::Petersburg),
    ("clz", 0x1e, 1, 1, Fork::Osaka),
    ("keccak256", 0x20, 2, 1, Fork::Frontier),
    ("address", 0x30, 0, 1, Fork::Frontier),
    ("balance", 0x31, 1, 1, Fork::Frontier),
    ("origin", 0x32, 0, 1, Fork::Frontier),
    ("caller", 0x33, 0, 1, Fork::Frontier),
    ("callvalue", 0x34, 0, 1, Fork::Frontier),
    ("calldataload", 0x35, 1, 1, Fork::Frontier),
    ("calldatasize", 0x36, 0, 1, Fork::Frontier),
    ("calldatacopy", 0x37, 3, 0, Fork::Frontier),
    ("codesize", 0x38, 0, 1, Fork::Frontier),
    ("codecopy", 0x39, 3, 0, Fork::Frontier),
    ("gasprice", 0x3a, 0, 1, Fork::Frontier),
    ("extcodesize", 0x3b, 1, 1, Fork::Frontier),
    ("extcodecopy", 0x3c, 4, 0, Fork::Frontier),
    ("returndatasize", 0x3d, 0, 1, Fork::Byzantium),
    ("returndatacopy", 0x3e, 3, 0, Fork::Byzantium),
    ("extcodehash", 0x3f, 1, 1, Fork::Petersburg),
    ("blockhash", 0x40, 1, 1, Fork::Frontier),
    ("coinbase", 0x41, 0, 1, Fork::Frontier),
    ("timestamp", 0x42, 0, 1, Fork::Frontier),
    ("number", 0x43, 0, 1, Fork::Frontier),
    ("prevrandao", 0x44, 0, 1, Fork::Frontier),
    ("gaslimit", 0x45, 0, 1, Fork::Frontier),
    ("chainid", 0x46, 0, 1, Fork::Istanbul),
    ("selfbalance", 0x47, 0, 1, Fork::Istanbul),
    ("basefee", 0x48, 0, 1, Fork::London),
    ("blobhash", 0x49, 1, 1, Fork::Cancun),
    ("blobbasefee", 0x4a, 0, 1, Fork::Cancun),
    ("slotnum", 0x4b, 0, 1, Fork::Amsterdam),
    ("pop", POP, 1, 0, Fork::Frontier),
    ("mload", 0x51, 1, 1, Fork::Frontier),
    ("mstore", 0x52, 2, 0, Fork::Frontier),
    ("mstore8", 0x53, 2, 0, Fork::Frontier),
    ("sload", 0x54, 1, 1, Fork::Frontier),
    ("sstore", 0x55, 2, 0, Fork::Frontier),
    ("jump", 0x56, 1, 0, Fork::Frontier),
    ("jumpi", 0x57, 2, 0, Fork::Frontier),
    ("pc", 0x58, 0, 1, Fork::Frontier),
    ("msize", 0x59, 0, 1, Fork::Frontier),
    ("gas", 0x5a, 0, 1, Fork::Frontier),
    ("jumpdest", JUMPDEST, 0, 0, Fork::Frontier),
    ("tload", 0x5c, 1, 1, Fork::Cancun),
    ("tstore", 0x5d, 2, 0, Fork::Cancun),
    ("mcopy", 0x5e, 3, 0, Fork::Cancun),
    ("push0", PUSH0, 0, 1, Fork::Shanghai),
    // the smallest numbers that they can name
    ("dupn", DUPN, 17, 18, Fork::Amsterdam),
    ("swapn", SWAPN, 18, 18, Fork::Amsterdam),
    ("exchange", EXCHANGE, 3, 3, Fork::Amsterdam),
    ("create", 0xf0, 3, 1, Fork::Frontier),
    ("call", 0xf1, 7, 1, Fork::Frontier),
    ("callcode", 0xf2, 7, 1, Fork::Frontier),
    ("return", 0xf3, 2, 0, Fork::Frontier),
    ("delegatecall", 0xf4, 6, 1, Fork::Homestead),
    ("create2", 0xf5, 4, 1, Fork::Petersburg),
    ("staticcall", 0xfa, 6, 1, Fork::Byzantium),
    ("revert", 0xfd, 2, 0, Fork::Byzantium),
    ("invalid", 0xfe, 0, 0, Fork::Frontier),
    ("selfdestruct", 0xff, 1, 0, Fork::Frontier),
];

/// Families: name, opcode of the first member, its number, and size.
const FAMILIES: [(&str, u8, u8, u8); 4] =
    [("push", 0x60, 1, 32), ("dup", 0x80, 1, 16), ("swap", 0x90, 1, 16), ("log", 0xa0, 0, 5)];

/// Every instruction, by its byte.
pub static INSTRUCTIONS: LazyLock<Vec<Instruction>> = LazyLock::new(|| {
    let single = |(word, byte, takes, gives, since)| Instruction {
        byte,
        takes,
        gives,
        since,
        word,
        number: None,
    };
    let member = |(word, first, from, count): (&'static str, u8, u8, u8)| {
        (0..count).map(move |at| {
            let number = from + at;
            let (takes, gives) = match word {
                "push" => (0, 1),
                "dup" => (number, number + 1),
                "swap" => (number + 1, number + 1),
                _ => (number + 2, 0),
            };
            let (byte, since) = (first + at, Fork::Frontier);
            Instruction { byte, takes, gives, since, word, number: Some(number) }
        })
    };
    let mut all: Vec<_> = SINGLE.into_iter().map(single).collect();
    all.extend(FAMILIES.into_iter().flat_map(member));
    all.sort_by_key(|instruction| instruction.byte);
    all
});

/// Assembles `text`: names of instructions, numbers to push, `name:` for a jump destination and
/// `@name` for its address. DUPN, SWAPN and EXCHANGE have their numbers in the name, such as
/// `dupn17` and `exchange1,2`.
///
/// # Errors
/// Returns an error for any other word.
pub fn assemble(text: &str) -> Result<Vec<u8>> {
    let (mut code, mut places, mut jumps) = (vec![], vec![], vec![]);
    for token in text.split_whitespace() {
        if let Some(name) = token.strip_suffix(':') {
            places.push((name, code.len()));
            code.push(JUMPDEST);
        } else if let Some(name) = token.strip_prefix('@') {
            code.push(PUSH2);
            jumps.push((name, code.len()));
            code.extend([0, 0]);
        } else if token.starts_with(|first: char| first.is_ascii_digit()) {
            let number: U256 = token.parse().ok().context("a number in assembly")?;
            push(&mut code, number);
        } else if let Some(both) = with_immediate(token) {
            code.extend(both);
        } else {
            let has_none = |one: &&Instruction| ![DUPN, SWAPN, EXCHANGE].contains(&one.byte);
            let mut known = INSTRUCTIONS.iter().filter(has_none);
            let known = known.find(|instruction| instruction.is_called(token));
            code.push(known.with_context(|| format!("no instruction {token}"))?.byte);
        }
    }
    for (name, at) in jumps {
        let place = places.iter().find(|(known, _)| *known == name);
        let (_, place) = place.with_context(|| format!("no place {name}"))?;
        let place = u16::try_from(*place).ok().with_context(|| format!("{name}: too far"))?;
        code[at..at + 2].copy_from_slice(&place.to_be_bytes());
    }
    Ok(code)
}

/// An instruction and the byte with its numbers (EIP-8024); `None` for other instructions and for
/// numbers that have no byte.
fn with_immediate(token: &str) -> Option<[u8; 2]> {
    for (word, byte) in [("dupn", DUPN), ("swapn", SWAPN)] {
        if let Some(number) = token.strip_prefix(word) {
            let number: u8 = number.parse().ok()?;
            return (17..=235).contains(&number).then_some([byte, number.wrapping_add(111)]);
        }
    }
    let (first, second) = token.strip_prefix("exchange")?.split_once(',')?;
    let (first, second): (u8, u8) = (first.parse().ok()?, second.parse().ok()?);
    let fits = first > 0 && first < second && second < 30 && first + second <= 30;
    let (high, low) = match second <= 16 {
        true => (first.wrapping_sub(1), second.wrapping_sub(1)),
        false => (29u8.wrapping_sub(second), first.wrapping_sub(1)),
    };
    fits.then_some([EXCHANGE, (high << 4 | low) ^ 143])
}

/// Appends the shortest push of a number that is valid in all forks.
pub fn push(code: &mut Vec<u8>, number: U256) {
    let bytes: [u8; 32] = number.to_be_bytes();
    let length = number.byte_len().max(1);
    code.push(PUSH0 + length as u8);
    code.extend(&bytes[32 - length..]);
}

/// Decodes hexadecimal digits.
///
/// # Errors
/// Returns an error for another character or an odd number of digits.
pub fn bytes(digits: &str) -> Result<Vec<u8>> {
    ensure!(digits.len().is_multiple_of(2), "a code in hexadecimal: half a byte");
    let byte = |at: usize| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    bytes.context("a code in hexadecimal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_made_of_names_numbers_and_places() {
        let code = assemble("1 0x100 add start: dup16 log4 @start jump").unwrap();
        let expected = [0x60, 1, 0x61, 1, 0, 0x01, 0x5b, 0x8f, 0xa4, 0x61, 0, 6, 0x56];
        assert_eq!(code, expected);
        // the numbers of EIP-8024
        let code = assemble("dupn17 dupn108 swapn145 swapn235 exchange1,2 exchange1,29").unwrap();
        assert_eq!(code, [0xe6, 0x80, 0xe6, 0xdb, 0xe7, 0, 0xe7, 0x5a, 0xe8, 0x8e, 0xe8, 0x8f]);
        let wrong = ["dupn", "dupn16", "swapn236", "exchange", "exchange2,2", "exchange2,29"];
        for text in ["nothing", "@nowhere", "0xyz", "dup17", "push"].into_iter().chain(wrong) {
            assert!(assemble(text).is_err(), "{text}");
        }
        assert!(bytes("abc").is_err() && bytes("zz").is_err());
    }

    #[test]
    fn each_instruction_has_a_byte_of_its_own() {
        let mut seen = [0u8; 256];
        INSTRUCTIONS.iter().for_each(|one| seen[usize::from(one.byte)] += 1);
        assert!(seen.iter().all(|count| *count <= 1));
        let names: Vec<String> = INSTRUCTIONS.iter().map(Instruction::name).collect();
        assert!(
            ["PUSH32", "DUP1", "SWAP16", "LOG0", "MULMOD"]
                .iter()
                .all(|name| { names.iter().any(|known| known == name) })
        );
    }
}
