//! A batch of blocks of a shard: blocks in any order, each with its position in the chain. A bad
//! block does not end the run.

use super::batch::Verdict;
use super::check::Checked;
use super::connect::Connected;
use super::place::{Place, Terms};
use super::prepare::Prepared;
use super::prove::prove;
use super::read::Blocks;
use crate::BlockHash;
use crate::body::reader::BlockReader;
use crate::error::Error;
use crate::fault::Cause;
use crate::types::hash_blocks;
use crate::verified::Derive;
use blockmill_archive::blkdat::BlockLocation;
use blockmill_hashes::ManySha256;
use blockmill_verdict::{ConsumerError, DerivedRows};

/// Blocks of a shard in the stages of verification.
pub(crate) struct ShardBatch {
    blocks: Blocks,
    /// For each block that is good so far, its number in the batch.
    numbers: Vec<usize>,
    /// The result of each block of the batch.
    outcomes: Vec<Result<BodyCounts, Cause>>,
    prepared: Prepared,
    connected: Connected,
    checked: Checked,
    verdict: Verdict,
}

/// The counts of a good body.
#[derive(Clone, Copy, Default)]
pub(crate) struct BodyCounts {
    pub transactions: u64,
    /// Inputs, without that of the coinbase.
    pub inputs: u64,
    /// Bytes of the record after the block.
    pub trailing_bytes: u32,
}

impl ShardBatch {
    /// An empty batch.
    pub fn new(hasher: ManySha256) -> Self {
        Self {
            blocks: Blocks::default(),
            numbers: vec![],
            outcomes: vec![],
            prepared: Prepared::new(hasher),
            connected: Connected::default(),
            checked: Checked::default(),
            verdict: Verdict::default(),
        }
    }

    /// Replaces the batch by these blocks, and reads them.
    pub fn read(
        &mut self,
        blocks: impl Iterator<Item = (BlockLocation, Place)>,
        reader: &mut BlockReader,
    ) {
        self.blocks.clear(0);
        self.prepared.clear();
        self.connected.clear();
        self.checked.clear();
        blocks.for_each(|(location, place)| self.blocks.push(location, place));
        self.numbers.clear();
        self.numbers.extend(0..self.blocks.len());
        self.outcomes.clear();
        self.outcomes.resize_with(self.blocks.len(), || Ok(BodyCounts::default()));
        for (i, error) in self.blocks.fetch(reader) {
            self.outcomes[i] = Err(Cause::Archive(error));
        }
    }

    /// Parses and hashes the blocks, and checks each by the rules at its position.
    pub fn prepare(&mut self, terms: &Terms) {
        self.keep_good();
        for (block, number) in self.blocks.all_mut().iter_mut().zip(&self.numbers) {
            let parsed = block.parse_record().map_err(Cause::Encoding);
            self.outcomes[*number] = parsed.map(|trailing_bytes| BodyCounts {
                transactions: block.transactions.len() as u64,
                inputs: (block.inputs.len() as u64).saturating_sub(1),
                trailing_bytes,
            });
        }
        self.keep_good();
        // in one call, so that short blocks share lanes
        hash_blocks(self.blocks.all_mut(), &terms.hasher);
        for (i, number) in self.numbers.iter().enumerate() {
            let (block, place) = (self.blocks.get(i), self.blocks.place(i));
            if let Err(cause) = self.prepared.take(block, place, terms) {
                self.outcomes[*number] = Err(cause);
            }
        }
        self.keep_good();
    }

    fn keep_good(&mut self) {
        let Self { blocks, numbers, outcomes, .. } = self;
        blocks.retain(|i| outcomes[numbers[i]].is_ok());
        numbers.retain(|number| outcomes[*number].is_ok());
    }

    /// Adds the coins of the good blocks to the multiset hash, and checks the rules of execution
    /// with the spent coins of undo data.
    pub fn execute(&mut self, terms: &Terms) {
        let Self { blocks, prepared, connected, checked, verdict, .. } = self;
        verdict.begin(blocks.len());
        if let Some(multiset) = terms.multiset {
            prove(blocks, prepared, connected, terms, multiset, verdict);
            checked.check(blocks, prepared, connected, terms, verdict);
        }
    }

    /// Derives rows from the good blocks, in order. The genesis block, which is not verified, comes
    /// with block 1.
    pub fn derive(&self, terms: &Terms, derive: &Derive) -> Result<DerivedRows, ConsumerError> {
        let Self { blocks, checked, verdict, .. } = self;
        let good = &blocks.all()[..verdict.good()];
        let height = |i| blocks.place(i).rules.height;
        let follows_it = !good.is_empty() && height(0) == 1;
        checked.derive(good, height, follows_it, terms, derive)
    }

    /// Removes and returns the result of each block.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Result<BodyCounts, Cause>> {
        self.outcomes.drain(..)
    }

    /// Removes and returns the reason that ended execution, with the height and hash of its block.
    pub fn take_end(&mut self) -> Option<(u32, BlockHash, Result<Cause, Error>)> {
        let (i, end) = self.verdict.take_end()?;
        let place = self.blocks.place(i);
        Some((place.rules.height, place.hash, end))
    }
}
