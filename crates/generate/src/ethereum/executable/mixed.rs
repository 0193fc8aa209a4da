//! Transactions of every type of a fork.

use super::accounts::FACTORY;
use super::builder::{Block, Builder};
use super::contracts::SYSTEM;
use super::draft::{AUTHORITIES, Delegation, Draft};
use super::genesis::{CHAIN_ID, DEPOSITS};
use super::program::Program;
use super::work::{Senders, child_of};
use crate::ethereum::assembly;
use crate::random::Random;
use anyhow::Result;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::transactions::TransactionType;
use blockmill_ethereum::{Address, Hash, U256};

/// Distance between blocks with an ommer, and between blocks with withdrawals.
const OMMER_EVERY: u64 = 7;
const WITHDRAWALS_EVERY: u64 = 3;
/// Limit of blobs in a transaction.
const BLOBS: u64 = 3;

/// Valid inputs of precompiled contracts in hexadecimal, by the number of the contract.
const INPUTS: [(u16, &str); 12] = [
    // points on the curve and their sums (EIP-196): (1, 2) twice; 3 times (1, 2)
    (
        6,
        "0000000000000000000000000000000000000000000000000000000000000001\
         0000000000000000000000000000000000000000000000000000000000000002\
         0000000000000000000000000000000000000000000000000000000000000001\
         0000000000000000000000000000000000000000000000000000000000000002",
    ),
    (
        7,
        "0000000000000000000000000000000000000000000000000000000000000001\
         0000000000000000000000000000000000000000000000000000000000000002\
         0000000000000000000000000000000000000000000000000000000000000003",
    ),
    // no pairs
    (8, ""),
    // 3 ^ 5 mod 7 (EIP-198)
    (
        5,
        "0000000000000000000000000000000000000000000000000000000000000001\
         0000000000000000000000000000000000000000000000000000000000000001\
         0000000000000000000000000000000000000000000000000000000000000001030507",
    ),
    (2, "616263"),
    (3, "616263"),
    (4, "616263"),
    // a message and a random signature
    (
        1,
        "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c\
         000000000000000000000000000000000000000000000000000000000000001c\
         73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f\
         eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549",
    ),
    // a signature on P-256 (EIP-7951)
    (
        0x100,
        "4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4d\
             a73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac\
             36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d60\
             4aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff3\
             7618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e",
    ),
    // sums of infinity on BLS12-381 (EIP-2537), whose points are 128 and 256 zero bytes
    (0x0b, ""),
    (0x0d, ""),
    (0x0f, ""),
];

/// Generates the transactions of a mixed chain.
pub struct Mixed {
    inputs: Vec<(u16, Vec<u8>)>,
    /// Accounts that programs and transactions refer to.
    targets: Vec<Address>,
    /// Blobs of the block so far.
    blobs: (u64, u64),
}

impl Mixed {
    pub fn new() -> Result<Self> {
        let inputs = INPUTS.iter().map(|(number, digits)| {
            let mut input = assembly::bytes(digits)?;
            match number {
                0x0b => input.resize(256, 0),
                0x0d => input.resize(512, 0),
                0x0f => input.resize(384, 0),
                _ => {}
            }
            Ok((*number, input))
        });
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?;
        inputs.push((9, blake2()));
        inputs.push((10, opening_of_nothing()));
        Ok(Self { inputs, targets: vec![FACTORY, DEPOSITS], blobs: (0, 0) })
    }

