//! Worst cases that others have published; `docs/formats/evm-programs.md` has their origins.

use super::accounts::{self, LARGEST};
use super::contracts::{self, power};
use super::unit::Unit;
use anyhow::Result;
use ethereum::params::Fork;
use generate::ethereum::assembly::bytes;

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

/// Contracts made by the longest code that may make one (EIP-3860), which stops at once and has
/// places to jump to alone, all of which a machine may look for first.
fn creations() -> Result<Vec<Unit>> {
    let largest = accounts::number(&LARGEST);
    let before = format!(
        "24576 0 0 {largest} extcodecopy 24575 1 24576 {largest} extcodecopy 0x5b 49151 mstore8"
    );
    let create = "49152 0 0 create pop";
    let salted = "gas 49152 0 0 create2 pop";
    let name = "initcode of 48 KiB, JUMPDESTs";
    let all = [
        Unit::new(&format!("CREATE, {name}"), "CREATE", create, "49152 0 0 pop pop pop", 2)?,
        Unit::new(
            &format!("CREATE2, {name}"),
            "CREATE2",
            salted,
            "gas 49152 0 0 pop pop pop pop",
            3,
        )?,
    ];
    all.into_iter().map(|unit| unit.after(&before)).collect()
}
