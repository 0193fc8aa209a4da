//! A batch of consecutive blocks, and all that can be checked of them without the blocks before.

use crate::Level;
use crate::body::{merkle, rules};
use crate::error::{Rule, Violation};
use crate::execute::block::Executed;
use crate::fault::{Cause, Fault};
use crate::link::Linked;
use crate::params::Protocol;
use crate::repeated;
use crate::tasks::Left;
use crate::types::{Block, UInt256, hash_blocks};
use crate::witness::{Checked, Signed, Verdict, Verifier};
use blockmill_archive::acc;
use blockmill_hashes::ManySha256;
use blockmill_signatures::{KeyTables, Signatures};
use std::time::{Duration, Instant};

/// Blocks on their way through the stages. Each stage fills its part; buffers are used again.
#[derive(Default)]
pub(crate) struct Batch {
    /// As they are in the dump.
    pub packed: acc::Batch,
    /// Taken apart and hashed; those behind `count` are of earlier batches.
    blocks: Vec<Block>,
    /// How many were taken apart.
    decoded: usize,
    /// How many are good as far as they were checked.
    count: usize,
    /// How many blocks of heights that came before are good; `count` is 0 then.
    repeated: usize,
    /// The witness of each header, and of that of a block whose body is bad.
    pub headers: Vec<Checked>,
    /// What is wrong with the block behind the good ones.
    pub fault: Option<Fault>,
    /// Blocks whose transactions break a rule, in a network that stores such blocks.
    pub tolerated: Vec<(u32, Violation)>,
    /// Witnesses of transactions that were verified, and that need the virtual machine.
    pub witnesses: [u64; 2],
    /// The witnesses of the good blocks' transactions, in order; the first block has none.
    pub checked: Vec<Checked>,
    /// Only the link can say so.
    pub linked: Option<Linked>,
    /// What the good blocks leave, where they are executed.
    pub executed: Vec<Executed>,
    /// All is to be committed after this batch: the execution waits for it.
    pub flushes: bool,
    /// What follows the execution leaves here.
    pub left: Left,
    pub times: Times,
}

/// How long the stages took for a batch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub read: Duration,
    pub decode: Duration,
    pub verify: Duration,
    pub link: Duration,
}

impl Batch {
    /// The blocks that are good as far as they were checked.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.count]
    }

    /// The block behind the good ones, where its header was taken apart: the fault is that of its
    /// body, and its header may be bad, too.
    pub fn suspect(&self) -> Option<(&Block, &Checked)> {
        let block = self.blocks[..self.decoded].get(self.count)?;
        Some((block, self.headers.get(self.count)?)).filter(|_| self.fault.is_some())
    }

    /// The good blocks of a batch of heights that came before. None of them counts as new.
    pub fn repeated(&self) -> &[Block] {
        &self.blocks[..self.repeated]
    }

    /// Keeps the first `count` blocks.
    pub fn cut(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// The fault of block `index`.
    pub fn fault_of(&self, index: usize, hash: Option<UInt256>, cause: Cause) -> Fault {
        let block = u64::from(self.packed.first() + index as u32);
        Fault { block, hash, location: Some(self.packed.location(index)), cause }
    }
}

/// What is checked of each batch, by any thread.
pub(crate) struct Checks<'a> {
    pub protocol: &'a Protocol,
    pub level: Level,
    pub signatures: Signatures,
    pub hasher: ManySha256,
    pub tables: &'a KeyTables,
    /// Blocks up to this height are taken for valid.
    pub assumed: Option<u32>,
}

