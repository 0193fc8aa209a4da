//! The building blocks of random programs.

use crate::ethereum::assembly::{INSTRUCTIONS, Instruction, PUSH0};
use blockmill_ethereum::params::Fork;
use std::sync::LazyLock;

/// Instructions before Amsterdam that push one word, except those that hash, repeat, push or call.
/// A longer list would change the chains of earlier forks.
pub static FUNCTIONS: LazyLock<Vec<Instruction>> = LazyLock::new(|| {
    let all = INSTRUCTIONS.iter().filter(|one| one.gives == 1 && one.byte <= PUSH0);
    all.filter(|one| one.byte != KECCAK256 && one.since < Fork::Amsterdam).copied().collect()
});
const KECCAK256: u8 = 0x20;

/// Functions of an address, of a number of a block, of a place in memory, of a slot.
pub const OF_ADDRESSES: [u8; 3] = [0x31, 0x3b, 0x3f];
pub const OF_BLOCKS: u8 = 0x40;
pub const OF_MEMORY: u8 = 0x51;
pub const OF_SLOTS: [u8; 2] = [0x54, 0x5c];

/// Short creation codes: two that create a contract, and some that fail or return nothing.
pub const CREATIONS: [&[u8]; 7] = [
    // slot 0 is 1; the contract destroys itself for the caller
    &[0x60, 1, 0x60, 0, 0x55, 0x61, 0x33, 0xff, 0x60, 0, 0x52, 0x60, 2, 0x60, 30, 0xf3],
    // the contract counts in slot 0
    &[0x69, 0x60, 0, 0x54, 0x60, 1, 1, 0x60, 0, 0x55, 0, 0x60, 0, 0x52, 0x60, 10, 0x60, 22, 0xf3],
    // no code
    &[],
    // revert, or an unknown instruction
    &[0x60, 0, 0x60, 0, 0xfd],
    // code that begins with 0xef (EIP-3541)
    &[0x60, 0xef, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xf3],
    // destroys itself during creation
    &[0x33, 0xff],
    // an invalid instruction
    &[0xfe],
];
