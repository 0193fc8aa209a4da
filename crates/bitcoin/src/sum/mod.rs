//! Execution without a set of coins: undo data says what each block spends, so every rule of a
//! block can be checked by itself; and a sum over all coins says whether undo data is right.
//!
//! Every coin that was created must be spent or unspent, once. The sum adds a hash of each coin
//! that a block creates and takes away that of each coin that is spent or that is in the set of
//! unspent coins. It is zero where these are the same, and where they are not, but for a chance of
//! one in 2^192. `docs/distributed.md` has the argument.

mod difference;
mod kept;
mod part;
mod unproven;

pub(crate) use difference::difference;
pub(crate) use kept::Kept;
pub(crate) use part::Part;
pub use unproven::Unproven;

use crate::fault::Error;
use crate::params::Params;
use crate::types::Txid;
use crate::{BlockHash, Hash};
use crypto::ManySha256;
use ruint::aliases::U256;
use std::sync::{Mutex, PoisonError};

/// What a sum of zero proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Coins that the blocks created.
    pub created: u64,
    /// Coins that they spent.
    pub spent: u64,
    /// Coins that are left.
    pub unspent: u64,
}

/// The sum of a run, and where it has undo data and coins from.
pub(crate) struct Sum {
    /// Undo data and unspent coins, which are believed until the sum is known.
    pub kept: Kept,
    /// Known to nobody but this run: who wrote the files cannot have chosen coins by their hashes.
    salt: Hash,
    total: Mutex<Total>,
}

/// What all batches so far came to.
#[derive(Default)]
struct Total {
    sum: U256,
    created: u64,
    spent: u64,
    /// Id and height of each coinbase.
    coinbases: Vec<(Hash, u32)>,
}

impl Sum {
    /// A sum of nothing, under a new salt.
    pub fn new(kept: Kept) -> Result<Self, Error> {
        let salt = crypto::secret().ok_or(Unproven::NoSecret)?;
        Ok(Self { kept, salt, total: Mutex::default() })
    }

    /// A part of the sum, for one thread.
    pub fn part(&self, hasher: ManySha256) -> Part {
        Part::new(self.salt, hasher)
    }

    /// Adds a part, and the coinbases of its blocks.
    pub fn add(&self, part: Part, coinbases: Vec<(Hash, u32)>) {
        let (sum, created, spent) = part.finish();
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.sum = total.sum.wrapping_add(sum);
        total.created += created;
        total.spent += spent;
        total.coinbases.extend(coinbases);
    }

    /// Takes the unspent coins away, and says what is proven: nothing may be left.
    ///
    /// # Errors
    /// The coins cannot be read, a coinbase stands in two blocks, or something is left.
    pub fn end(self, params: &Params, hash: impl Fn(u32) -> BlockHash) -> Result<Proof, Error> {
        let Self { kept, salt, total } = self;
        let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Total { sum, created, spent, mut coinbases } = total;
        coinbases.sort_unstable();
        for pair in coinbases.windows(2) {
            let ([(first, low), (second, height)], hash) = ([pair[0], pair[1]], hash(pair[1].1));
            let excepted = params.repeat(height, &hash).is_some_and(|repeat| repeat.first == low);
            if first == second && !excepted {
                return Err(Unproven::Repeated { height, hash, txid: Txid(first) }.into());
            }
        }
        let mut part = Part::new(salt, ManySha256::detect());
        kept.each_coin(|key, coin| {
            part.gone(key, coin);
            Ok(())
        })?;
        let (left, _, unspent) = part.finish();
        match sum.wrapping_add(left) == U256::ZERO {
            true => Ok(Proof { created, spent, unspent }),
            false => Err(Unproven::Sum { created, spent, unspent }.into()),
        }
    }
}
