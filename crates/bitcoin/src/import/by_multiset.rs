//! Level `execution` of blocks with undo data and unspent coins (`crate::multiset`): blocks are
//! checked in any order without a set of coins, and the multiset hash proves all of them at the
//! end.

use super::{Error, Job, Options, Pass, Run};
use crate::chainstate::{Chainstate, CommitClock};
use crate::coins::SpentCoins;
use crate::index::pass1::Index;
use crate::index::path::Path;
use crate::multiset::{self, CoinArchive, MultisetHash, UndoData, Unproven, difference};
use blockmill_verdict::Progress;

impl Job<'_> {
    /// Verifies the best chain by the multiset hash if the options ask for it. If that fails, or
    /// is not asked for, verifies it with a set of coins, and names the wrong undo data or coin.
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
        self.name_difference(index, run)
    }

    /// Runs one pass over the best chain, and checks the multiset hash.
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
        let (archive, salt) = (CoinArchive::open(folder, options)?, multiset::new_salt()?);
        let hash = MultisetHash::new(UndoData::Chain(&archive), salt);
        let last = path.nodes.iter().take(options.asked(tree.base())).next_back();
        let expected = last.map_or(options.params.genesis_hash, |node| *tree.hash(*node));
        let found = archive.tip()?;
        if expected != found {
            return Err(Unproven::Tip { expected, found }.into());
        }
        let clock = CommitClock::new(options.commit_every);
        let (path, clock, multiset) = (&path, &clock, Some(&hash));
        let pass = Pass { files, tree, options, path, clock, assumed, first: 1, start, multiset };
        pass.run(None, progress, run)?;
        if run.stopped {
            return Err(Error::Stopped);
        }
        if !run.trailing.is_empty() {
            return Err(Unproven::TrailingBytes { records: run.trailing.len() }.into());
        }
        let hash_at = |height: u32| *tree.hash(path.nodes[height as usize]);
        let unspent = multiset::unspent(&archive, salt)?;
        let total = hash.total();
        let proof = total.prove(unspent, &options.params, hash_at).map_err(Error::Unproven)?;
        run.coins = proof.unspent;
        run.proof = Some(proof);
        Ok(())
    }

    /// Compares undo data and coins with those of the run that has just verified the chain.
    fn name_difference(&self, index: &Index, run: &Run) -> Result<(), Error> {
        let (Some(folder), Some(tip)) = (&self.options.unspent, run.tip) else { return Ok(()) };
        let archive = CoinArchive::open(folder, self.options)?;
        if archive.tip()? != tip.hash {
            return Ok(());
        }
        let own = Chainstate::open(self.data, self.options)?;
        let chain = Path::best(&index.tree).hashes(&index.tree);
        match difference(&archive, &own, &chain)? {
            Some(unproven) => Err(unproven.into()),
            None => Ok(()),
        }
    }
}

/// Returns whether the multiset hash verifies the chain. Derived rows need a set of coins, because
/// they cannot wait for the end of the run.
fn is_by_multiset(options: &Options) -> bool {
    let is_whole = options.from.is_none() && options.consumer.is_none();
    options.settings.coins == SpentCoins::Multiset && options.unspent.is_some() && is_whole
}
