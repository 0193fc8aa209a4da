//! The accounts of a chain: the committee, an owner that receives all its funds, oracle and notary
//! nodes, a multisig account, and any number of others.

use super::accounts::{Account, key, public};
use super::draft::{Draft, GAS, Who};
use super::script::{Value, call};
use crate::random::Random;
use anyhow::Result;
use blockmill_neo::execute::contract::native_hash;
use blockmill_neo::types::{PublicKey, Scopes};
use std::num::NonZero;
use std::thread::{available_parallelism, scope};

/// Numbers of the accounts with a role; the others follow.
pub const COMMITTEE: usize = 0;
pub const OWNER: usize = 1;
pub const ORACLES: usize = 2;
pub const SHARED: usize = 3;
/// A notary node, not the first one.
pub const NOTARY_NODE: usize = 4;
pub const OTHERS: usize = 5;
/// Number of notary nodes, and the one that signs.
const NOTARY_NODES: u32 = 3;
const SIGNING: usize = 1;
/// Limit of candidates among the others.
const CANDIDATES: u32 = 5;

/// All accounts of a chain.
pub struct Participants {
    pub accounts: Vec<Account>,
    /// Public keys of the oracle nodes.
    pub oracles: Vec<PublicKey>,
    /// Public keys of the notary nodes.
    pub notaries: Vec<PublicKey>,
    /// Account and public key of each candidate.
    pub candidates: Vec<(usize, PublicKey)>,
}

impl Participants {
    /// Derives the accounts from a seed.
    pub fn new(seed: u64, others: u32) -> Result<Self> {
        let keys = |name: &str, count: u32| {
            (0..count).map(|number| key(seed, name, number)).collect::<Result<Vec<_>>>()
        };
        let oracles = keys("oracle", 4)?;
        let oracle_keys = oracles.iter().map(public).collect();
        let mut notaries = keys("notary", NOTARY_NODES)?;
        let notary_keys = notaries.iter().map(public).collect();
        let mut accounts = vec![
            Account::multisig(1, keys("committee", 1)?),
            Account::single(key(seed, "owner", 0)?),
            Account::multisig(3, oracles),
            Account::multisig(2, keys("shared", 3)?),
            Account::single(notaries.swap_remove(SIGNING)),
        ];
        let candidates = keys("account", others.min(CANDIDATES))?;
        let candidates = candidates.iter().map(public).enumerate();
        let candidates = candidates.map(|(at, key)| (OTHERS + at, key)).collect();
        accounts.extend(made(seed, others)?);
        Ok(Self { accounts, oracles: oracle_keys, notaries: notary_keys, candidates })
    }

    /// The only key of the committee and the consensus nodes.
    pub fn committee_key(seed: u64) -> Result<PublicKey> {
        Ok(public(&key(seed, "committee", 0)?))
    }

    pub fn hash(&self, account: usize) -> [u8; 20] {
        self.accounts[account].hash.0
    }

    /// A random other account.
    pub fn any(&self, random: &mut Random) -> usize {
        OTHERS + random.below((self.accounts.len() - OTHERS) as u64) as usize
    }

    /// The key of a random candidate.
    pub fn candidate(&self, random: &mut Random) -> PublicKey {
        self.candidates[random.below(self.candidates.len() as u64) as usize].1
    }

    /// Registers or unregisters a candidate; the owner pays.
    pub fn candidacy(&self, number: usize, method: &str) -> Draft {
        let (account, key) = &self.candidates[number];
        let neo = native_hash("NeoToken");
        let script = call(&neo, method, &[Value::Bytes(key)], false);
        let draft = Draft::new(OWNER, script, 1_010 * GAS);
        draft.with(Who::Account(*account), Scopes::CALLED_BY_ENTRY)
    }
}

/// Derives the other accounts, on all cores.
fn made(seed: u64, count: u32) -> Result<Vec<Account>> {
    let threads = available_parallelism().map_or(1, NonZero::get) as u32;
    let share = count.div_ceil(threads).max(1);
    let part = |first: u32| {
        let numbers = first..count.min(first.saturating_add(share));
        numbers.map(|number| Ok(Account::single(key(seed, "account", number)?))).collect()
    };
    let parts: Vec<Result<Vec<Account>>> = scope(|scope| {
        let firsts = (0..count).step_by(share as usize);
        let threads: Vec<_> = firsts.map(|first| scope.spawn(move || part(first))).collect();
        let failed = || Err(anyhow::anyhow!("a thread that derives keys has failed"));
        threads.into_iter().map(|each| each.join().unwrap_or_else(|_| failed())).collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(parts.into_iter().flatten().collect())
}
