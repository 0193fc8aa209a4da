//! The extra data of blocks that validators seal under IBFT 2.0 or QBFT (Hyperledger Besu), and
//! what it changes in the hash of a block.
//!
//! The extra data is a list: vanity, validators, vote, round, committed seals. A block is agreed on
//! before its seals are there, and in any round, so its hash leaves both out. The two engines
//! differ in how they write a vote and a round, and so each tells its extra data from the other's.

use super::Header;
use crate::{Decode, Encode, Error, ErrorKind, Item, List, RawList, Reader};
use alloc::vec::Vec;
use ruint::aliases::U256;

/// The mix hash of every block that validators seal: "ctical byzantine fault tolerance".
pub const BFT_MIX_HASH: [u8; 32] = *b"ctical byzantine fault tolerance";

/// Extra data of no more bytes is not of validators.
const OTHER_EXTRA_DATA: usize = 32;
/// A vote for a new validator.
const FOR: u8 = 0xff;
/// An empty list.
const EMPTY_LIST: &[u8] = &[0xc0];
/// The number 0.
const ZERO: &[u8] = &[0x80];

/// How validators seal blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BftEngine {
    /// IBFT 2.0: a round has four bytes, no vote is an empty string.
    Ibft2,
    /// QBFT: a round is a number, no vote is an empty list.
    Qbft,
}

/// A vote of the proposer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BftVote<'a> {
    /// About whom.
    pub subject: &'a [u8; 20],
    /// For a new validator, or against one.
    pub is_for: bool,
}

/// Extra data of IBFT 2.0 or QBFT.
///
/// ```
/// use blockmill_rlp::ethereum::{BftEngine, BftExtraData};
/// use blockmill_rlp::{Decode, Encode, RawList};
///
/// let validators = RawList(&[&[7u8; 20].encode()]).encode();
/// // no vote, round 2, no seals
/// let raw = RawList(&[&[0u8; 32].encode(), &validators, &[0xc0], &[2], &[0xc0]]).encode();
/// let extra_data = BftExtraData::decode(&raw)?;
/// assert_eq!((extra_data.engine, extra_data.round), (BftEngine::Qbft, 2));
/// assert!(extra_data.validators.iter().eq([&[7; 20]]));
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BftExtraData<'a> {
    /// Of which engine it is.
    pub engine: BftEngine,
    /// Bytes that the proposer chooses, 32 as a rule.
    pub vanity: &'a [u8],
    /// Who may seal this block.
    pub validators: List<'a, &'a [u8; 20]>,
    /// The vote of the proposer.
    pub vote: Option<BftVote<'a>>,
    /// In which round the validators agreed on the block. Under QBFT at most 2^24 - 1.
    pub round: u32,
    /// Signatures of validators: r, s and the parity of y.
    pub seals: List<'a, &'a [u8; 65]>,
    /// Vanity, validators and vote as they are encoded.
    head: &'a [u8],
    /// The round as it is encoded.
    encoded_round: &'a [u8],
}

impl<'a> Decode<'a> for BftExtraData<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let items = list.rest();
        let vanity = list.bytes()?;
        let validators = List::read(&mut list)?;
        let vote = list.item()?;
        let head = &items[..items.len() - list.rest().len()];
        let (engine, round, encoded_round) = round_of(&mut list)?;
        let vote = vote_of(engine, &vote)?;
        let seals = List::read(&mut list)?;
        list.finish()?;
        Ok(Self { engine, vanity, validators, vote, round, seals, head, encoded_round })
    }
}

impl BftExtraData<'_> {
    /// The extra data of the header that the seals sign: without seals.
    #[must_use]
    pub fn for_seals(&self) -> Vec<u8> {
        match self.engine {
            BftEngine::Ibft2 => RawList(&[self.head, self.encoded_round]).encode(),
            BftEngine::Qbft => RawList(&[self.head, self.encoded_round, EMPTY_LIST]).encode(),
        }
    }

    /// The extra data of the header that the block hash is of: without round and seals.
    #[must_use]
    pub fn for_hash(&self) -> Vec<u8> {
        match self.engine {
            BftEngine::Ibft2 => RawList(&[self.head]).encode(),
            BftEngine::Qbft => RawList(&[self.head, ZERO, EMPTY_LIST]).encode(),
        }
    }
}

/// The next item as a round, whose size tells the engine.
fn round_of<'a>(list: &mut Reader<'a>) -> Result<(BftEngine, u32, &'a [u8]), Error> {
    let mut number = list.clone();
    let item = list.item()?;
    let round = match <[u8; 4]>::try_from(item.payload) {
        Ok(bytes) if !item.is_list => (BftEngine::Ibft2, u32::from_be_bytes(bytes)),
        _ => {
            let digits = number.digits(3)?;
            (BftEngine::Qbft, digits.iter().fold(0, |n, digit| n << 8 | u32::from(*digit)))
        }
    };
    Ok((round.0, round.1, item.raw))
}

/// An item as a vote, or as none.
fn vote_of<'a>(engine: BftEngine, item: &Item<'a>) -> Result<Option<BftVote<'a>>, Error> {
    if item.payload.is_empty() && item.is_list == (engine == BftEngine::Qbft) {
        return Ok(None);
    }
    if !item.is_list {
        return Err(Error { offset: item.offset, kind: ErrorKind::ExpectedList });
    }
    let mut fields = item.reader();
    let subject = fields.fixed()?;
    let offset = fields.offset();
    let is_for = match (engine, fields.bytes()?) {
        (_, [FOR]) => true,
        (BftEngine::Ibft2, [0]) | (BftEngine::Qbft, []) => false,
        (_, other) => {
            let found = other.first().copied().unwrap_or_default();
            return Err(Error { offset, kind: ErrorKind::UnknownVote { found } });
        }
    };
    fields.finish()?;
    Ok(Some(BftVote { subject, is_for }))
}

impl<'a> Header<'a> {
    /// The extra data, if validators seal the block: difficulty 1, [`BFT_MIX_HASH`], and more than
    /// 32 bytes of extra data that decode. No other engine admits all of these.
    ///
    /// `None` for block 0, which nobody seals.
    #[must_use]
    pub fn bft(&self) -> Option<BftExtraData<'a>> {
        let is_sealed = self.difficulty == U256::ONE
            && self.number > 0
            && *self.mix_hash == BFT_MIX_HASH
            && self.extra_data.len() > OTHER_EXTRA_DATA;
        is_sealed.then(|| BftExtraData::decode(self.extra_data).ok()).flatten()
    }
}
