//! The accounts that programs call, and the accounts of the programs.

use anyhow::Result;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::params::genesis::GenesisAccount;
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_generate::ethereum::assembly::{JUMPDEST, PUSH0, assemble};

/// Who sends all transactions.
pub const SENDER: Address = [0x5e; 20];
/// Who gets the fees.
pub const BENEFICIARY: Address = [0xbe; 20];
/// An account without code.
pub const EMPTY: Address = [0xe0; 20];
/// A contract that stops at once.
pub const STOPS: Address = [0xe1; 20];
/// One that pushes two words before.
pub const PUSHES: Address = [0xe2; 20];
/// One that returns nothing.
pub const RETURNS: Address = [0xe3; 20];
/// One that reverts.
pub const REVERTS: Address = [0xe4; 20];
/// One with the designated invalid instruction.
pub const INVALID: Address = [0xe5; 20];
/// One that destroys itself for itself, and one that only pushes its address.
pub const DESTROYED: Address = [0xe6; 20];
/// See [`DESTROYED`].
pub const PUSHES_ONE: Address = [0xe7; 20];
/// One that pushes [`FILLED`] words.
pub const FILLS: Address = [0xe8; 20];
/// One with the largest code, all of it places to jump to.
pub const LARGEST: Address = [0xe9; 20];
/// One as large, all of it PUSH1.
pub const LARGEST_PUSHES: Address = [0xeb; 20];
/// An account that delegates to the code of [`STOPS`] (EIP-7702).
pub const DELEGATED: Address = [0xea; 20];
/// Words that [`FILLS`] pushes with DUP1.
pub const FILLED: u32 = 1_000;
/// The most bytes of a code (EIP-170).
pub const LARGEST_CODE: usize = 24_576;
/// Numbers from here on are contracts that a program calls once.
pub const COLD: u64 = 0xc01d_0000_0000;
/// Wei of an account that can spend.
const RICHES: U256 = U256::ONE.wrapping_shl(100);

/// The accounts that every program touches before its loop, so that they are warm (EIP-2929).
pub const WARM: [Address; 12] = [
    EMPTY,
    STOPS,
    PUSHES,
    RETURNS,
    REVERTS,
    INVALID,
    DESTROYED,
    PUSHES_ONE,
    FILLS,
    LARGEST,
    LARGEST_PUSHES,
    DELEGATED,
];

/// An address as a number in assembly.
pub fn number(address: &Address) -> String {
    format!("{:#x}", U256::from_be_slice(address))
}

/// The address that is this number.
pub fn numbered(number: u64) -> Address {
    let mut address = [0; 20];
    address[12..].copy_from_slice(&number.to_be_bytes());
    address
}

/// The address of the program with this index.
pub fn of_program(index: usize) -> Address {
    let mut address = [0xca; 20];
    address[12..].copy_from_slice(&(index as u64).to_be_bytes());
    address
}

/// A program's account; `slots` of its slots are not 0, from 1 on.
pub fn program(address: Address, code: Vec<u8>, slots: u64) -> GenesisAccount {
    let word = |number: u64| -> Hash { U256::from(number).to_be_bytes() };
    let storage = (1..=slots).map(|slot| (word(slot), word(slot + 7))).collect();
    GenesisAccount { address, balance: RICHES, nonce: 1, code, storage }
}

/// All other accounts; `cold` is the number of contracts from [`COLD`] on.
///
/// # Errors
/// None that these texts could cause.
pub fn all(fork: Fork, cold: u64) -> Result<Vec<GenesisAccount>> {
    let sender = GenesisAccount { nonce: 0, ..program(SENDER, vec![], 0) };
    let mut all = vec![sender, GenesisAccount { nonce: 0, ..program(EMPTY, vec![], 0) }];
    let fills = format!("1{}", " dup1".repeat(FILLED as usize));
    let codes = [
        (STOPS, "stop"),
        (PUSHES, "0 0 stop"),
        (RETURNS, "0 0 return"),
        (REVERTS, "0 0 revert"),
        (INVALID, "invalid"),
        (DESTROYED, "address selfdestruct"),
        (PUSHES_ONE, "address stop"),
        (FILLS, &fills),
    ];
    for (address, text) in codes {
        all.push(program(address, assemble(text)?, 0));
    }
    for (address, byte) in [(LARGEST, JUMPDEST), (LARGEST_PUSHES, PUSH0 + 1)] {
        let mut largest = vec![byte; LARGEST_CODE];
        // so that a call ends at once
        largest[0] = 0;
        all.push(program(address, largest, 0));
    }
    if fork >= Fork::Prague {
        let code = [&[0xef, 0x01, 0x00][..], &STOPS].concat();
        all.push(program(DELEGATED, code, 0));
    }
    let contracts = (0..cold).map(|at| program(numbered(COLD + at), vec![0], 0));
    all.extend(contracts);
    Ok(all)
}
