//! Deterministic Neo N3 chains, signed and valid: transfers between any number of accounts, nearly
//! empty blocks, or a mixed load with contracts, faults, votes, oracles and deposits.
//!
//! The network has one consensus node; its configuration is written next to the dump. Blocks are
//! executed by this program's own engine, so headers can have state roots.

mod accounts;
mod chain;
mod configuration;
mod contract;
mod draft;
mod mixture;
mod notaries;
mod participants;
mod script;

use crate::random::Random;
use anyhow::{Context, Result, ensure};
use blockmill_archive::acc::{DumpWriter, Head};
use blockmill_archive::output::OutputFolder;
use blockmill_neo::execute::contract::native_hash;
use blockmill_neo::params::Protocol;
use blockmill_neo::types::{PublicKey, UInt256};
use chain::ChainBuilder;
use contract::Deployment;
use draft::{Draft, GAS};
use mixture::Mixture;
use participants::{COMMITTEE, ORACLES, OTHERS, OWNER, Participants, SHARED};
use script::{Script, Value, call, payment};
use std::fs;
use std::path::Path;

/// The dump in the folder that [`generate`] writes.
pub const FILE: &str = "chain.acc";
/// The configuration of the network, in neo-go's format.
pub const CONFIGURATION: &str = "chain.yml";

/// Limit of accounts.
pub const MOST_ACCOUNTS: u32 = 2_000_000;
/// Limit of transactions in a mixed chain: its accounts can pay for so many.
pub const MOST_MIXED: u64 = 5_000_000;
/// Limit of transactions in a block, by the configuration.
pub const MOST_TRANSACTIONS: u32 = 60_000;

/// Number of accounts that one transaction funds, and of such transactions in a block.
const GIVEN_AT_ONCE: usize = 100;
const GIFTS_OF_A_BLOCK: usize = 10;
/// GAS and NEO for all accounts together, and the limit for one.
const GIVEN_GAS: i64 = 40_000_000;
const MOST_GAS: i64 = 100_000;
const GIVEN_NEO: i64 = 15_000_000;
const MOST_NEO: i64 = 1_000;
/// Tokens for each account.
const GIVEN_TOKENS: i64 = 100_000;

/// `noderoles.Oracle` and `noderoles.P2PNotary`.
const ORACLE: i64 = 8;
const P2P_NOTARY: i64 = 32;

/// What to generate.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Blocks with load. The genesis block and the blocks that fund the accounts are added.
    pub blocks: u32,
    /// Transactions in each of them.
    pub transactions: u32,
    /// Only every n-th of them has transactions.
    pub every: u32,
    /// Number of accounts.
    pub accounts: u32,
    /// All kinds of transactions instead of GAS transfers.
    pub mixed: bool,
    /// Headers have state roots.
    pub state_roots: bool,
    /// The seed; equal seeds give equal bytes.
    pub seed: u64,
}

/// The generated chain.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Height of the last block.
    pub last: u32,
    /// Its hash.
    pub tip: UInt256,
    /// The state root after it.
    pub root: UInt256,
    /// Transactions of all blocks.
    pub transactions: u64,
    /// Failed transactions.
    pub faults: u64,
}

impl Recipe {
    fn check(&self) -> Result<()> {
        let Self { accounts, transactions, every, mixed, .. } = self;
        ensure!(
            (1..=MOST_ACCOUNTS).contains(accounts),
            "{accounts} accounts: expected 1 to {MOST_ACCOUNTS}"
        );
        ensure!(
            *transactions <= MOST_TRANSACTIONS,
            "blocks of {transactions} transactions: expected at most {MOST_TRANSACTIONS}"
        );
        ensure!(*every > 0, "every 0 blocks: expected 1 or more");
        let all = u64::from(self.blocks / every) * u64::from(*transactions);
        ensure!(
            !mixed || all <= MOST_MIXED,
            "{all} transactions of a mixed load: expected at most {MOST_MIXED}"
        );
        Ok(())
    }

