//! The full rules: libbitcoinconsensus, that is Bitcoin Core's interpreter, called as Core itself
//! does (`crates/script-interpreter`).

use super::{Flags, Spend};
use blockmill_script_interpreter::{Error, Transaction};
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

/// A transaction about whose inputs the library can be asked. To read it takes time in proportion
/// to its size, whatever is asked then.
pub(super) struct Library(Transaction);

impl Library {
    pub fn read(spend: &Spend) -> Result<Self, Reason> {
        let coins = spend.coins().iter().map(|coin| (coin.value.to_sat(), spend.coin_script(coin)));
        Self::read_encoding(spend.encoding(), coins)
    }

    /// `coins` are what the inputs spend: value and script.
    pub fn read_encoding<'a>(
        encoding: &[u8],
        coins: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<Self, Reason> {
        Transaction::read(encoding, coins).map(Library).map_err(Reason::NotTaken)
    }

    /// Does input number `index` fulfil its coin's script?
    pub fn verify(&self, index: usize, flags: Flags) -> Result<(), Reason> {
        self.0.verify(index, flags.bits()).map_err(|error| match error {
            Error::ERR_SCRIPT => Reason::Refused,
            error => Reason::NotTaken(error),
        })
    }
}
