//! BlockchainTests: blocks on one or more branches, some of which must be rejected.

use super::{
    End, Runner, SuiteError, Verdict, accounts, compare, exceptions, json, networks, weak,
};
use crate::body::BodyView;
use crate::encoding::{decode_block, decode_header};
use crate::execute::{Ancestors, ExecutionError, PreparedBlock, Replay};
use crate::header::HeaderView;
use crate::header::rules::{verify_header, verify_merge};
use crate::ommers::{Ancestor, AncestorWindow};
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::state::{Changes, Tries};
use crate::{Hash, U256};
use blockmill_verdict::Hex;
use serde_json::Value;
use std::collections::HashMap;

/// An accepted block.
struct Known {
    raw: Vec<u8>,
    total_difficulty: U256,
    changes: Vec<Changes>,
    /// Hashes of its ancestors and its own.
    ancestors: Ancestors,
}

impl Known {
    fn parts(&self, spec: &ChainSpec) -> Result<(HeaderView<'_>, BodyView<'_>), Violation> {
        decode_block(spec, &self.raw)
    }

    fn parent(&self) -> Result<Hash, Violation> {
        Ok(*decode_header(&self.raw)?.parent_hash)
    }
}

/// All blocks of a test, and the state after one of them.
pub(super) struct Chain<'c> {
    pub spec: &'c ChainSpec,
    replay: Replay<'c>,
    /// The block of the state.
    at: Hash,
    /// The last block of the canonical chain.
    head: Hash,
    blocks: HashMap<Hash, Known>,
    /// Gas of all blocks.
    gas_used: u64,
}

impl<'c> Chain<'c> {
    /// A chain of the first block, `raw`.
    ///
    /// # Errors
    /// [`Rule::Genesis`] if it is not the block of these rules.
    pub fn new(spec: &'c ChainSpec, raw: Vec<u8>) -> Result<Self, ExecutionError> {
        let replay = Replay::from_genesis(spec, Tries::pointers())?;
        let hash = spec.genesis.hash;
        let genesis = Known {
            raw,
            total_difficulty: spec.genesis.header.difficulty,
            changes: vec![],
            ancestors: replay.state.ancestors.clone(),
        };
        let found = decode_header(&genesis.raw)?.hash();
        if found != hash {
            return Err(Violation::new(Rule::Genesis, Hex(&found), Hex(&hash)).into());
        }
        let blocks = HashMap::from([(hash, genesis)]);
        Ok(Self { spec, replay, at: hash, head: hash, blocks, gas_used: 0 })
    }

    /// Writes the instructions of the next blocks to the log of the runner.
    pub fn log_steps(&mut self, runner: &mut Runner<'_>) {
        self.replay.step_log = std::mem::take(&mut runner.step_log);
    }

    /// Gives the log back.
    pub fn end_steps(&mut self, runner: &mut Runner<'_>) {
        runner.step_log = std::mem::take(&mut self.replay.step_log);
    }

    fn known(&self, hash: &Hash) -> Result<&Known, Violation> {
        let missing = || Violation::new(Rule::ParentHash, "a block of the test", Hex(hash));
        self.blocks.get(hash).ok_or_else(missing)
    }

    /// The last blocks up to `hash`, oldest first.
    fn window(&self, hash: &Hash) -> Result<AncestorWindow, Violation> {
        let mut ancestors = vec![];
        let mut next = self.blocks.get_key_value(hash);
        while let Some((hash, block)) = next.filter(|_| ancestors.len() < 7) {
            let (header, body) = block.parts(self.spec)?;
            let ommers: Vec<_> = body.ommers().collect();
            ancestors.push(Ancestor::new(*hash, &header, &ommers));
            next = self.blocks.get_key_value(header.parent_hash);
        }
        let mut window = AncestorWindow::default();
        ancestors.into_iter().rev().for_each(|ancestor| window.push(ancestor));
        Ok(window)
    }

    /// Moves to the state after a block: back to the common ancestor, then forward.
    fn go_to(&mut self, target: &Hash) -> Result<(), ExecutionError> {
        let mut way = vec![];
        let mut forward = *target;
        let branch = |hash: &Hash| -> Result<Vec<Hash>, Violation> {
            let (mut line, mut next) = (vec![*hash], *hash);
            while next != self.spec.genesis.hash {
                next = self.known(&next)?.parent()?;
                line.push(next);
            }
            Ok(line)
        };
        let own = branch(&self.at)?;
        while !own.contains(&forward) {
            way.push(forward);
            forward = self.known(&forward)?.parent()?;
        }
        for hash in own.iter().take_while(|hash| **hash != forward) {
            self.replay.undo(&self.blocks[hash].changes)?;
        }
        for hash in way.iter().rev() {
            self.replay.redo(&self.blocks[hash].changes)?;
        }
        self.at = *target;
        self.replay.state.ancestors = self.known(target)?.ancestors.clone();
        Ok(())
    }

