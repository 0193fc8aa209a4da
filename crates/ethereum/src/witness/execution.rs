//! Executes a block on the part of the state that a witness has.
//!
//! The tries of a given set of nodes are built in arenas. They accept only what is right, and say
//! little about what is wrong: a block that they do not accept is executed again on tries of
//! pointers, which read a node when a change reaches it and name what is missing.

use super::{Reading, Stateless, WitnessError, malformed};
use crate::Hash;
use crate::encoding::decode_block;
use crate::execute::{CodeCache, ExecutionError, PreparedBlock, Replay};
use crate::header::HeaderView;
use crate::header::rules::verify_header;
use crate::params::ChainSpec;
use crate::state::{NodeSet, PlantedTries, State, StateError, Tries};
use std::sync::Arc;

/// Executes an encoded block on the state in these nodes and codes.
pub(super) fn execute(
    spec: &ChainSpec,
    block: &[u8],
    headers: &[Vec<u8>],
    nodes: &NodeSet,
    codes: &Arc<CodeCache>,
    reading: Reading,
) -> Result<Stateless, WitnessError> {
    let prepared = Prepared::new(spec, block, headers)?;
    if let Some(done) = prepared.accept(nodes, codes) {
        return Ok(done);
    }
    let missing = match prepared.explain(nodes, codes) {
        // go-ethereum opens no state without its root
        Err(ExecutionError::State(error @ StateError::MissingNode { hash, .. }))
            if hash != prepared.root =>
        {
            error
        }
        other => return Ok(other?),
    };
    let forgiving = nodes.forgiving();
    match prepared.explain(&forgiving, codes) {
        Err(_) => Err(ExecutionError::State(missing).into()),
        Ok(_) if reading == Reading::Strict => Err(WitnessError::Forgiven(missing)),
        Ok(done) => {
            let forgiven = forgiving.forgiven();
            let first = forgiven.first().copied();
            Ok(Stateless { forgiven: first.map(|first| (forgiven.len(), first)), ..done })
        }
    }
}

/// A block that satisfies every rule that needs no state.
struct Prepared<'c> {
    spec: &'c ChainSpec,
    block: PreparedBlock,
    /// The state root before the block.
    root: Hash,
    /// Numbers and hashes of the ancestors that are linked to the block, the oldest first.
    line: Vec<(u64, Hash)>,
}

impl<'c> Prepared<'c> {
    /// Verifies the block's header against its parent, its body and its transactions.
    fn new(spec: &'c ChainSpec, block: &[u8], headers: &[Vec<u8>]) -> Result<Self, WitnessError> {
        let (header, body) = decode_block(spec, block)?;
        let mut ancestors = vec![];
        for raw in headers {
            let view = HeaderView::decode(raw).map_err(|error| malformed("a header", error))?;
            let hash = view.hash();
            ancestors.push((view, hash));
        }
        ancestors.sort_by_key(|(ancestor, _)| ancestor.number);
        let parent = ancestors.iter().rev().find(|(_, hash)| hash == header.parent_hash);
        let Some((parent, _)) = parent else {
            return Err(WitnessError::MissingParent { hash: *header.parent_hash });
        };
        verify_header(spec, parent, header.parent_hash, &header)?;
        let block = PreparedBlock::verified(spec, &header, &body)?;
        let line = line(&ancestors, header.parent_hash);
        Ok(Self { spec, block, root: *parent.state_root, line })
    }

    /// Executes the block on tries in arenas. `None` if it is not valid, or if the nodes are not
    /// those of a given set, or are not all that the block needs.
    fn accept(&self, nodes: &NodeSet, codes: &Arc<CodeCache>) -> Option<Stateless> {
        nodes.columns()?;
        let planted = PlantedTries::new(&self.root, nodes.clone()).ok()?;
        let state = State::from_planted(planted.clone(), nodes.clone(), codes.clone());
        self.run(state, Tries::planted(planted)).ok()
    }

    /// Executes the block on tries of pointers.
    fn explain(
        &self,
        nodes: &NodeSet,
        codes: &Arc<CodeCache>,
    ) -> Result<Stateless, ExecutionError> {
        let state = State::from_nodes(self.root, nodes.clone(), codes.clone());
        self.run(state, Tries::from_nodes(self.root, nodes.clone()))
    }

    fn run(&self, mut state: State, tries: Tries) -> Result<Stateless, ExecutionError> {
        self.line.iter().for_each(|(number, hash)| state.ancestors.push(*number, *hash));
        let mut replay = Replay::new(self.spec, state, tries);
        replay.execute(&self.block)?;
        Ok(Stateless {
            number: self.block.header.number,
            hash: self.block.hash,
            state_root: replay.root()?,
            gas_used: self.block.header.gas_used,
            forgiven: None,
        })
    }
}

/// Numbers and hashes of the ancestors that are linked to the parent, the oldest first.
fn line(ancestors: &[(HeaderView<'_>, Hash)], parent: &Hash) -> Vec<(u64, Hash)> {
    let mut line = vec![];
    let mut next = *parent;
    for (ancestor, hash) in ancestors.iter().rev() {
        if *hash == next {
            line.push((ancestor.number, next));
            next = *ancestor.parent_hash;
        }
    }
    // the parent of the first one is known by its hash
    if let Some((number, _)) = line.last()
        && let Some(before) = number.checked_sub(1)
    {
        line.push((before, next));
    }
    line.reverse();
    line
}

#[cfg(test)]
mod tests;
