//! The transactions of each kind of chain.

use super::accounts::{COMPUTE, FACTORY, SLOTS, TOKEN};
use super::builder::{Block, Builder};
use super::draft::{AUTHORITIES, Draft};
use super::genesis::GAS_LIMIT;
use super::mixed::Mixed;
use super::{Recipe, Work};
use crate::ethereum::signers::Signers;
use crate::random::Random;
use anyhow::Result;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::transactions::TransactionType;
use blockmill_ethereum::{Address, U256};
use blockmill_rlp::{OnePass, Write};

/// Gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
/// From this base fee on (wei), blocks are at most half full, so that it rises no more (EIP-1559):
/// after some hundred full blocks, no account could pay.
const HIGH_BASE_FEE: u128 = 10u128.pow(24);
/// The selector of `transfer(address,uint256)`.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

/// Signing accounts, with their next nonces.
pub struct Senders<'s> {
    pub signers: &'s Signers,
    nonces: Vec<u64>,
}

impl<'s> Senders<'s> {
    fn new(signers: &'s Signers) -> Self {
        Self { signers, nonces: vec![0; signers.len() as usize] }
    }

    /// An account that sends transactions.
    pub fn any(&self, random: &mut Random) -> usize {
        random.below(self.signers.len() - AUTHORITIES) as usize
    }

    /// Takes the next nonce of an account.
    pub fn nonce(&mut self, account: usize) -> u64 {
        self.nonces[account] += 1;
        self.nonces[account] - 1
    }

    /// A transaction of a random account, of a type that any call may have: seven in ten with
    /// dynamic fees, two legacy, one with an (empty) access list, if the fork has them.
    pub fn draft(&mut self, block: &Block, random: &mut Random) -> Draft {
        let kind = match random.below(10) {
            0..7 if block.fork >= Fork::London => TransactionType::DynamicFee,
            7 if block.fork >= Fork::Berlin => TransactionType::AccessList,
            _ => TransactionType::Legacy,
        };
        let account = self.any(random);
        Draft {
            kind,
            account,
            nonce: self.nonce(account),
            fees: block.fees,
            gas_limit: TRANSFER_GAS,
            to: None,
            value: U256::ZERO,
            input: vec![],
            access_list: vec![],
            blob_hashes: vec![],
            delegations: vec![],
            protected: block.fork >= Fork::SpuriousDragon,
        }
    }
}

/// Generates the transactions of consecutive blocks.
pub struct TransactionGenerator<'s> {
    recipe: &'s Recipe,
    random: Random,
    senders: Senders<'s>,
    mixed: Mixed,
    /// Contracts of the factory, assuming that no creation failed.
    children: u64,
    /// Number of calls of the computing contracts, which rotate.
    calls: usize,
}

impl<'s> TransactionGenerator<'s> {
    /// Creates a generator; equal `random` gives equal transactions.
    pub fn new(recipe: &'s Recipe, signers: &'s Signers, random: Random) -> Result<Self> {
        let senders = Senders::new(signers);
        let mixed = Mixed::new()?;
        Ok(Self { recipe, random, senders, mixed, children: 0, calls: 0 })
    }

    /// The transactions of the next block, up to its gas limit; up to half of it if the base fee is
    /// high. Its other contents are added to `block`.
    pub fn block(&mut self, block: &mut Block, builder: &Builder<'_>) -> Result<Vec<Draft>> {
        let mut drafts = vec![];
        let mut gas = 0;
        if self.recipe.work == Work::Mixed {
            self.mixed.decorate(block, builder, &self.senders, &mut self.random);
        }
        let is_high = block.header.base_fee > Some(U256::from(HIGH_BASE_FEE));
        let room = if is_high { GAS_LIMIT / 2 } else { GAS_LIMIT };
        while (drafts.len() as u64) < self.recipe.block_transactions {
            let draft = match self.recipe.work {
                Work::Mixed => {
                    self.mixed.draft(block, builder, &mut self.senders, &mut self.random)?
                }
                _ => self.draft(block),
            };
            gas += draft.gas_limit;
            drafts.push(draft);
            // no transaction needs more than 2^24 gas
            if gas > room - (1 << 24) {
                break;
            }
        }
        Ok(drafts)
    }

    fn draft(&mut self, block: &Block) -> Draft {
        let random = &mut self.random;
        let draft = self.senders.draft(block, random);
        let seed = |random: &mut Random| {
            let mut seed = vec![0; 32];
            random.fill(&mut seed);
            seed
        };
        let call = |to, gas_limit, input| Draft { to: Some(to), gas_limit, input, ..draft.clone() };
        match self.recipe.work {
            Work::Transfers | Work::Mixed => {
                let to = self.senders.signers.address(self.senders.any(random));
                let value = U256::from(random.below(1_000_000_000_000_000_000));
                Draft { value, ..call(to, TRANSFER_GAS, vec![]) }
            }
            Work::Erc20 => call(TOKEN, 90_000, token_call(&self.senders, random)),
            Work::Storage => call(SLOTS, 15_000_000, seed(random)),
            Work::Compute => {
                let contract = COMPUTE[self.calls % COMPUTE.len()];
                self.calls += 1;
                call(contract, 10_000_000, seed(random))
            }
            Work::Contracts => self.contracts(draft),
        }
    }

    /// Creates some contracts, or destroys an existing one.
    fn contracts(&mut self, draft: Draft) -> Draft {
        let random = &mut self.random;
        if random.below(3) == 0 && self.children > 0 {
            let to = child_of(&FACTORY, 1 + random.below(self.children));
            return Draft { to: Some(to), gas_limit: 100_000, ..draft };
        }
        let count = 1 + random.below(12);
        self.children += count;
        let input = U256::from(count).to_be_bytes::<32>().to_vec();
        Draft { to: Some(FACTORY), gas_limit: 100_000 + 120_000 * count, input, ..draft }
    }
}

/// The input of a token transfer; one in twenty goes to a new account.
pub fn token_call(senders: &Senders<'_>, random: &mut Random) -> Vec<u8> {
    let mut to = senders.signers.address(senders.any(random));
    if random.below(20) == 0 {
        random.fill(&mut to);
    }
    let value = U256::from(random.below(1_000_000_000_000_000_000));
    [&TRANSFER[..], &[0; 12], &to, &value.to_be_bytes::<32>()].concat()
}

/// The address of the contract that an account creates with this nonce (Yellow Paper, section 7).
pub fn child_of(address: &Address, nonce: u64) -> Address {
    let mut list = OnePass::default();
    list.list(|out| {
        out.fixed(address);
        out.u64(nonce);
    });
    let mut child = [0; 20];
    child.copy_from_slice(&blockmill_hashes::keccak256(&list.into_bytes())[12..]);
    child
}