    /// Blocks before the load, including the genesis block.
    fn preparation(&self) -> u32 {
        let gifts = (self.accounts as usize).div_ceil(GIVEN_AT_ONCE);
        let given = gifts.div_ceil(GIFTS_OF_A_BLOCK) as u32;
        3 + given + u32::from(self.mixed)
    }

    /// Blocks of the whole chain.
    #[must_use]
    pub fn all_blocks(&self) -> u32 {
        self.preparation().saturating_add(self.blocks)
    }
}

/// Writes the dump and the configuration of `recipe` to `folder`. `progress` gets the number of
/// blocks so far.
///
/// # Errors
/// Returns an error if the recipe is invalid or a file cannot be written.
pub fn generate(
    recipe: &Recipe,
    folder: &Path,
    mut progress: impl FnMut(u64),
) -> Result<Generated> {
    recipe.check()?;
    let output = OutputFolder::create(folder)?;
    let folder = output.path();
    let participants = Participants::new(recipe.seed, recipe.accounts)?;
    let text = configuration::text(&Participants::committee_key(recipe.seed)?, recipe.state_roots);
    let protocol = Protocol::from_yaml(&text)?;
    let path = folder.join(CONFIGURATION);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;

    let head = Head { first: 0, count: recipe.all_blocks(), incremental: false };
    let writer = DumpWriter::create(&folder.join(FILE), head, false)?;
    let chain = ChainBuilder::begin(protocol, writer, recipe.mixed)?;
    let mut work = Work { recipe, participants, chain, progress: &mut progress };
    let token = work.prepare()?;
    work.load(token)?;
    let chain = work.chain;
    let made = Generated {
        last: chain.height(),
        tip: chain.tip(),
        root: chain.root(),
        transactions: chain.counts[0],
        faults: chain.counts[1],
    };
    chain.finish()?;
    output.finish()?;
    Ok(made)
}

/// A chain under construction.
struct Work<'a> {
    recipe: &'a Recipe,
    participants: Participants,
    chain: ChainBuilder,
    progress: &'a mut dyn FnMut(u64),
}

