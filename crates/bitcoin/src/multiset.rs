//! Execution without a set of coins: undo data says what each block spends, so every rule of a
//! block can be checked by itself; and a sum over all coins says whether undo data is right.
//!
//! Every coin that was created must be spent or unspent, once. The sum adds a hash of each coin
//! that a block creates and takes away that of each coin that is spent or that is in the set of
//! unspent coins. It is zero where these are the same, and where they are not, but for a chance of
//! one in 2^192. `docs/distributed.md` has the argument. It may be one of parts: those of shards of
//! block files, and that of the unspent coins (`crate::shard`).

mod difference;
mod kept;
mod part;
mod undo;
mod unproven;

pub(crate) use difference::difference;
pub(crate) use kept::Kept;
pub(crate) use part::Part;
pub(crate) use undo::{Places, Undo};
pub use unproven::Unproven;

use crate::fault::Error;
use crate::params::Params;
use crate::types::Txid;
use crate::{BlockHash, Hash};
use blockmill_hashes::ManySha256;
use blockmill_verdict::counted;
use ruint::aliases::U256;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What a sum of zero proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Coins that the blocks created.
    pub created: u64,
    /// Coins that they spent.
    pub spent: u64,
    /// Coins that are left.
    pub unspent: u64,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, spent, unspent } = *self;
        let [created, spent, unspent] = [created, spent, unspent].map(|n| counted(n, "coin"));
        write!(f, "the sum of all coins is 0: {created} created, {spent} spent, {unspent} left")
    }
}

/// A sum that grows, and where undo data comes from.
pub(crate) struct MultisetHash<'a> {
    /// Undo data, which is believed until the sum is known.
    pub undo: Undo<'a>,
    salt: Hash,
    total: Mutex<Total>,
}

/// What some blocks come to.
#[derive(Default)]
pub(crate) struct Total {
    pub sum: U256,
    pub created: u64,
    pub spent: u64,
    /// Id and height of each coinbase.
    pub coinbases: Vec<(Hash, u32)>,
}

/// A salt that nobody can know before: who wrote the files cannot have chosen coins by their
/// hashes under it.
pub(crate) fn new_salt() -> Result<Hash, Error> {
    Ok(blockmill_platform::random::secret().ok_or(Unproven::NoSecret)?)
}

impl<'a> MultisetHash<'a> {
    /// A sum of nothing.
    pub fn new(undo: Undo<'a>, salt: Hash) -> Self {
        Self { undo, salt, total: Mutex::default() }
    }

    /// A part of the sum, for one thread.
    pub fn part(&self, hasher: ManySha256) -> Part {
        Part::new(self.salt, hasher)
    }

    /// Adds a part, and the coinbases of its blocks.
    pub fn add(&self, part: Part, coinbases: Vec<(Hash, u32)>) {
        let (sum, created, spent) = part.finish();
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.add(Total { sum, created, spent, coinbases });
    }

    /// What all parts come to.
    pub fn total(self) -> Total {
        self.total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all unspent coins come to, to be taken away from what blocks do, and how many there are.
///
/// # Errors
/// The coins cannot be read.
pub(crate) fn unspent(kept: &Kept, salt: Hash) -> Result<(U256, u64), Error> {
    let mut part = Part::new(salt, ManySha256::detect());
    kept.each_coin(|key, coin| {
        part.gone(key, coin);
        Ok(())
    })?;
    let (sum, _, coins) = part.finish();
    Ok((sum, coins))
}

impl Total {
    /// Adds what other blocks come to.
    pub fn add(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.created += other.created;
        self.spent += other.spent;
        self.coinbases.extend(other.coinbases);
    }

    /// Takes the unspent coins away, and says what is proven of all blocks of a chain, of which
    /// `hash` gives those of some height: nothing may be left.
    ///
    /// # Errors
    /// A coinbase stands in two blocks, or something is left.
    pub fn end(
        self,
        (left, unspent): (U256, u64),
        params: &Params,
        hash: impl Fn(u32) -> BlockHash,
    ) -> Result<Proof, Box<Unproven>> {
        let Self { sum, created, spent, mut coinbases } = self;
        coinbases.sort_unstable();
        for pair in coinbases.windows(2) {
            let [(first, low), (second, height)] = [pair[0], pair[1]];
            if first != second {
                continue;
            }
            let hash = hash(height);
            if params.repeat(height, &hash).is_none_or(|repeat| repeat.first != low) {
                return Err(Box::new(Unproven::Repeated { height, hash, txid: Txid(first) }));
            }
        }
        match sum.wrapping_add(left) == U256::ZERO {
            true => Ok(Proof { created, spent, unspent }),
            false => Err(Box::new(Unproven::Multiset { created, spent, unspent })),
        }
    }
}