    /// Adds ommers and withdrawals to a block.
    pub fn decorate(
        &mut self,
        block: &mut Block,
        builder: &Builder<'_>,
        senders: &Senders<'_>,
        random: &mut Random,
    ) {
        if self.targets.len() == 2 {
            let known = SYSTEM.iter().filter(|(since, ..)| block.fork >= *since);
            self.targets.extend(known.map(|(_, address, _)| *address));
            self.targets.extend((0..8).map(|i| senders.signers.address(i)));
            let count = senders.signers.len();
            let authorities = count - AUTHORITIES..count;
            self.targets.extend(authorities.map(|i| senders.signers.address(i as usize)));
        }
        let (number, parent) = (block.header.number, builder.last());
        if block.fork >= Fork::Shanghai && number % WITHDRAWALS_EVERY == 0 {
            let receivers = 0..random.below(5);
            block.withdrawals =
                receivers.map(|_| (self.target(random), random.below(1_000_000_000))).collect();
        }
        if block.fork < Fork::Paris && number > 1 && number % OMMER_EVERY == 0 {
            // a sibling of the parent
            let mut ommer = parent.clone();
            ommer.beneficiary = [0x0e; 20];
            ommer.extra_data = b"ommer".to_vec();
            block.ommer = Some(ommer);
        }
    }

    fn target(&self, random: &mut Random) -> Address {
        self.targets[random.below(self.targets.len() as u64) as usize]
    }

    /// Any transaction.
    pub fn draft(
        &mut self,
        block: &Block,
        builder: &Builder<'_>,
        senders: &mut Senders<'_>,
        random: &mut Random,
    ) -> Result<Draft> {
        if self.blobs.0 != block.header.number {
            self.blobs = (block.header.number, 0);
        }
        let mut draft = senders.draft(block, random);
        draft.value = U256::from(random.below(4).saturating_sub(2));
        draft.protected &= random.below(4) > 0;
        match random.below(20) {
            0..4 => draft.to = Some(self.target(random)),
            4..8 => self.create(block.fork, &mut draft, senders, random),
            8 => {
                draft.to = Some(FACTORY);
                draft.input = U256::from(random.below(6)).to_be_bytes::<32>().to_vec();
            }
            9 if block.fork >= Fork::Prague => request(&mut draft, block.fork, random),
            10 => {
                let (number, input) = &self.inputs[random.below(self.inputs.len() as u64) as usize];
                let mut address = [0; 20];
                address[18..].copy_from_slice(&number.to_be_bytes());
                (draft.to, draft.input) = (Some(address), input.clone());
            }
            _ => {
                draft.to = Some(self.target(random));
                draft.input = vec![0; random.below(100) as usize];
                random.fill(&mut draft.input);
            }
        }
        self.retype(block, builder, &mut draft, senders, random);
        let bytes = draft.input.len() as u64;
        let listed = 10_000 * draft.access_list.len() as u64;
        let delegated = 30_000 * draft.delegations.len() as u64;
        draft.gas_limit = 100_000 + 80 * bytes + listed + delegated + random.below(1_200_000);
        Ok(draft)
    }

    /// Creates a contract with a random program.
    fn create(
        &mut self,
        fork: Fork,
        draft: &mut Draft,
        senders: &Senders<'_>,
        random: &mut Random,
    ) {
        let runtime = Program::new(fork, random, &self.targets, &self.inputs).runtime();
        draft.input = Program::new(fork, random, &self.targets, &self.inputs).creation(&runtime);
        draft.value = U256::from(random.below(2));
        self.targets.push(child_of(&senders.signers.address(draft.account), draft.nonce));
    }

    /// Adds access lists, blobs or delegations to the transaction, if its fork has them.
    fn retype(
        &mut self,
        block: &Block,
        builder: &Builder<'_>,
        draft: &mut Draft,
        senders: &Senders<'_>,
        random: &mut Random,
    ) {
        let room = block.blobs.map_or(0, |blobs| blobs.max - self.blobs.1);
        match random.below(10) {
            0 if room > 0 && draft.to.is_some() => {
                draft.kind = TransactionType::Blob;
                let count = 1 + random.below(BLOBS.min(room));
                self.blobs.1 += count;
                draft.blob_hashes = (0..count).map(|_| blob_hash(random)).collect();
            }
            1..3 if block.fork >= Fork::Prague && draft.to.is_some() => {
                draft.kind = TransactionType::SetCode;
                let count = 1 + random.below(3);
                let delegations = (0..count).map(|_| self.delegation(builder, senders, random));
                draft.delegations = delegations.collect();
            }
            _ => {}
        }
        if draft.kind != TransactionType::Legacy {
            let entries = 0..random.below(3);
            draft.access_list = entries
                .map(|_| {
                    let slots = 0..random.below(4);
                    let slots = slots.map(|slot| U256::from(slot).to_be_bytes());
                    (self.target(random), slots.collect())
                })
                .collect();
        }
    }

