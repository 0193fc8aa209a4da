//! Blocks that are looked at apart from their chain: each has its place in it, and they come in
//! any order. Nothing ends with a bad one but its own way.

use super::batch::Verdict;
use super::check::Checked;
use super::connect::Connected;
use super::place::{Place, Terms};
use super::prepare::Prepared;
use super::prove::prove;
use super::read::Blocks;
use crate::BlockHash;
use crate::body::reader::BlockReader;
use crate::fault::{Cause, Error};
use crate::types::hash_blocks;
use crate::verified::Making;
use blockmill_archive::blkdat::BlockLocation;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{Made, NotMade};

/// Some blocks on their way.
pub(crate) struct Apart {
    blocks: Blocks,
    /// Which of those that were pushed the blocks are that are good so far.
    numbers: Vec<usize>,
    /// What became of each that was pushed.
    outcomes: Vec<Result<Body, Cause>>,
    prepared: Prepared,
    connected: Connected,
    checked: Checked,
    verdict: Verdict,
}

/// A body that is good.
#[derive(Clone, Copy, Default)]
pub(crate) struct Body {
    pub transactions: u64,
    /// The coinbase's not counted.
    pub inputs: u64,
    /// Bytes of the record behind the block.
    pub spare: u32,
}

impl Apart {
    /// No blocks.
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

    /// Reads these blocks.
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
        self.outcomes.resize_with(self.blocks.len(), || Ok(Body::default()));
        for (i, error) in self.blocks.fetch(reader) {
            self.outcomes[i] = Err(Cause::Archive(error));
        }
    }

    /// Takes the blocks apart and holds each to its place.
    pub fn prepare(&mut self, terms: &Terms) {
        self.keep_good();
        for (block, number) in self.blocks.all_mut().iter_mut().zip(&self.numbers) {
            let parsed = block.parse_record().map_err(Cause::Encoding);
            self.outcomes[*number] = parsed.map(|spare| Body {
                transactions: block.transactions.len() as u64,
                inputs: (block.inputs.len() as u64).saturating_sub(1),
                spare,
            });
        }
        self.keep_good();
        // together, so that short blocks share lanes
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

    /// Adds the good blocks to the sum, and holds them to the rules of execution with the coins
    /// that undo data tells.
    pub fn execute(&mut self, terms: &Terms) {
        let Self { blocks, prepared, connected, checked, verdict, .. } = self;
        verdict.begin(blocks.len());
        if let Some(multiset) = terms.multiset {
            prove(blocks, prepared, connected, terms, multiset, verdict);
            checked.check(blocks, prepared, connected, terms, verdict);
        }
    }

    /// Makes of the good blocks, in their order, what is asked for. The genesis block, which nobody
    /// verifies, comes with the block that follows it.
    pub fn make(&self, terms: &Terms, making: &Making) -> Result<Made, NotMade> {
        let Self { blocks, checked, verdict, .. } = self;
        let good = &blocks.all()[..verdict.good()];
        let height = |i| blocks.place(i).rules.height;
        let follows_it = !good.is_empty() && height(0) == 1;
        checked.make(good, height, follows_it, terms, making)
    }

    /// What became of each block by itself.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Result<Body, Cause>> {
        self.outcomes.drain(..)
    }

    /// What ended the execution, and at which block.
    pub fn take_end(&mut self) -> Option<(u32, BlockHash, Result<Cause, Error>)> {
        let (i, end) = self.verdict.take_end()?;
        let place = self.blocks.place(i);
        Some((place.rules.height, place.hash, end))
    }
}