    /// Adds a block.
    ///
    /// # Errors
    /// [`ExecutionError`] if it is invalid.
    pub fn add(&mut self, raw: &[u8]) -> Result<(), ExecutionError> {
        let header = decode_header(raw)?;
        let parent_hash = *header.parent_hash;
        let parent = self.known(&parent_hash)?;
        let (parent_header, _) = parent.parts(self.spec)?;
        verify_header(self.spec, &parent_header, &parent_hash, &header)?;
        verify_merge(self.spec, parent.total_difficulty, &header)?;
        let total_difficulty = parent.total_difficulty.saturating_add(header.difficulty);
        let (_, body) = decode_block(self.spec, raw)?;
        let block = PreparedBlock::verified(self.spec, &header, &body)?;
        let ommers: Vec<_> = body.ommers().collect();
        self.window(&parent_hash)?.verify_ommers(self.spec, &header, &ommers)?;
        if self.blocks.contains_key(&block.hash) {
            return Ok(());
        }
        self.go_to(&parent_hash)?;
        let changes = self.replay.execute(&block)?.steps;
        self.at = block.hash;
        self.gas_used += header.gas_used;
        let head = self.known(&self.head)?.total_difficulty;
        if self.spec.rules_of(&header).proof_of_stake || total_difficulty > head {
            self.head = block.hash;
        }
        let ancestors = self.replay.state.ancestors.clone();
        let known = Known { raw: raw.to_vec(), total_difficulty, changes, ancestors };
        self.blocks.insert(block.hash, known);
        Ok(())
    }
}

/// Runs a test; sets `end` if it is reached.
pub(super) fn verdict(
    network: &str,
    test: &Value,
    runner: &mut Runner<'_>,
    end: &mut End,
) -> Result<Verdict, SuiteError> {
    let header = &test["genesisBlockHeader"];
    if network == "Prague" && header["requestsHash"].is_null() {
        let reason = "precompiles of EIP-2537 as a draft had them, under headers of Cancun".into();
        return Ok(Verdict::Skipped { reason });
    }
    let spec = networks::spec(network, &test["config"], header, &test["pre"])?;
    let mut chain = match Chain::new(&spec, json::bytes(test, "genesisRLP")?) {
        Ok(chain) => chain,
        Err(error) => return failed("a genesis block", &error),
    };
    chain.log_steps(runner);
    let blocks = test["blocks"].as_array().ok_or_else(|| json::wrong("blocks", "a list"))?;
    for (index, block) in blocks.iter().enumerate() {
        let exception = block["expectException"].as_str();
        let raw = json::bytes(block, "rlp")?;
        let mut refused = chain.add(&raw).err();
        if let (Some(exception), Some(ExecutionError::Rule(violation))) = (exception, &refused)
            && !exceptions::allows(exception, violation.rule)?
        {
            for other in weak::others(&mut chain, &raw, violation) {
                if exceptions::allows(exception, other.rule)? {
                    refused = Some(other.into());
                }
            }
        }
        if let Some(failed) = compare(&format!("block {index}"), exception, refused.as_ref())? {
            return Ok(failed);
        }
    }
    chain.end_steps(runner);
    finish(&mut chain, test, end)
}

fn failed(expected: &str, found: &dyn std::fmt::Display) -> Result<Verdict, SuiteError> {
    Ok(Verdict::Failed { expected: expected.into(), found: found.to_string() })
}

/// Compares head and state after the last block with those of the test; sets `end`.
pub(super) fn finish(
    chain: &mut Chain<'_>,
    test: &Value,
    end: &mut End,
) -> Result<Verdict, SuiteError> {
    let last = json::hash(test, "lastblockhash")?;
    if chain.head != last {
        return failed(&format!("head {}", Hex(&last)), &Hex(&chain.head));
    }
    if let Err(error) = chain.go_to(&last) {
        return failed("the state of the head", &error);
    }
    let found = match chain.replay.root() {
        Ok(found) => found,
        Err(error) => return failed("a root", &error),
    };
    *end = End { state_root: Some(found), gas_used: chain.gas_used };
    if test["postStateHash"].is_string() {
        let root = json::hash(test, "postStateHash")?;
        if found != root {
            return failed(&format!("post state {}", Hex(&root)), &Hex(&found));
        }
        return Ok(Verdict::Passed);
    }
    let accounts = accounts::read(&test["postState"])?;
    let differs = accounts::differs(&chain.replay.state, &accounts);
    Ok(differs.map_or(Verdict::Passed, |(expected, found)| Verdict::Failed { expected, found }))
}
