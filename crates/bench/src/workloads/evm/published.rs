//! Worst cases that others have published; `docs/formats/evm-programs.md` has their origins.

use super::accounts::{self, LARGEST, LARGEST_PUSHES};
use super::contracts::{self, power};
use super::unit::Unit;
use anyhow::Result;
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::assembly::bytes;

/// What the case is called there; bytes of the base, all of whose bits are 1; the exponent's first
/// bytes and how many of ones follow; how often the modulus repeats some zero bytes and some of
/// ones.
type Power = (&'static str, usize, (&'static str, usize), (usize, usize, usize));
const POWERS: [Power; 14] = [
    ("mod_min_gas_base_heavy", 192, ("03", 0), (6, 1, 31)),
    ("mod_min_gas_exp_heavy", 8, ("07", 75), (1, 0, 7)),
    ("mod_min_gas_balanced", 40, ("01", 3), (1, 1, 38)),
    ("mod_exp_208_gas_balanced", 32, ("", 5), (1, 1, 31)),
    ("mod_exp_215_gas_exp_heavy", 8, ("", 81), (1, 0, 7)),
    ("mod_exp_298_gas_exp_heavy", 8, ("", 112), (1, 0, 7)),
    ("mod_pawel_2", 16, ("", 40), (1, 0, 15)),
    ("mod_pawel_3", 24, ("", 21), (1, 0, 23)),
    ("mod_pawel_4", 32, ("", 12), (1, 1, 31)),
    ("mod_400_gas_exp_heavy", 16, ("15", 37), (1, 0, 15)),
    ("mod_852_gas_exp_heavy", 16, ("", 80), (1, 0, 15)),
    ("mod_996_gas_balanced", 56, ("2b", 7), (1, 1, 54)),
    ("mod_1045_gas_base_heavy", 448, ("03", 0), (14, 1, 31)),
    ("mod_1360_gas_balanced", 32, ("", 32), (1, 1, 31)),
];
/// A prime, and one less: `mod_vul_example_1`.
const PRIME: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
const PRIME_LESS_1: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2e";

/// The cases that a fork has.
///
/// # Errors
/// None that these tables could cause.
pub fn all(fork: Fork) -> Result<Vec<Unit>> {
    let mut all = vec![];
    if fork >= Fork::Byzantium {
        all.extend(powers(fork)?);
        let pairs = contracts::pairs(40)?;
        let (to, size) = (contracts::address(0x08), pairs.len());
        let name = "BN254_PAIRING, 40 pairs".to_owned();
        all.push(Unit::of_contract(name, to, size, fork, Some(pairs))?);
    }
    if fork >= Fork::Shanghai {
        all.extend(creations()?);
    }
    Ok(all)
}

fn powers(fork: Fork) -> Result<Vec<Unit>> {
    let to = contracts::address(0x05);
    let unit = |name: &str, input: Vec<u8>| {
        let size = input.len();
        Unit::of_contract(format!("MODEXP {name}"), to, size, fork, Some(input))
    };
    let mut all = vec![];
    for (name, base, (head, ones), (times, zeros, rest)) in POWERS {
        let exponent = [bytes(head)?, vec![0xff; ones]].concat();
        let modulus = [vec![0; zeros], vec![0xff; rest]].concat().repeat(times);
        all.push(unit(name, power(&vec![0xff; base], &exponent, &modulus))?);
    }
    let power = power(&[3], &bytes(PRIME_LESS_1)?, &bytes(PRIME)?);
    all.push(unit("mod_vul_example_1", power)?);
    Ok(all)
}

/// Contracts created by the longest init code (EIP-3860), which stops at once. A machine
/// may first look for places to jump to in it: there is nothing else, or nothing but pushes.
fn creations() -> Result<Vec<Unit>> {
    let create = ("CREATE", "49152 0 0 create pop", "49152 0 0 pop pop pop", 2);
    let salted = ("CREATE2", "gas 49152 0 0 create2 pop", "gas 49152 0 0 pop pop pop pop", 3);
    let mut all = vec![];
    for (of, code, byte) in [("JUMPDESTs", LARGEST, "0x5b"), ("PUSH1s", LARGEST_PUSHES, "0x60")] {
        let code = accounts::number(&code);
        let before = format!(
            "24576 0 0 {code} extcodecopy 24575 1 24576 {code} extcodecopy {byte} 49151 mstore8"
        );
        for (name, body, baseline, pops) in [create, salted] {
            let title = format!("{name}, initcode of 48 KiB, {of}");
            all.push(Unit::new(&title, name, body, baseline, pops)?.after(&before)?);
        }
    }
    Ok(all)
}