    /// A delegation of an account that sends no transactions; most are valid.
    fn delegation(
        &self,
        builder: &Builder<'_>,
        senders: &Senders<'_>,
        random: &mut Random,
    ) -> Delegation {
        let account = senders.signers.len() - 1 - random.below(AUTHORITIES);
        let account = account as usize;
        let known = builder.nonce(&senders.signers.address(account));
        Delegation {
            account,
            chain_id: [CHAIN_ID, 0, CHAIN_ID, 7][random.below(4) as usize],
            to: if random.below(8) == 0 { [0; 20] } else { self.target(random) },
            nonce: known + u64::from(random.below(5) == 0),
        }
    }
}

/// Requests a withdrawal (EIP-7002), a consolidation (EIP-7251), a deposit (EIP-6110), or a deposit
/// or the exit of a builder (EIP-8282), and pays more than enough for it.
fn request(draft: &mut Draft, fork: Fork, random: &mut Random) {
    let bytes = |length: usize, random: &mut Random| {
        let mut bytes = vec![0; length];
        random.fill(&mut bytes);
        bytes
    };
    draft.value = U256::from(1_000_000u64);
    match random.below(if fork >= Fork::Amsterdam { 5 } else { 3 }) {
        0 => (draft.to, draft.input) = (Some(SYSTEM[2].1), bytes(56, random)),
        1 => (draft.to, draft.input) = (Some(SYSTEM[3].1), bytes(96, random)),
        3 => {
            // public key, credentials, amount in gwei, signature; the amount is paid
            let (mut input, ether) = (bytes(184, random), 1_000_000_000u64);
            input[80..88].copy_from_slice(&ether.to_be_bytes());
            draft.value += U256::from(ether) * U256::from(ether);
            (draft.to, draft.input) = (Some(SYSTEM[4].1), input);
        }
        4 => (draft.to, draft.input) = (Some(SYSTEM[5].1), bytes(48, random)),
        _ => {
            // five offsets; then each value, after its length and padded to whole words
            let mut event = vec![];
            let word = |number: usize| U256::from(number).to_be_bytes::<32>();
            [160, 256, 320, 384, 512].iter().for_each(|at| event.extend(word(*at)));
            for length in [48, 32, 8, 96, 8] {
                event.extend(word(length));
                event.extend(bytes(length, random));
                event.resize(event.len().next_multiple_of(32), 0);
            }
            (draft.to, draft.value, draft.input) = (Some(DEPOSITS), U256::ZERO, event);
        }
    }
}

/// The versioned hash of a non-existent blob (EIP-4844).
fn blob_hash(random: &mut Random) -> Hash {
    let mut hash = [0; 32];
    random.fill(&mut hash);
    hash[0] = 1;
    hash
}

/// Twelve rounds over a state and a message of counting bytes (EIP-152).
fn blake2() -> Vec<u8> {
    let mut input = vec![0, 0, 0, 12];
    input.extend((0..208u32).map(|i| i as u8));
    input.push(1);
    input
}

/// The proof that the polynomial 0 is 0 at 0 (EIP-4844): commitment and proof are the point at
/// infinity.
fn opening_of_nothing() -> Vec<u8> {
    let mut infinity = [0; 48];
    infinity[0] = 0xc0;
    let mut hash = blockmill_hashes::sha256(&infinity);
    hash[0] = 1;
    [&hash[..], &[0; 64], &infinity, &infinity].concat()
}
