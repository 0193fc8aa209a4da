//! The networks, and the rules in force for each block.
//!
//! Heights, hashes and limits are those of Bitcoin Core 31 (`kernel/chainparams.cpp`). A program
//! that has only old blocks needs no minimum of work, so none is kept.

mod genesis;
mod networks;

use crate::BlockHash;
use crate::header::compact;
use crate::types::{Amount, Block};
use ruint::aliases::U256;

/// Satoshis of one bitcoin.
pub const COIN: u64 = 100_000_000;
/// Blocks after which a coinbase may be spent.
pub const COINBASE_MATURITY: u32 = 100;
/// The most that a block may weigh (BIP141).
pub const MAX_BLOCK_WEIGHT: u64 = 4_000_000;
/// Seconds that a header may be ahead of the clock.
pub const MAX_FUTURE_SECONDS: u64 = 2 * 60 * 60;
/// Seconds that the first block of a period may be earlier than the one before it (BIP94).
pub const MAX_TIMEWARP_SECONDS: u32 = 600;
/// From this height on BIP30 is checked again: earlier coinbases announce such heights
/// (`validation.cpp` of Core lists them).
pub const BIP30_AGAIN_HEIGHT: u32 = 1_983_702;

/// A network: its constants and from when its rules hold.
///
/// All fields are open, so that a test can make a network with other numbers.
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
    /// No target is higher.
    pub pow_limit: U256,
    /// Seconds that a period of constant difficulty should take.
    pub period_seconds: u32,
    /// Seconds that a block should take.
    pub block_seconds: u32,
    /// May a block have the lowest difficulty when the one before it is 20 minutes older?
    pub min_difficulty: bool,
    /// Does the difficulty never change?
    pub no_retarget: bool,
    /// BIP94: a period's target follows from that of its first block, and a period may not begin
    /// long before the last one ended.
    pub bip94: bool,
    /// BIP34 holds from this height on.
    pub bip34_height: u32,
    /// The block that stands there; with it BIP30 needs no more checks.
    pub bip34_hash: Option<BlockHash>,
    /// BIP65 holds from this height on.
    pub bip65_height: u32,
    /// BIP66 holds from this height on.
    pub bip66_height: u32,
    /// BIP68, 112 and 113 hold from this height on.
    pub csv_height: u32,
    /// BIP141, 143 and 147 hold from this height on.
    pub segwit_height: u32,
    /// Blocks that break script rules which hold for all others.
    pub exceptions: &'static [Exception],
    /// The blocks that repeat an older coinbase against BIP30.
    pub bip30_repeats: &'static [Repeat],
    /// The subsidy is halved after so many blocks.
    pub halving: u32,
    /// Core's default: scripts of this block and its ancestors need not be run.
    pub assume_valid: Option<BlockHash>,
    /// BIP325: the script that a signature in each block must satisfy.
    pub signet_challenge: Option<Vec<u8>>,
}

/// A block for which script rules are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The block.
    pub hash: BlockHash,
    /// Is BIP16 on?
    pub p2sh: bool,
    /// Are witness programs run?
    pub witness: bool,
    /// Is taproot on?
    pub taproot: bool,
}

/// A block whose coinbase has the id of an older one with unspent outputs, against BIP30. It
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
    /// What the coinbase may create on top of the fees.
    pub subsidy: Amount,
    /// BIP16: pay to script hash. On for every block except the one that breaks it.
    pub p2sh: bool,
    /// BIP30: no transaction may have the id of one with unspent outputs. Off for the two blocks
    /// that break it, and where BIP34 makes it impossible.
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
    /// BIP141, BIP143: witness programs are run. On for every block except the one that breaks
    /// BIP16, also long before [`segwit`](Self::segwit).
    pub witness: bool,
    /// BIP341, BIP342: taproot. On for every block except the one that breaks it.
    pub taproot: bool,
}

impl Rules {
    /// Rules for a block whose height and ancestors are not known: what they decide is not asked.
    /// Commitments to witnesses are.
    pub(crate) fn of_no_place() -> Self {
        // lock times below 500,000,000 are heights, and all have passed
        let rules = Params::mainnet().rules(499_999_999, &BlockHash::default(), None);
        Self { bip34: false, csv: true, segwit: true, ..rules }
    }
}

impl Params {
    /// Blocks of a period of constant difficulty.
    pub fn period(&self) -> u32 {
        (self.period_seconds / self.block_seconds.max(1)).max(1)
    }

    /// The bits of the lowest difficulty.
    pub fn limit_bits(&self) -> u32 {
        compact(self.pow_limit)
    }

    /// The first block; none when [`Params::genesis`] is no block.
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
