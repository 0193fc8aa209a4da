//! The receipts of an executed block, compared with its header.

use super::block::PreparedBlock;
use super::evm::Outcome;
use crate::Hash;
use crate::body::bloom::Bloom;
use crate::header::EMPTY_ROOT;
use crate::rule::{Rule, Violation};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::{self, Receipt};
use blockmill_rlp::{Encode, Write};
use blockmill_trie::RootBuilder;
use blockmill_verdict::Hex;

/// Builds the receipts of blocks; reuses its buffers.
pub struct Receipts {
    roots: RootBuilder,
    hasher: ManyKeccak,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Receipts {
    /// A builder that hashes for blooms with `hasher`.
    pub fn new(hasher: ManyKeccak) -> Self {
        Self { roots: RootBuilder::new(), hasher, bytes: vec![], ends: vec![] }
    }

    /// Compares receipts root and logs bloom with the header. `roots` are the state roots after
    /// each transaction, before Byzantium.
    ///
    /// # Errors
    /// [`Rule::LogsBloom`] or [`Rule::ReceiptsRoot`] if they differ.
    pub fn verify(
        &mut self,
        block: &PreparedBlock,
        outcomes: &[Outcome],
        roots: &[Hash],
    ) -> Result<(), Violation> {
        let header = &block.header;
        let bloom = self.encode(block, outcomes, roots);
        if bloom.0 != *header.logs_bloom {
            let expected = Hex(&header.logs_bloom[..]);
            return Err(Violation::new(Rule::LogsBloom, expected, Hex(&bloom.0)));
        }
        let root = self.root();
        if root != header.receipts_root {
            return Err(Violation::new(Rule::ReceiptsRoot, Hex(&header.receipts_root), Hex(&root)));
        }
        Ok(())
    }

    /// Returns receipts root and logs bloom of an executed block; `roots` as for
    /// [`Receipts::verify`].
    pub fn root_and_bloom(
        &mut self,
        block: &PreparedBlock,
        outcomes: &[Outcome],
        roots: &[Hash],
    ) -> (Hash, [u8; 256]) {
        let bloom = self.encode(block, outcomes, roots);
        (self.root(), bloom.0)
    }

    /// Returns the receipts of an executed block, encoded as archives store them; `roots` as for
    /// [`Receipts::verify`].
    pub fn list(&mut self, block: &PreparedBlock, outcomes: &[Outcome], roots: &[Hash]) -> Vec<u8> {
        self.encode(block, outcomes, roots);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut out = blockmill_rlp::OnePass::default();
        out.list(|out| {
            for (start, end) in starts.clone().zip(&self.ends) {
                let canonical = &self.bytes[start..*end];
                match canonical.first() {
                    Some(0..0xc0) => out.bytes(canonical),
                    _ => out.raw(canonical),
                }
            }
        });
        out.into_bytes()
    }

    /// The root of the last encoded receipts.
    fn root(&mut self) -> Hash {
        if self.ends.is_empty() {
            return EMPTY_ROOT;
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges: Vec<_> = starts.zip(&self.ends).map(|(start, end)| start..*end).collect();
        self.roots.ordered(ranges.into_iter().map(|range| &self.bytes[range]))
    }

    /// Encodes the receipts of a block, and returns the bloom filter of all logs.
    fn encode(&mut self, block: &PreparedBlock, outcomes: &[Outcome], roots: &[Hash]) -> Bloom {
        self.bytes.clear();
        self.ends.clear();
        let hashes = self.log_hashes(outcomes);
        let (mut all, mut gas, mut at) = (Bloom::default(), 0, 0);
        for (i, (outcome, tx)) in outcomes.iter().zip(&block.transactions).enumerate() {
            gas += outcome.gas_used;
            let mut bloom = Bloom::default();
            let count: usize = outcome.logs.iter().map(|log| 1 + log.topics().len()).sum();
            hashes[at..at + count].iter().for_each(|hash| bloom.set(hash));
            at += count;
            if count > 0 {
                all.merge(&bloom.0);
            }
            let topics: Vec<Vec<&Hash>> =
                outcome.logs.iter().map(|log| log.topics().collect()).collect();
            let logs = outcome.logs.iter().zip(&topics).map(|(log, topics)| ethereum::Log {
                address: log.address(),
                topics: blockmill_rlp::List::Values(topics),
                data: log.data(),
            });
            let logs: Vec<_> = logs.collect();
            let receipt = Receipt {
                kind: tx.kind,
                outcome: match roots.get(i) {
                    Some(root) => ethereum::Outcome::Root(root),
                    None if outcome.success => ethereum::Outcome::Success,
                    None => ethereum::Outcome::Failure,
                },
                cumulative_gas: gas,
                bloom: &bloom.0,
                logs: blockmill_rlp::List::Values(&logs),
            };
            let canonical = receipt.canonical();
            // `encode_into` reserves exactly what it needs; this grows in larger steps
            self.bytes.reserve(canonical.encoded_len());
            canonical.encode_into(&mut self.bytes);
            self.ends.push(self.bytes.len());
        }
        all
    }

    /// Hashes the addresses and topics of all logs together.
    fn log_hashes(&self, outcomes: &[Outcome]) -> Vec<Hash> {
        let mut entries: Vec<&[u8]> = vec![];
        for log in outcomes.iter().flat_map(|outcome| &outcome.logs) {
            entries.push(log.address());
            entries.extend(log.topics().map(|topic| &topic[..]));
        }
        let mut hashes = vec![[0; 32]; entries.len()];
        self.hasher.keccak256(&entries, &mut hashes);
        hashes
    }
}
