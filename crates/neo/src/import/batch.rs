//! A batch of consecutive blocks, and the checks that need no earlier block.

use super::TaskResults;
use super::link::Linked;
use super::repeated;
use crate::Level;
use crate::body::{merkle, rules};
use crate::execute::block::Executed;
use crate::fault::{Cause, Fault};
use crate::options::Options;
use crate::params::Protocol;
use crate::rule::{Rule, Violation};
use crate::types::{Block, UInt256, hash_blocks};
use crate::witness::{Checked, Signed, Verdict, Verifier};
use blockmill_archive::acc;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{CarriesRows, Derived};
use blockmill_signatures::{KeyTables, Signatures};
use std::time::{Duration, Instant};

/// A batch that moves through the stages. Each stage fills its own fields; buffers are reused.
#[derive(Default)]
pub(crate) struct Batch {
    /// The blocks as the dump encodes them.
    pub packed: acc::Batch,
    /// Parsed and hashed blocks; entries from `decoded` on are left over from earlier batches.
    blocks: Vec<Block>,
    /// Number of parsed blocks.
    decoded: usize,
    /// Number of blocks that passed all checks so far.
    count: usize,
    /// Number of valid blocks in a batch that repeats earlier heights; `count` is 0 then.
    repeated: usize,
    /// The witness of each header, including the block with an invalid body, if there is one.
    pub headers: Vec<Checked>,
    /// The fault of the block after the valid ones.
    pub fault: Option<Fault>,
    /// Blocks that break a transaction rule, in a network that stores them anyway.
    pub tolerated: Vec<(u32, Violation)>,
    /// Numbers of transaction witnesses: verified ones, and those that need the virtual machine.
    pub witnesses: [u64; 2],
    /// Transaction witnesses of the valid blocks, in order; the genesis block has none.
    pub checked: Vec<Checked>,
    /// Set by the link stage only.
    pub linked: Option<Linked>,
    /// Results of executing the valid blocks.
    pub executed: Vec<Executed>,
    /// Everything up to this batch is committed after it.
    pub flushes: bool,
    /// Results of the tasks after the execution.
    pub results: TaskResults,
    /// Rows that the consumer derived from the valid blocks.
    pub rows: Derived,
    pub times: Times,
}

impl CarriesRows for Batch {
    fn rows(&self) -> &Derived {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Derived {
        &mut self.rows
    }

    fn is_last(&self) -> bool {
        self.fault.is_some()
    }
}

/// Time that each stage spent on a batch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub read: Duration,
    pub decode: Duration,
    pub verify: Duration,
    pub link: Duration,
}

impl Batch {
    /// The blocks that passed all checks so far.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.count]
    }

    /// The block after the valid ones, if its header was parsed: the fault concerns its body, and
    /// its header has not been checked yet.
    pub fn suspect(&self) -> Option<(&Block, &Checked)> {
        let block = self.blocks[..self.decoded].get(self.count)?;
        Some((block, self.headers.get(self.count)?)).filter(|_| self.fault.is_some())
    }

    /// The valid blocks of a batch that repeats earlier heights. They do not count as new.
    pub fn repeated(&self) -> &[Block] {
        &self.blocks[..self.repeated]
    }

    /// Keeps at most the first `count` blocks.
    pub fn cut(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// Builds the fault of block `index`.
    pub fn fault_of(&self, index: usize, hash: Option<UInt256>, cause: Cause) -> Fault {
        let block = u64::from(self.packed.first() + index as u32);
        Fault { block, hash, location: Some(self.packed.location(index)), cause }
    }
}

/// The check stage, which any thread runs.
pub(crate) struct Checks<'a> {
    pub protocol: &'a Protocol,
    pub level: Level,
    pub signatures: Signatures,
    pub hasher: ManySha256,
    pub tables: &'a KeyTables,
    /// Blocks up to this height are assumed valid.
    pub assumed: Option<u32>,
}

impl<'a> Checks<'a> {
    /// The checks of an import. Blocks up to `assumed` are assumed valid.
    pub fn new(options: &'a Options, tables: &'a KeyTables, assumed: Option<u32>) -> Self {
        let Options { protocol, level, settings, .. } = options;
        Self {
            protocol,
            level: *level,
            signatures: settings.signatures.verifier(),
            hasher: settings.hashes.hasher(),
            tables,
            assumed,
        }
    }

    /// Parses and hashes the blocks, and checks them and their witnesses. The first fault ends the
    /// batch.
    pub fn check(&self, batch: &mut Batch) {
        let clock = Instant::now();
        batch.fault = None;
        batch.linked = None;
        batch.tolerated.clear();
        batch.witnesses = [0; 2];
        // results of an earlier batch are freed here, outside the serial stages
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

    /// Checks that repeated blocks have the bodies that their headers name.
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

    /// Ends the batch before block `index`, which breaks a rule.
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

    /// Verifies the witnesses of all headers and transactions together, then the transaction rules.
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
        // the transaction of the genesis block has no signatures
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

    /// Reports whether all blocks of a batch are assumed valid.
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
