//! The sum over all coins, where its parts come together.

use super::digest;
use super::documents::{Bodies, Coins, Finding, Headers, Hex, Part, Salt, Unspent, remote_report};
use crate::BlockHash;
use crate::fault::Error;
use crate::multiset::{Proof, Total, Unproven, new_salt};
use crate::params::Params;
use blockmill_verdict::FaultReport;
use ruint::aliases::U256;

/// Parts of the sum on their way to zero.
pub(super) struct Parts {
    pub salt: Salt,
    coins: Coins,
    total: Total,
    /// Blocks whose parts are there.
    blocks: u64,
    /// Records of them that have bytes behind their block.
    spare: usize,
    against: Option<Finding>,
    fault: Option<Finding>,
}

/// The sum proves nothing, and why.
fn nothing_proven(report: FaultReport) -> Error {
    Error::NothingProven(Box::new(report))
}

impl Parts {
    /// No part yet of what these shards tell. The salt is drawn now, when all of them are there,
    /// unless it was before, for the same.
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
        let (coins, total) = (Coins { part: None, ..coins.clone() }, Total::default());
        Ok(Self { salt, coins, total, blocks: 0, spare: 0, against: None, fault: None })
    }

    /// Adds the part of some blocks that are not there yet.
    pub fn take(&mut self, bodies: &Bodies) -> Result<(), Error> {
        let Some(part) = &bodies.part else {
            return Err(Error::OtherDocuments("bodies with their part of the sum"));
        };
        let good = bodies.rows.iter().filter(|row| row.bad.is_none());
        let (blocks, spare) = (good.clone().count(), good.filter(|row| row.spare > 0).count());
        let Part { salt, sum, created, spent, coinbases, against, fault } = &**part;
        self.expect_salt(salt)?;
        // without what speaks against a part, it is one of all its blocks
        if against.is_none() && coinbases.len() != blocks {
            return Err(Error::OtherDocuments("as many coinbases as good bodies"));
        }
        self.total.add(Total {
            sum: U256::from_be_bytes(sum.0),
            created: *created,
            spent: *spent,
            coinbases: coinbases.iter().map(|(height, id)| (id.hash().0, *height)).collect(),
        });
        self.blocks += blocks as u64;
        self.spare += spare;
        take_lowest(&mut self.against, against);
        take_lowest(&mut self.fault, fault);
        Ok(())
    }

    /// Takes what the unspent coins come to.
    pub fn take_coins(&mut self, coins: &Coins) -> Result<(), Error> {
        if (&coins.chain, &coins.sources) != (&self.coins.chain, &self.coins.sources) {
            return Err(Error::OtherDocuments("one shard of unspent coins"));
        }
        if let Some(part) = &coins.part {
            self.expect_salt(&part.salt)?;
            self.coins.part = Some(*part);
        }
        Ok(())
    }

    fn expect_salt(&self, salt: &Salt) -> Result<(), Error> {
        match *salt == self.salt {
            true => Ok(()),
            false => Err(Error::OtherDocuments("parts of one sum, under one salt")),
        }
    }

    /// Are the unspent coins still to be added?
    pub fn lack_coins(&self) -> bool {
        self.coins.part.is_none()
    }

    /// What the sum proves of a chain of so many blocks, the last of which is `tip`; `hash` gives
    /// those of some height. If undo data is right, a block may still break a rule.
    pub fn end(
        self,
        blocks: u64,
        tip: BlockHash,
        params: &Params,
        hash: impl Fn(u32) -> BlockHash,
    ) -> Result<(Proof, Option<Finding>), Error> {
        let unproven = |unproven: Unproven| nothing_proven(unproven.report());
        if self.spare > 0 {
            return Err(unproven(Unproven::Spare { records: self.spare }));
        }
        if let Some(Finding { height, remote }) = self.against {
            return Err(nothing_proven(remote_report(&remote, height)));
        }
        let of = |blocks: u64| format!("{blocks} blocks of the chain");
        let parts = |expected, found| unproven(Unproven::Parts { expected, found });
        if self.blocks != blocks {
            return Err(parts(of(blocks), of(self.blocks)));
        }
        let Some(Unspent { sum, coins, tip: found, .. }) = self.coins.part else {
            return Err(parts("unspent coins, too".into(), "none".into()));
        };
        let found = found.hash();
        if found != tip {
            return Err(unproven(Unproven::Tip { expected: tip, found }));
        }
        match self.total.end((U256::from_be_bytes(sum.0), coins), params, hash) {
            Ok(proof) => Ok((proof, self.fault)),
            Err(error) => Err(match (*error, self.fault) {
                // the sum says no more than that a coin is wrong
                (Unproven::Multiset { .. }, Some(Finding { height, mut remote })) => {
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

fn take_lowest(lowest: &mut Option<Finding>, found: &Option<Finding>) {
    let is_lower = |found: &&Finding| lowest.as_ref().is_none_or(|it| it.height > found.height);
    if let Some(found) = found.as_ref().filter(is_lower) {
        *lowest = Some(found.clone());
    }
}