impl Work<'_> {
    fn add(&mut self, drafts: &[Draft]) -> Result<blockmill_neo::execute::block::Executed> {
        let accounts = &self.participants.accounts;
        let executed = self.chain.add(accounts, &accounts[COMMITTEE], drafts)?;
        (self.progress)(u64::from(self.chain.height()) + 1);
        Ok(executed)
    }

    /// Adds a block in which no transaction may fail.
    fn add_good(&mut self, drafts: &[Draft]) -> Result<()> {
        let executed = self.add(drafts)?;
        let failed = executed.executions.iter().find_map(|each| each.fault.as_deref());
        ensure!(failed.is_none(), "block {}: {}", self.chain.height(), failed.unwrap_or_default());
        Ok(())
    }

    /// Funds all accounts and deploys the contract. Returns its hash.
    fn prepare(&mut self) -> Result<[u8; 20]> {
        let (gas, neo) = (native_hash("GasToken"), native_hash("NeoToken"));
        let (committee, owner) = (self.participants.hash(COMMITTEE), self.participants.hash(OWNER));
        let give = |token: &[u8; 20], amount| {
            let values = payment(&committee, &owner, amount, Value::Null);
            Draft::new(COMMITTEE, call(token, "transfer", &values, true), GAS)
        };
        let mut first = vec![give(&gas, 50_000_000 * GAS), give(&neo, 90_000_000)];
        if self.recipe.mixed {
            first.push(self.designation(ORACLE, &self.participants.oracles));
            first.push(self.designation(P2P_NOTARY, &self.participants.notaries));
        }
        self.add_good(&first)?;

        let deployment = Deployment::new("Mill", 0)?;
        let token = deployment.hash(&owner);
        let script = deployed(&native_hash("ContractManagement"), &deployment, &owner);
        self.add_good(&[Draft::new(OWNER, script, 30 * GAS)])?;

        let receivers: Vec<usize> = (OTHERS..self.participants.accounts.len()).collect();
        let mut gifts: Vec<Vec<usize>> =
            receivers.chunks(GIVEN_AT_ONCE).map(<[usize]>::to_vec).collect();
        // the last funding transaction has room for two more
        if let Some(last) = gifts.last_mut().filter(|_| self.recipe.mixed) {
            last.extend([SHARED, ORACLES]);
        }
        for block in gifts.chunks(GIFTS_OF_A_BLOCK) {
            let drafts: Vec<Draft> =
                block.iter().map(|receivers| self.gift(receivers, &token)).collect();
            self.add_good(&drafts)?;
        }
        if self.recipe.mixed {
            let numbers = 0..self.participants.candidates.len();
            let drafts: Vec<Draft> = numbers
                .map(|number| self.participants.candidacy(number, "registerCandidate"))
                .collect();
            self.add_good(&drafts)?;
        }
        Ok(token)
    }

    /// The committee designates the nodes with a role.
    fn designation(&self, role: i64, nodes: &[PublicKey]) -> Draft {
        let nodes = nodes.iter().map(|key| Value::Bytes(key)).collect();
        let values = [Value::Integer(role), Value::Array(nodes)];
        let roles = native_hash("RoleManagement");
        Draft::new(COMMITTEE, call(&roles, "designateAsRole", &values, false), GAS)
    }

    /// A transaction that funds some accounts with GAS, and in a mixed chain with NEO and tokens.
    fn gift(&self, receivers: &[usize], token: &[u8; 20]) -> Draft {
        let count = i64::from(self.recipe.accounts);
        let mut gifts = vec![(native_hash("GasToken"), (GIVEN_GAS / count).min(MOST_GAS) * GAS)];
        if self.recipe.mixed {
            gifts.push((native_hash("NeoToken"), (GIVEN_NEO / count).min(MOST_NEO)));
            gifts.push((*token, GIVEN_TOKENS));
        }
        let owner = self.participants.hash(OWNER);
        let mut script = Script::default();
        for receiver in receivers {
            let to = self.participants.hash(*receiver);
            for (token, amount) in &gifts {
                script.call(token, "transfer", &payment(&owner, &to, *amount, Value::Null));
                script.code(&[blockmill_neo::execute::vm::opcode::ASSERT]);
            }
        }
        Draft::new(OWNER, script.done(), 80 * GAS)
    }

    fn load(&mut self, token: [u8; 20]) -> Result<()> {
        let recipe = self.recipe;
        let mut mixture = recipe.mixed.then(|| Mixture::new(recipe.seed, token));
        let mut random = Random(recipe.seed);
        for number in 1..=recipe.blocks {
            let is_full = number % recipe.every == 0;
            let count = if is_full { recipe.transactions } else { 0 };
            match &mut mixture {
                Some(mixture) => {
                    let height = self.chain.height() + 1;
                    let drafts =
                        mixture.block(&self.participants, &self.chain.state, height, count)?;
                    let executed = self.add(&drafts)?;
                    mixture.observe(&executed);
                }
                None => {
                    let drafts: Vec<Draft> =
                        (0..count).map(|_| self.transfer(&mut random)).collect();
                    self.add(&drafts)?;
                }
            }
        }
        Ok(())
    }

    /// A small GAS transfer between two random accounts.
    fn transfer(&self, random: &mut Random) -> Draft {
        let (from, to) = (self.participants.any(random), self.participants.any(random));
        let amount = 1 + random.below(1_000) as i64;
        let (own, to) = (self.participants.hash(from), self.participants.hash(to));
        let values = payment(&own, &to, amount, Value::Null);
        Draft::new(from, call(&native_hash("GasToken"), "transfer", &values, true), GAS * 3 / 20)
    }
}

/// The script that deploys a contract for an owner.
fn deployed(management: &[u8; 20], deployment: &Deployment, owner: &[u8; 20]) -> Vec<u8> {
    let values =
        [Value::Bytes(&deployment.code), Value::Bytes(&deployment.manifest), Value::Bytes(owner)];
    call(management, "deploy", &values, false)
}
