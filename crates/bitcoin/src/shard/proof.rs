//! Merges the coin multiset hashes of shards.

use super::digest;
use super::documents::{
    Bodies, BodiesMultiset, Coins, Finding, Headers, Hex, Salt, UnspentMultiset, remote_report,
};
use crate::BlockHash;
use crate::error::Error;
use crate::multiset::{PartialHash, Proof, Unproven, new_salt};
use crate::params::Params;
use blockmill_verdict::FaultReport;
use ruint::aliases::U256;

/// The multiset hash of the parts that were added so far.
pub(super) struct MultisetMerge {
    pub salt: Salt,
    coins: Coins,
    total: PartialHash,
    /// Number of blocks with a part.
    blocks: u64,
    /// Number of their records with trailing bytes.
    trailing: usize,
    undo_fault: Option<Finding>,
    fault: Option<Finding>,
}

/// The multiset hash proves nothing, for this reason.
fn nothing_proven(report: FaultReport) -> Error {
    Error::NothingProven(Box::new(report))
}

impl MultisetMerge {
    /// A merge without parts. Draws the salt, unless an earlier merge of the same documents has
    /// `drawn` it.
    pub fn new(
        shards: &[Headers],
        coins: &Coins,
        assumed_valid: Option<&BlockHash>,
        drawn: Option<Salt>,
    ) -> Result<Self, Error> {
        let files = digest::of_shards(shards, coins, assumed_valid);
        let salt = match drawn {
            Some(salt) if salt.files == files => salt,
            Some(_) => {
                let expected = "tables and parts of these files under the same --assume-valid";
                return Err(Error::OtherDocuments(expected));
            }
            None => Salt { secret: Hex(new_salt()?), files },
        };
        let coins = Coins { multiset: None, ..coins.clone() };
        let total = PartialHash::default();
        Ok(Self { salt, coins, total, blocks: 0, trailing: 0, undo_fault: None, fault: None })
    }

    /// Adds the part of blocks that have none yet.
    pub fn add_bodies(&mut self, bodies: &Bodies) -> Result<(), Error> {
        let Some(multiset) = &bodies.multiset else {
            return Err(Error::OtherDocuments("bodies with their part of the coin multiset hash"));
        };
        let good = bodies.rows.iter().filter(|row| row.fault.is_none());
        let blocks = good.clone().count();
        let trailing = good.filter(|row| row.trailing_bytes > 0).count();
        let BodiesMultiset { salt, hash, created, spent, coinbases, undo_fault, fault } =
            &**multiset;
        self.expect_salt(salt)?;
        // without a fault in undo data, the part is that of all good blocks
        if undo_fault.is_none() && coinbases.len() != blocks {
            return Err(Error::OtherDocuments("as many coinbases as good bodies"));
        }
        self.total.add(PartialHash {
            hash: U256::from_be_bytes(hash.0),
            created: *created,
            spent: *spent,
            coinbases: coinbases.iter().map(|(height, id)| (id.hash().0, *height)).collect(),
        });
        self.blocks += blocks as u64;
        self.trailing += trailing;
        keep_lowest(&mut self.undo_fault, undo_fault);
        keep_lowest(&mut self.fault, fault);
        Ok(())
    }

    /// Adds the part of the unspent coins.
    pub fn add_coins(&mut self, coins: &Coins) -> Result<(), Error> {
        if (&coins.chain, &coins.sources) != (&self.coins.chain, &self.coins.sources) {
            return Err(Error::OtherDocuments("one shard of unspent coins"));
        }
        if let Some(multiset) = &coins.multiset {
            self.expect_salt(&multiset.salt)?;
            self.coins.multiset = Some(*multiset);
        }
        Ok(())
    }

    fn expect_salt(&self, salt: &Salt) -> Result<(), Error> {
        match *salt == self.salt {
            true => Ok(()),
            false => Err(Error::OtherDocuments("parts of one multiset hash, under one salt")),
        }
    }

    /// Returns whether the part of the unspent coins is missing.
    pub fn lacks_coins(&self) -> bool {
        self.coins.multiset.is_none()
    }

    /// Checks the multiset hash of a chain of `blocks` blocks with the last block `tip`; `hash`
    /// returns the block hash at a height. Returns the proof, and the rule that a block breaks
    /// with the coins that are thereby proven.
    pub fn prove(
        self,
        blocks: u64,
        tip: BlockHash,
        params: &Params,
        hash: impl Fn(u32) -> BlockHash,
    ) -> Result<(Proof, Option<Finding>), Error> {
        let unproven = |unproven: Unproven| nothing_proven(unproven.report());
        if self.trailing > 0 {
            return Err(unproven(Unproven::TrailingBytes { records: self.trailing }));
        }
        if let Some(Finding { height, remote }) = self.undo_fault {
            return Err(nothing_proven(remote_report(&remote, height)));
        }
        let text = |blocks: u64| format!("{blocks} blocks of the chain");
        let parts = |expected, found| unproven(Unproven::Parts { expected, found });
        if self.blocks != blocks {
            return Err(parts(text(blocks), text(self.blocks)));
        }
        let Some(UnspentMultiset { hash: unspent, coins, tip: found, .. }) = self.coins.multiset
        else {
            return Err(parts("unspent coins, too".into(), "none".into()));
        };
        let found = found.hash();
        if found != tip {
            return Err(unproven(Unproven::Tip { expected: tip, found }));
        }
        match self.total.prove((U256::from_be_bytes(unspent.0), coins), params, hash) {
            Ok(proof) => Ok((proof, self.fault)),
            Err(error) => Err(match (*error, self.fault) {
                // the hash only says that a coin is wrong; this block may say which
                (Unproven::NotZero { .. }, Some(Finding { height, mut remote })) => {
                    let text =
                        format!("block {height}, with the coins of undo data: {}", remote.text);
                    remote.text = text;
                    nothing_proven(remote_report(&remote, height))
                }
                (other, _) => unproven(other),
            }),
        }
    }
}

/// Replaces `lowest` by `found` if that is a fault of a lower block.
fn keep_lowest(lowest: &mut Option<Finding>, found: &Option<Finding>) {
    let is_lower = |found: &&Finding| lowest.as_ref().is_none_or(|it| it.height > found.height);
    if let Some(found) = found.as_ref().filter(is_lower) {
        *lowest = Some(found.clone());
    }
}