impl Checks<'_> {
    /// Takes the blocks apart, hashes them, and checks them and their witnesses. The first fault
    /// ends the batch.
    pub fn check(&self, batch: &mut Batch) {
        let clock = Instant::now();
        batch.fault = None;
        batch.linked = None;
        batch.tolerated.clear();
        batch.witnesses = [0; 2];
        // of an earlier batch: freed here, it holds nobody up
        batch.executed.clear();
        self.decode(batch);
        hash_blocks(&mut batch.blocks[..batch.count], &self.hasher);
        batch.times.decode = clock.elapsed();
        if batch.packed.is_repeated() {
            self.repeated(batch);
        } else {
            if self.level >= Level::Bodies {
                self.merkle_roots(batch);
            }
            self.witnesses(batch);
        }
        batch.times.verify = clock.elapsed() - batch.times.decode;
    }

    fn decode(&self, batch: &mut Batch) {
        let state_root = self.protocol.state_root_in_header;
        let count = batch.packed.len();
        if batch.blocks.len() < count {
            batch.blocks.resize_with(count, Block::default);
        }
        (batch.count, batch.decoded, batch.repeated) = (0, 0, 0);
        for index in 0..count {
            let (block, bytes) = (&mut batch.blocks[index], batch.packed.block(index));
            let result = match self.level {
                Level::Headers => block.parse_header(bytes, state_root),
                _ => {
                    block.raw.clear();
                    block.raw.extend_from_slice(bytes);
                    block.parse(state_root)
                }
            };
            if let Err(error) = result {
                batch.fault = Some(batch.fault_of(index, None, Cause::Decode(error)));
                return;
            }
            batch.count += 1;
            batch.decoded += 1;
        }
    }

    /// Blocks of heights that came before: their bodies are those that their headers name.
    fn repeated(&self, batch: &mut Batch) {
        if self.level >= Level::Bodies {
            let broken = batch.blocks().iter().enumerate().find_map(|(index, block)| {
                let verified = repeated::verify_body(block, &self.hasher);
                verified.err().map(|violation| (index, violation))
            });
            if let Some((index, violation)) = broken {
                Self::end_at(batch, index, violation);
            }
        }
        batch.headers.clear();
        batch.checked.clear();
        batch.repeated = std::mem::take(&mut batch.count);
    }

    /// The block at `index` breaks a rule: those before it are good.
    fn end_at(batch: &mut Batch, index: usize, violation: Violation) {
        let hash = batch.blocks[index].hash;
        batch.fault = Some(batch.fault_of(index, Some(hash), Cause::Rule(violation)));
        batch.count = index;
    }

    fn merkle_roots(&self, batch: &mut Batch) {
        let wrong = batch.blocks().iter().enumerate().find_map(|(index, block)| {
            let expected = merkle::root_with(block.transactions.hashes(), &self.hasher);
            let found = block.header.merkle_root;
            (expected != found).then(|| (index, Violation::new(Rule::MerkleRoot, expected, found)))
        });
        if let Some((index, violation)) = wrong {
            Self::end_at(batch, index, violation);
        }
    }

    /// The witnesses of all headers and transactions together, and the rules of the transactions.
    fn witnesses(&self, batch: &mut Batch) {
        let verifier = Verifier {
            magic: self.protocol.magic,
            signatures: self.signatures,
            tables: self.tables,
            hasher: self.hasher,
        };
        if self.assumes(batch) {
            let headers = batch.blocks[..batch.decoded].iter();
            let headers: Vec<Signed<'_>> = headers
                .map(|block| Signed { hash: block.hash, witness: block.witness() })
                .collect();
            batch.headers = verifier.assume(&headers);
            batch.checked.clear();
            return;
        }
        let blocks = batch.blocks();
        let with_suspect = batch.blocks[..batch.decoded].iter().take(batch.count + 1);
        let mut signed: Vec<Signed<'_>> = with_suspect
            .map(|block| Signed { hash: block.hash, witness: block.witness() })
            .collect();
        let headers = signed.len();
        // nobody signs the transaction of the first block
        for block in blocks.iter().filter(|block| block.header.index > 0) {
            signed.extend(block.transactions().flat_map(|each| {
                each.witnesses().map(move |witness| Signed { hash: each.hash(), witness })
            }));
        }
        let mut checked = verifier.verify(&signed);
        let transactions = checked.split_off(headers);
        let machine = transactions.iter().filter(|each| each.verdict == Verdict::Machine);
        let machine = machine.count() as u64;
        batch.witnesses = [transactions.len() as u64 - machine, machine];
        batch.headers = checked;
        self.transactions(batch, &transactions);
        batch.checked = transactions;
    }

    /// Are all blocks of a batch taken for valid?
    fn assumes(&self, batch: &Batch) -> bool {
        let last = batch.blocks().last().map(|block| block.header.index);
        self.assumed.is_some_and(|assumed| last.is_some_and(|last| last <= assumed))
    }

    fn transactions(&self, batch: &mut Batch, mut checked: &[Checked]) {
        let mut broken = Vec::new();
        for (index, block) in batch.blocks().iter().enumerate() {
            if block.header.index == 0 {
                continue;
            }
            let count = block.transactions().map(|each| each.witnesses().len()).sum();
            let (own, others) = checked.split_at(count);
            checked = others;
            if let Err(violation) = rules::verify(self.protocol, block, own) {
                broken.push((index, violation));
                if self.protocol.verify_transactions {
                    break;
                }
            }
        }
        match self.protocol.verify_transactions {
            true => {
                if let Some((index, violation)) = broken.pop() {
                    Self::end_at(batch, index, violation);
                }
            }
            false => {
                let first = batch.packed.first();
                let tolerated = broken.into_iter().map(|(at, why)| (first + at as u32, why));
                batch.tolerated.extend(tolerated);
            }
        }
    }
}
