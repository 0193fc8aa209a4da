//! The initial accounts of a chain.

use super::contracts::{self, SYSTEM};
use super::genesis::DEPOSITS;
use super::{Recipe, Work};
use crate::ethereum::assembly;
use crate::ethereum::signers::Signers;
use crate::random::Random;
use anyhow::Result;
use blockmill_ethereum::params::genesis::GenesisAccount;
use blockmill_ethereum::{Address, Hash, U256};

/// The token.
pub const TOKEN: Address = [0x70; 20];
/// The contract with many slots.
pub const SLOTS: Address = [0x71; 20];
/// The computing contracts.
pub const COMPUTE: [Address; 3] = [[0x72; 20], [0x73; 20], [0x74; 20]];
/// The factory.
pub const FACTORY: Address = [0x75; 20];

/// Balance of each signing account in wei; more than it can spend.
const RICHES: U256 = U256::ONE.wrapping_shl(120);
/// Tokens of each holder.
const TOKENS: U256 = U256::ONE.wrapping_shl(100);

/// The accounts of a chain.
pub fn alloc(
    recipe: &Recipe,
    signers: &Signers,
    random: &mut Random,
) -> Result<Vec<GenesisAccount>> {
    let rich = |address| GenesisAccount { balance: RICHES, ..account(address) };
    let mut alloc: Vec<_> = signers.addresses().map(rich).collect();
    for (since, address, code) in SYSTEM {
        if recipe.last_fork() >= since {
            alloc.push(contract(address, assembly::bytes(code)?));
        }
    }
    let mixed = recipe.work == Work::Mixed;
    if mixed {
        alloc.push(contract(DEPOSITS, contracts::deposits()?));
    }
    if recipe.work == Work::Erc20 {
        let storage = signers.addresses().map(|holder| (token_slot(&holder), word(TOKENS)));
        let storage = storage.collect();
        alloc.push(GenesisAccount { storage, ..contract(TOKEN, contracts::token()?) });
    }
    if recipe.work == Work::Storage {
        let slot = |i| {
            let mut value = [0; 32];
            random.fill(&mut value);
            value[31] |= 1; // not 0
            (word(U256::from(i)), value)
        };
        let storage = (0..recipe.slots).map(slot).collect();
        let code = contracts::slots(recipe.slots)?;
        alloc.push(GenesisAccount { storage, ..contract(SLOTS, code) });
    }
    if recipe.work == Work::Compute {
        for (address, code) in COMPUTE.into_iter().zip(contracts::compute()?) {
            alloc.push(contract(address, code));
        }
    }
    if mixed || recipe.work == Work::Contracts {
        alloc.push(contract(FACTORY, contracts::factory()?));
    }
    Ok(alloc)
}

fn account(address: Address) -> GenesisAccount {
    GenesisAccount { address, balance: U256::ZERO, nonce: 0, code: vec![], storage: vec![] }
}

fn contract(address: Address, code: Vec<u8>) -> GenesisAccount {
    GenesisAccount { nonce: 1, code, ..account(address) }
}

/// The slot of an account's token balance: an entry of the mapping in the contract's first
/// variable.
pub fn token_slot(holder: &Address) -> Hash {
    let mut source = [0; 64];
    source[12..32].copy_from_slice(holder);
    blockmill_hashes::keccak256(&source)
}

/// A number as a word.
pub fn word(number: U256) -> Hash {
    number.to_be_bytes()
}
