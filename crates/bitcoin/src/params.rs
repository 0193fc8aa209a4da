//! The networks, and the rules in force for each block.
//!
//! Heights, hashes and limits are those of Bitcoin Core 31 (`kernel/chainparams.cpp`), except the
//! minimum of work: archives may have old blocks only.

mod genesis;
mod networks;

use crate::BlockHash;
use crate::header::compact;
use crate::types::{Amount, Block};
use ruint::aliases::U256;

/// Satoshis of one bitcoin.
pub const COIN: u64 = 100_000_000;
/// Number of blocks after which a coinbase may be spent.
pub const COINBASE_MATURITY: u32 = 100;
/// Maximum weight of a block (BIP141).
pub const MAX_BLOCK_WEIGHT: u64 = 4_000_000;
/// Maximum time of a header after the clock, in seconds.
pub const MAX_FUTURE_SECONDS: u64 = 2 * 60 * 60;
/// Maximum time of the first block of a period before its parent, in seconds (BIP94).
pub const MAX_TIMEWARP_SECONDS: u32 = 600;
/// BIP30 is checked again from this height on: some coinbases before BIP34 state such heights
/// (`validation.cpp` of Core lists them).
pub const BIP30_AGAIN_HEIGHT: u32 = 1_983_702;

/// A network: its constants, and the heights at which its rules begin.
///
/// All fields are public, so that tests can define other networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// `mainnet`, `testnet3`, `testnet4`, `signet` or `regtest`.
    pub name: &'static str,
    /// The four bytes before each block in a file and each message on the wire.
    pub magic: [u8; 4],
    /// The bytes of the first block.
    pub genesis: Vec<u8>,
    /// Its hash.
    pub genesis_hash: BlockHash,
    /// The highest target.
    pub pow_limit: U256,
    /// Intended duration of a difficulty period, in seconds.
    pub period_seconds: u32,
    /// Intended time between blocks, in seconds.
    pub block_seconds: u32,
    /// Whether a block may have the lowest difficulty if its parent is 20 minutes older.
    pub min_difficulty: bool,
    /// Whether the difficulty is constant.
    pub no_retarget: bool,
    /// BIP94: the target of a period follows from that of the first block of the previous period,
    /// and a period must not begin long before the previous one ended.
    pub bip94: bool,
    /// Start height of BIP34.
    pub bip34_height: u32,
    /// The block at that height; its descendants need no check of BIP30.
    pub bip34_hash: Option<BlockHash>,
    /// Start height of BIP65.
    pub bip65_height: u32,
    /// Start height of BIP66.
    pub bip66_height: u32,
    /// Start height of BIP68, 112 and 113.
    pub csv_height: u32,
    /// Start height of BIP141, 143 and 147.
    pub segwit_height: u32,
    /// Blocks that break script rules of all other blocks.
    pub exceptions: &'static [Exception],
    /// The blocks that repeat an older coinbase against BIP30.
    pub bip30_repeats: &'static [Repeat],
    /// Number of blocks between halvings of the subsidy.
    pub halving: u32,
    /// Core's default of the assumed-valid block.
    pub assume_valid: Option<BlockHash>,
    /// Work of the network's chain when Core was released (`nMinimumChainWork`); `None` where
    /// anyone can begin a chain. It decides nothing.
    pub known_work: Option<u128>,
    /// BIP325: the script that a signature in each block must satisfy.
    pub signet_challenge: Option<Vec<u8>>,
}

/// A block with exceptions from script rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The block.
    pub hash: BlockHash,
    /// Whether BIP16 applies.
    pub p2sh: bool,
    /// Whether witness programs are verified.
    pub witness: bool,
    /// Whether taproot applies.
    pub taproot: bool,
}

/// A block that breaks BIP30: its coinbase has the id of an older one with unspent outputs. It
/// replaces these outputs, which nobody can spend any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// The height of the older coinbase.
    pub first: u32,
}

