//! The full rules: libbitcoinconsensus, Bitcoin Core's script interpreter, called as in Core
//! (`crates/script-interpreter`).

use super::{Flags, Spend};
use blockmill_script_interpreter::{Error, Transaction};
use std::fmt;

/// The reason why a script is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The script fails under the rules in force.
    Refused,
    /// The library does not accept the encoding of the transaction, or the flags.
    NotTaken(Error),
    /// Coins that the block spends are missing.
    Coins {
        /// Inputs of the block, without those of the coinbase.
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

/// A transaction that the library has read, for verifying its inputs. Reading takes time in
/// proportion to its size.
pub(super) struct Library(Transaction);

impl Library {
    pub fn read(spend: &Spend) -> Result<Self, Reason> {
        let coins = spend.coins().iter().map(|coin| (coin.value.to_sat(), spend.coin_script(coin)));
        Self::read_encoding(spend.encoding(), coins)
    }

    /// Reads a transaction. `coins` are value and script of the coins that its inputs spend.
    pub fn read_encoding<'a>(
        encoding: &[u8],
        coins: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<Self, Reason> {
        Transaction::read(encoding, coins).map(Library).map_err(Reason::NotTaken)
    }

    /// Verifies that input number `index` satisfies the script of its coin.
    pub fn verify(&self, index: usize, flags: Flags) -> Result<(), Reason> {
        self.0.verify(index, flags.bits()).map_err(|error| match error {
            Error::ERR_SCRIPT => Reason::Refused,
            error => Reason::NotTaken(error),
        })
    }
}
