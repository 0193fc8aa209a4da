//! Level `execution` of blocks that come with undo data and unspent coins (`crate::multiset`): no set
//! of coins is kept, so blocks are checked in any order, and a sum proves them all at the end.

use super::{Error, Job, Options, Pass, Run};
use crate::chainstate::{Chainstate, CommitClock};
use crate::coins::SpentCoins;
use crate::index::pass1::Index;
use crate::index::path::Path;
use crate::multiset::{self, Kept, MultisetHash, Undo, Unproven, difference};
use blockmill_verdict::Progress;

impl Job<'_> {
    /// Proves the best chain by the sum where that is asked for and can be; else by a set of
    /// coins, which also names what speaks against the sum.
    pub(super) fn execution(
        &self,
        index: &mut Index,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        if !is_by_multiset(self.options) {
            return self.bodies(index, progress, run);
        }
        let mut own = Run::default();
        match self.prove(index, progress, &mut own) {
            Ok(()) => {
                run.take_pass(own);
                return Ok(());
            }
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => run.unproven = Some(error.to_string()),
        }
        self.bodies(index, progress, run)?;
        if run.stopped {
            return Ok(());
        }
        self.name(index, run)
    }

    /// One pass over the best chain, and the sum.
    fn prove(
        &self,
        index: &Index,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        let Job { files, options, start, .. } = *self;
        let Some(folder) = &options.unspent else { return Ok(()) };
        let (tree, path) = (&index.tree, Path::best(&index.tree));
        let assumed = super::assumed_valid(tree, options)?;
        let (kept, salt) = (Kept::open(folder, options)?, multiset::new_salt()?);
        let multiset = MultisetHash::new(Undo::Kept(&kept), salt);
        let last = path.nodes.iter().take(options.asked(tree.base())).next_back();
        let expected = last.map_or(options.params.genesis_hash, |node| *tree.hash(*node));
        let found = kept.tip()?;
        if expected != found {
            return Err(Unproven::Tip { expected, found }.into());
        }
        let clock = CommitClock::new(options.commit_every);
        let (path, clock, multiset_of_pass) = (&path, &clock, Some(&multiset));
        let pass = Pass {
            files,
            tree,
            options,
            path,
            clock,
            assumed,
            first: 1,
            start,
            multiset: multiset_of_pass,
        };
        pass.run(None, progress, run)?;
        if run.stopped {
            return Err(Error::Stopped);
        }
        if !run.spare.is_empty() {
            return Err(Unproven::Spare { records: run.spare.len() }.into());
        }
        let hash = |height: u32| *tree.hash(path.nodes[height as usize]);
        let unspent = multiset::unspent(&kept, salt)?;
        let proof =
            multiset.total().end(unspent, &options.params, hash).map_err(Error::Unproven)?;
        run.coins = proof.unspent;
        run.proof = Some(proof);
        Ok(())
    }

    /// Compares undo data and coins with those of the run that has just verified the chain.
    fn name(&self, index: &Index, run: &Run) -> Result<(), Error> {
        let (Some(folder), Some(tip)) = (&self.options.unspent, run.tip) else { return Ok(()) };
        let kept = Kept::open(folder, self.options)?;
        if kept.tip()? != tip.hash {
            return Ok(());
        }
        let own = Chainstate::open(self.data, self.options)?;
        let chain = Path::best(&index.tree).hashes(&index.tree);
        match difference(&kept, &own, &chain)? {
            Some(unproven) => Err(unproven.into()),
            None => Ok(()),
        }
    }
}

/// Is the chain to be proven by the sum? What is made of verified blocks cannot wait for the end.
fn is_by_multiset(options: &Options) -> bool {
    let is_whole = options.from.is_none() && options.making.is_none();
    options.settings.coins == SpentCoins::Multiset && options.unspent.is_some() && is_whole
}
