//! What a block says by itself: its encoding, its hashes, the rules that need no coins.

use crate::coin::Coin;
use crate::coins::{PackedCoin, is_unspendable, key};
use crate::decode::{Block, hash_blocks};
use crate::execute::batch::{Batch, Context};
use crate::fault::Cause;
use crate::script;
use std::time::Instant;

impl Batch {
    /// Takes each block apart and holds it against the rules of bodies; encodes the coins that it
    /// makes, and fetches from disk those that it spends.
    pub fn prepare(&mut self, context: &Context) {
        let start = Instant::now();
        self.good = self.len;
        if self.blocks.len() < self.len {
            self.blocks.resize_with(self.len, Block::default);
        }
        for i in 0..self.len {
            let block = &mut self.blocks[i];
            block.raw.clear();
            block.raw.extend_from_slice(&self.bytes[self.spans[i].clone()]);
            match block.parse_record() {
                Ok(0) => {}
                Ok(bytes) => self.spare.push((i, bytes)),
                Err(error) => {
                    self.cut(i, context.fault(self.height(i), Cause::Encoding(error)));
                    break;
                }
            }
        }
        // together, so that short blocks share lanes
        hash_blocks(&mut self.blocks[..self.good], &context.hasher);
        for i in 0..self.good {
            if let Err(cause) = self.check_body(i, context) {
                self.cut(i, context.fault(self.height(i), cause));
                break;
            }
        }
        if context.fetches {
            self.fetch(context);
        }
        self.times.prepare = start.elapsed();
    }

    fn check_body(&mut self, i: usize, context: &Context) -> Result<(), Cause> {
        let (height, block) = (self.height(i), &self.blocks[i]);
        let expected = *context.tree.hash(context.path.nodes[height as usize]);
        if block.hash != expected {
            return Err(Cause::Changed { expected, found: block.hash });
        }
        let past = context.median_time_past(height);
        let rules = context.rules(height);
        let checked = self.bodies.check(block, &rules, past).map_err(Cause::Rule)?;
        if let Some(challenge) = &context.options.params.signet_challenge {
            script::check_solution(block, challenge).map_err(Cause::Solution)?;
        }
        self.sigop_costs.push(checked.legacy_sigop_cost);
        if context.connects() {
            self.encode_made(i);
            let block = &self.blocks[i];
            let inputs = block.inputs.iter().skip(1);
            self.keys.extend(inputs.map(|input| key(&block.outpoint(input))));
        }
        Ok(())
    }

    /// Encodes the coins that block `i` makes.
    fn encode_made(&mut self, i: usize) {
        let (height, block) = (self.height(i), &self.blocks[i]);
        for (number, transaction) in block.transactions.iter().enumerate() {
            for output in block.outputs_of(transaction) {
                let script = output.script.of(&block.raw);
                if !is_unspendable(script) {
                    let value = output.value as u64;
                    let coin = Coin { height, coinbase: number == 0, value, script };
                    PackedCoin::pack(&coin, &mut self.made);
                }
                self.made_ends.push(self.made.len() as u32);
            }
        }
    }

    /// Fetches the coins that are on disk. A page that cannot be read is found again, and
    /// reported, when its coin is spent.
    fn fetch(&mut self, context: &Context) {
        if let Some(reader) = &context.coins {
            let _ = reader.snapshot().fetch(&self.keys, &mut self.fetched);
        }
    }
}
