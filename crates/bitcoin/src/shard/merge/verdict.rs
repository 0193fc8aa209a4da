//! Evaluates the results of bodies, as a single run does: refuses bad blocks, links hidden blocks,
//! and gives the verdict.

use super::{Merger, position};
use crate::Level;
use crate::error::Error;
use crate::fault::{Cause, fault_of_block};
use crate::index::path::Path;
use crate::index::{GENESIS, Tree, pass1, shortfalls};
use crate::run::{Run, Tip};
use crate::shard::documents::RemoteFault;

impl Merger<'_> {
    /// Evaluates the results of `path` up to the first bad block, as a single run does. Returns
    /// true if the best chain, or the copy of a block, may have changed.
    pub(super) fn evaluate(&mut self, path: &Path) -> Result<bool, Error> {
        for height in self.requested(path) {
            let node = path.nodes[height];
            let Some(found) = self.index.tree.record(node) else { continue };
            match self.results.get(&position(found)).map(|result| &result.fault) {
                None => return Ok(false),
                Some(None) => {}
                Some(Some(remote)) => {
                    let remote = remote.clone();
                    return Ok(self.refuse(node, remote));
                }
            }
        }
        self.link_hidden_blocks(path)
    }

    /// Uses another copy of a bad block, or marks the block as invalid. Returns false if neither is
    /// possible.
    fn refuse(&mut self, node: u32, remote: RemoteFault) -> bool {
        let is_corrupt = remote.details.is_corrupt;
        let cause = Cause::Remote(Box::new(remote));
        let fault = fault_of_block(self.files, &self.index.tree, node, cause);
        let copied = is_corrupt && self.index.tree.use_copy(node);
        self.is_over = !copied && node == GENESIS;
        if !copied && !self.is_over {
            self.index.tree.mark_invalid(node);
            self.invalid.extend(fault.hash);
        }
        match &self.fault {
            None if !copied => self.fault = Some(fault.into()),
            _ => self.run.notes.push(fault.to_string()),
        }
        !self.is_over
    }

    /// Links the blocks in the trailing bytes of the records of `path`. Returns true if there are
    /// any.
    fn link_hidden_blocks(&mut self, path: &Path) -> Result<bool, Error> {
        let (mut sizes, mut more) = (vec![], vec![]);
        for height in self.requested(path) {
            let node = path.nodes[height];
            let Some(found) = self.index.tree.record(node).copied() else { continue };
            let Some(result) = self.results.get_mut(&position(&found)) else { continue };
            let trailing_bytes = std::mem::take(&mut result.trailing_bytes);
            let hidden = std::mem::take(&mut result.hidden);
            if trailing_bytes > 0 {
                let size =
                    self.index.note_trailing_bytes(&found, trailing_bytes, &result.corruption);
                sizes.push((self.index.tree.record_number(node), size));
                more.extend(hidden.iter().map(|record| record.found(found.file)));
            }
        }
        if more.is_empty() {
            return Ok(false);
        }
        let tree = std::mem::replace(&mut self.index.tree, Tree::empty(&self.options.params));
        let mut found = tree.into_found();
        for (record, size) in sizes {
            found[record as usize].size = size;
        }
        found.append(&mut more);
        self.link(found)?;
        Ok(true)
    }

    /// Returns the verdict, as that of a single run over all files.
    pub fn finish(mut self) -> (Run, Result<(), Error>) {
        let path = Path::best(&self.index.tree);
        let (tree, options) = (&self.index.tree, self.options);
        let requested = self.requested(&path);
        let first = match options.level {
            Level::Headers => usize::from(tree.anchor().is_none()),
            Level::Bodies | Level::Execution => requested.start,
        };
        if let Some(last) = (first..requested.end).next_back() {
            let base = tree.base();
            self.run.blocks = (requested.end - first) as u64;
            self.run.range = Some((base + first as u32, base + last as u32));
            let hash = *tree.hash(path.nodes[last]);
            self.run.tip = Some(Tip { height: base + last as u32, hash });
            self.run.describe_tip(tree);
        }
        for height in requested {
            let record = tree.record(path.nodes[height]);
            let result = record.and_then(|found| self.results.get(&position(found)));
            self.run.transactions += result.map_or(0, |result| result.transactions);
            self.run.inputs += result.map_or(0, |result| result.inputs);
        }
        let outcome = match self.fault.take() {
            Some(fault) => Err(fault),
            None if self.is_empty() => Err(Error::Empty),
            None => self.prove(&path),
        };
        shortfalls::judge(self.files, options, &self.index, &mut self.run);
        match (outcome, pass1::refused_above(&self.index.tree, self.files)) {
            (Ok(()), Some(refused)) => (self.run, Err(refused.into())),
            (outcome, _) => (self.run, outcome),
        }
    }

    /// Checks the coin multiset hash of all parts.
    fn prove(&mut self, path: &Path) -> Result<(), Error> {
        let Some(multiset) = self.multiset.take() else { return Ok(()) };
        let (tree, params) = (&self.index.tree, &self.options.params);
        let hash = |height: u32| path.nodes.get(height as usize).map(|node| *tree.hash(*node));
        let hash = |height: u32| hash(height).unwrap_or_default();
        let requested = self.requested(path);
        let tip = hash(requested.end.saturating_sub(1) as u32);
        let (proof, fault) = multiset.prove(requested.len() as u64, tip, params, hash)?;
        if let Some(fault) = fault
            && let Some(node) = path.nodes.get(fault.height as usize)
        {
            let cause = Cause::Remote(Box::new(fault.remote));
            return Err(fault_of_block(self.files, tree, *node, cause).into());
        }
        self.run.coins = proof.unspent;
        self.run.proof = Some(proof);
        Ok(())
    }

    /// Returns whether no block follows the genesis block.
    fn is_empty(&self) -> bool {
        self.run.anchor.is_none() && self.run.best.is_none_or(|best| best.height == 0)
    }
}
