//! The full rules: libbitcoinconsensus, that is Bitcoin Core's interpreter.

use super::{Flags, Spend};
use bitcoinconsensus::{Error, Utxo, verify_with_flags};
use std::fmt;

/// Why a script is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The script fails under the rules in force.
    Refused,
    /// The library does not take the transaction: its encoding or the flags.
    NotTaken(Error),
    /// The coins that the block spends were not all given.
    Coins {
        /// Inputs of the block, those of the coinbase not counted.
        expected: usize,
        /// Coins given.
        found: usize,
    },
    /// There is no such transaction or input.
    Absent,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("expected a script that ends true, found one that fails"),
            Self::NotTaken(error) => write!(f, "expected a transaction to verify, found: {error}"),
            Self::Coins { expected, found } => {
                write!(f, "expected {expected} spent coins, found {found}")
            }
            Self::Absent => f.write_str("expected an input, found none"),
        }
    }
}

/// Asks the library about inputs of one transaction.
///
/// The library reads the whole transaction anew for each input, and all spent coins where they
/// matter, so that the time for a transaction is quadratic in its inputs.
pub(super) struct Library<'a> {
    spend: Spend<'a>,
    /// All coins in the library's form; empty until a taproot input needs them.
    coins: Vec<Utxo>,
}

impl<'a> Library<'a> {
    pub fn new(spend: Spend<'a>) -> Self {
        Library { spend, coins: Vec::new() }
    }

    /// Does input number `index` fulfil its coin's script?
    pub fn verify(&mut self, index: usize, flags: Flags) -> Result<(), Reason> {
        let spend = self.spend;
        let coin = spend.coins().get(index).ok_or(Reason::Absent)?;
        let script = spend.coin_script(coin);
        // the other coins matter to version 1 witness programs only; to hand them over for others
        // costs a copy of all of them
        let taproot = flags.has(Flags::TAPROOT) && is_taproot(script);
        let flags = if taproot { flags } else { flags.without(Flags::TAPROOT) };
        if taproot && self.coins.is_empty() {
            self.coins.extend(spend.coins().iter().map(|coin| {
                let script = spend.coin_script(coin);
                Utxo {
                    script_pubkey: script.as_ptr(),
                    script_pubkey_len: script.len() as u32,
                    value: coin.value.to_sat() as i64,
                }
            }));
        }
        let coins = taproot.then_some(&self.coins[..]);
        let (transaction, value) = (spend.encoding(), coin.value.to_sat());
        verdict(verify_with_flags(script, value, transaction, coins, index, flags.bits()))
    }
}

/// Does input number `index` of the encoded `transaction` fulfil `script`, where only its own coin
/// is known? Not for the rules of taproot.
pub(super) fn verify_alone(
    script: &[u8],
    value: u64,
    transaction: &[u8],
    index: usize,
    flags: Flags,
) -> Result<(), Reason> {
    verdict(verify_with_flags(script, value, transaction, None, index, flags.bits()))
}

fn verdict(answer: Result<(), Error>) -> Result<(), Reason> {
    answer.map_err(|error| match error {
        Error::ERR_SCRIPT => Reason::Refused,
        error => Reason::NotTaken(error),
    })
}

/// `OP_1` and 32 bytes: the only output script for which the rules of taproot matter.
pub(super) fn is_taproot(script: &[u8]) -> bool {
    script.len() == 34 && script.starts_with(&[0x51, 0x20])
}