/// The rules in force for one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The block's height.
    pub height: u32,
    /// The block subsidy.
    pub subsidy: Amount,
    /// BIP16: pay to script hash. Set for every block except the one that breaks it.
    pub p2sh: bool,
    /// BIP30: no transaction may have the id of one with unspent outputs. Unset for the two blocks
    /// that break it, and if BIP34 implies it.
    pub bip30: bool,
    /// BIP34: the coinbase begins with the height.
    pub bip34: bool,
    /// BIP65: OP_CHECKLOCKTIMEVERIFY.
    pub bip65: bool,
    /// BIP66: strict DER signatures.
    pub bip66: bool,
    /// BIP68, BIP112, BIP113: relative lock times, and median time past for lock times.
    pub csv: bool,
    /// BIP141, BIP147: blocks may have witnesses and then commit to them; NULLDUMMY.
    pub segwit: bool,
    /// BIP141, BIP143: witness programs are verified. Set for every block except the one that
    /// breaks BIP16, also long before [`segwit`](Self::segwit).
    pub witness: bool,
    /// BIP341, BIP342: taproot. Set for every block except the one that breaks it.
    pub taproot: bool,
}

impl Rules {
    /// Rules for a block of unknown height and ancestors: those that depend on them are unset,
    /// except the commitment to witnesses.
    pub(crate) fn of_no_place() -> Self {
        // all lock times that are heights (below 500,000,000) have passed
        let rules = Params::mainnet().rules(499_999_999, &BlockHash::default(), None);
        Self { bip34: false, csv: true, segwit: true, ..rules }
    }
}

impl Params {
    /// Number of blocks in a difficulty period.
    pub fn period(&self) -> u32 {
        (self.period_seconds / self.block_seconds.max(1)).max(1)
    }

    /// The bits of the lowest difficulty.
    pub fn limit_bits(&self) -> u32 {
        compact(self.pow_limit)
    }

    /// The first block. `None` if [`Params::genesis`] is not a block.
    pub fn genesis_block(&self) -> Option<Block> {
        let mut block = Block { raw: self.genesis.clone(), ..Block::default() };
        block.decode().ok().map(|()| block)
    }

    /// What the block at `height` may create.
    pub fn subsidy(&self, height: u32) -> Amount {
        let halvings = height / self.halving.max(1);
        Amount::from_sat((50 * COIN).checked_shr(halvings).unwrap_or(0))
    }

    /// The block `hash` at `height`, where it repeats an older coinbase.
    pub fn repeat(&self, height: u32, hash: &BlockHash) -> Option<&'static Repeat> {
        let is_it = |repeat: &&Repeat| repeat.height == height && repeat.hash == *hash;
        self.bip30_repeats.iter().find(is_it)
    }

    /// The rules for the block `hash` at `height`.
    ///
    /// `bip34_block` is the hash of its ancestor at [`bip34_height`](Self::bip34_height); `None`
    /// where it has none, that is up to that height.
    pub fn rules(&self, height: u32, hash: &BlockHash, bip34_block: Option<&BlockHash>) -> Rules {
        let exception = self.exceptions.iter().find(|exception| exception.hash == *hash);
        let repeats = self.repeat(height, hash).is_some();
        // a block knows its ancestors only
        let bip34_block = bip34_block.filter(|_| height > self.bip34_height);
        let height_is_proven = self.bip34_hash.is_some() && bip34_block == self.bip34_hash.as_ref();
        Rules {
            height,
            subsidy: self.subsidy(height),
            p2sh: exception.is_none_or(|exception| exception.p2sh),
            bip30: (!repeats && !height_is_proven) || height >= BIP30_AGAIN_HEIGHT,
            bip34: height >= self.bip34_height,
            bip65: height >= self.bip65_height,
            bip66: height >= self.bip66_height,
            csv: height >= self.csv_height,
            segwit: height >= self.segwit_height,
            witness: exception.is_none_or(|exception| exception.witness),
            taproot: exception.is_none_or(|exception| exception.taproot),
        }
    }
}
