//! Parses and hashes blocks, and checks the rules that need no coins.

use crate::body::Bodies;
use crate::coins::{Key, PackedCoin, is_unspendable, key};
use crate::execute::batch::{Context, Verdict};
use crate::execute::list::ByteStrings;
use crate::execute::place::{Place, Terms};
use crate::execute::read::Blocks;
use crate::fault::Cause;
use crate::types::{Amount, Block, Coin, hash_blocks};
use blockmill_hashes::ManySha256;
use blockmill_store::Fetched;

/// The second phase: the coins that blocks create, and the keys of those that they spend.
pub(super) struct Prepared {
    bodies: Bodies,
    /// For each block, the cost of the signature checks in its own scripts.
    sigop_costs: Vec<u32>,
    /// The encoded coin of each output; empty if it is unspendable.
    created: ByteStrings,
    /// The keys of the coins that all inputs spend.
    keys: Vec<Key>,
    /// Prefetched coins of these keys.
    fetched: Fetched,
    /// Blocks with trailing bytes in their records, and their numbers of bytes.
    trailing: Vec<(usize, u32)>,
}

impl Prepared {
    pub fn new(hasher: ManySha256) -> Self {
        Self {
            bodies: Bodies::new(hasher),
            sigop_costs: vec![],
            created: ByteStrings::default(),
            keys: vec![],
            fetched: Fetched::default(),
            trailing: vec![],
        }
    }

    pub fn clear(&mut self) {
        self.sigop_costs.clear();
        self.created.clear();
        self.keys.clear();
        self.trailing.clear();
    }

    /// Parses each block and checks the rules of bodies. Encodes the coins that it creates, and
    /// prefetches those that it spends.
    pub fn prepare(&mut self, blocks: &mut Blocks, context: &Context, verdict: &mut Verdict) {
        for i in 0..blocks.len() {
            match blocks.all_mut()[i].parse_record() {
                Ok(0) => {}
                Ok(bytes) => self.trailing.push((i, bytes)),
                Err(error) => {
                    verdict.refuse(i, Cause::Encoding(error));
                    break;
                }
            }
        }
        // in one call, so that short blocks share lanes
        hash_blocks(&mut blocks.all_mut()[..verdict.good()], &context.terms.hasher);
        for i in 0..verdict.good() {
            if let Err(cause) = self.take(blocks.get(i), blocks.place(i), &context.terms) {
                verdict.refuse(i, cause);
                break;
            }
        }
        if context.fetches {
            self.fetch(context);
        }
    }

    /// Checks a block, and collects the coins that it creates and the keys that it spends.
    pub fn take(&mut self, block: &Block, place: &Place, terms: &Terms) -> Result<(), Cause> {
        let checked = place.check(block, terms.params, &mut self.bodies)?;
        self.sigop_costs.push(checked.legacy_sigop_cost);
        if terms.connects {
            self.encode_created(block, place.rules.height);
            let inputs = block.inputs.iter().skip(1);
            self.keys.extend(inputs.map(|input| key(&block.outpoint(input))));
        }
        Ok(())
    }

    /// Encodes the created coins of a block.
    fn encode_created(&mut self, block: &Block, height: u32) {
        for (number, transaction) in block.transactions.iter().enumerate() {
            for output in block.outputs_of(transaction) {
                let script = output.script.slice(&block.raw);
                if !is_unspendable(script) {
                    let value = Amount::from_sat(output.value as u64);
                    let coin = Coin { height, coinbase: number == 0, value, script };
                    PackedCoin::pack(&coin, self.created.tail());
                }
                self.created.end();
            }
        }
    }

    /// Prefetches coins from disk. A page that cannot be read is reported when its coin is spent.
    fn fetch(&mut self, context: &Context) {
        if let Some(reader) = &context.coins {
            let _ = reader.snapshot().fetch(&self.keys, &mut self.fetched);
        }
    }

    /// Cost of the signature checks in the scripts of block `i`.
    pub fn sigop_cost(&self, i: usize) -> u32 {
        self.sigop_costs[i]
    }

    /// The encoded coin of an output of the batch; empty if it is unspendable.
    pub fn created(&self, output: usize) -> &[u8] {
        self.created.get(output)
    }

    /// The keys of the coins that all inputs spend.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The prefetched coins, by key.
    pub fn fetched(&self) -> &Fetched {
        &self.fetched
    }

    /// Blocks with trailing bytes in their records, and their numbers of bytes.
    pub fn trailing(&self) -> &[(usize, u32)] {
        &self.trailing
    }
}
