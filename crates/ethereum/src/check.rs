//! Checks the content of a store: every header against its hash and its parent, every body and all
//! receipts against the roots of their header, all difficulties against the total.
//!
//! [`ChainStore::check`] checks the bytes by their checksums; blocks with wrong checksums are left
//! out here.

use crate::body::receipts;
use crate::body::{BodyView, verify_access_list_hash, verify_body};
use crate::header::HeaderView;
use crate::params::Fork;
use crate::stored::split_body;
use crate::{Hash, U256};
use blockmill_archive::ReceiptEncoding;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::block_hashes;
use blockmill_store::{BlockPart, ChainStore, OwnedItems};
use blockmill_trie::RootBuilder;
use blockmill_verdict::{CheckReport, Finding, Hex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Blocks that a thread checks at a time: they fit in memory even if blocks are large.
const RANGE: u64 = 128;

/// Checks every block of the store on `threads` threads. `watch` gets the bytes read since its last
/// call; the check ends when it returns false.
///
/// # Errors
/// The store cannot be read. Corruption is no error: the report has it.
pub fn check(
    store: &ChainStore,
    threads: usize,
    watch: &(dyn Fn(u64) -> bool + Sync),
) -> Result<CheckReport, blockmill_store::Error> {
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else {
        return Ok(CheckReport::default());
    };
    let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
    let shared = Mutex::new((CheckReport::default(), Ok(()), U256::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut worker =
                    Worker { store, hasher: ManyKeccak::detect(), roots: RootBuilder::default() };
                while !stop.load(Relaxed) {
                    let from = next.fetch_add(RANGE, Relaxed);
                    if from > tip.number {
                        break;
                    }
                    let done = worker.check_range(first, from, RANGE.min(tip.number - from + 1));
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    match done {
                        Ok(done) => {
                            shared.0.blocks += done.blocks;
                            shared.0.findings.extend(done.findings);
                            shared.2 = shared.2.wrapping_add(done.difficulty);
                            stop.fetch_or(!watch(done.bytes), Relaxed);
                        }
                        // `ChainStore::check` reports it
                        Err(blockmill_store::Error::Corrupt { .. }) => {}
                        Err(error) => {
                            shared.1 = Err(error);
                            stop.store(true, Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (mut checked, outcome, total) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome?;
    checked.stopped = stop.load(Relaxed);
    checked.findings.sort_by_key(|finding| finding.block);
    let stated = U256::from_be_bytes(tip.total_difficulty);
    let all = checked.blocks == store.count() && first == 0 && !stated.is_zero();
    if all && total != stated {
        checked.add(tip.number, "total difficulty", stated, total);
    }
    if let Some(hash) = store.hash_of(tip.anchor_number).ok().flatten()
        && hash != tip.anchor_hash
    {
        let mut add = |finding| checked.findings.push(finding);
        add(differs(tip.anchor_number, "hash of the anchor", &tip.anchor_hash, &hash));
    }
    Ok(checked)
}

/// The tip that the store would have if block `number` were the last one; all blocks up to it must
/// be whole. Total difficulty 0 means unknown.
///
/// # Errors
/// The store cannot be read.
pub fn tip_at(
    store: &ChainStore,
    number: u64,
) -> Result<Option<blockmill_store::Tip>, blockmill_store::Error> {
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return Ok(None) };
    let Some(hash) = store.hash_of(number)? else { return Ok(None) };
    let sum = |from: u64, to: u64| -> Option<U256> {
        let mut total = U256::ZERO;
        for number in from..=to {
            let header = store.header(number).ok()??;
            total = total.checked_add(HeaderView::decode(&header).ok()?.difficulty)?;
        }
        Some(total)
    };
    let stated = U256::from_be_bytes(tip.total_difficulty);
    let total = match first {
        _ if stated.is_zero() => None,
        0 => sum(0, number),
        _ => sum(number + 1, tip.number).and_then(|after| stated.checked_sub(after)),
    };
    let total_difficulty = total.unwrap_or_default().to_be_bytes();
    Ok(Some(blockmill_store::Tip { number, hash, total_difficulty, ..tip }))
}

/// The working memory of one thread.
struct Worker<'a> {
    store: &'a ChainStore,
    hasher: ManyKeccak,
    roots: RootBuilder,
}

/// The result of one range of blocks.
struct RangeReport {
    blocks: u64,
    findings: Vec<Finding>,
    difficulty: U256,
    bytes: u64,
}

impl Worker<'_> {
    /// Checks `count` blocks from `from` on; `first` is the first of the store.
    fn check_range(
        &mut self,
        first: u64,
        from: u64,
        count: u64,
    ) -> Result<RangeReport, blockmill_store::Error> {
        let part = |part| self.store.items(part, from, count).map(Option::unwrap_or_default);
        let headers = part(BlockPart::Headers)?;
        let (bodies, receipts) = (part(BlockPart::Bodies)?, part(BlockPart::Receipts)?);
        let mut stored = vec![];
        self.store.hashes(from, count, &mut stored)?;
        let mut parent = match from > first {
            true => self.store.hash_of(from - 1)?,
            false => None,
        };
        let mut hashes = vec![[0; 32]; headers.ends.len()];
        block_hashes(&self.hasher, &headers.bytes, &headers.ends, &mut hashes);
        let bytes = headers.bytes.len() + bodies.bytes.len() + receipts.bytes.len();
        let mut done = RangeReport {
            blocks: count,
            findings: vec![],
            difficulty: U256::ZERO,
            bytes: bytes as u64,
        };
        for (i, (hash, stored)) in hashes.iter().zip(&stored).enumerate() {
            let number = from + i as u64;
            match self.block(number, headers.get(i), (hash, stored), parent.as_ref()) {
                Ok(header) => {
                    done.difficulty = done.difficulty.wrapping_add(header.difficulty);
                    done.findings.extend(self.parts(&header, i, &bodies, &receipts).err());
                }
                Err(finding) => done.findings.push(finding),
            }
            parent = Some(*stored);
        }
        Ok(done)
    }

    /// Decodes a header and checks its hash, its number and its parent.
    fn block<'h>(
        &self,
        number: u64,
        raw: &'h [u8],
        (hash, stored): (&Hash, &Hash),
        parent: Option<&Hash>,
    ) -> Result<HeaderView<'h>, Finding> {
        if hash != stored {
            return Err(differs(number, "hash of the header", stored, hash));
        }
        let header = HeaderView::decode(raw).map_err(|error| Finding {
            block: number,
            what: "header",
            expected: "a header".into(),
            found: error.to_string(),
        })?;
        if header.number != number {
            let (expected, found) = (number.to_string(), header.number.to_string());
            return Err(Finding { block: number, what: "number of the header", expected, found });
        }
        match parent {
            Some(parent) if parent != header.parent_hash => {
                Err(differs(number, "hash of the parent", parent, header.parent_hash))
            }
            _ => Ok(header),
        }
    }

    /// Checks body and receipts, if the store has them, against the roots.
    fn parts(
        &mut self,
        header: &HeaderView<'_>,
        i: usize,
        bodies: &OwnedItems,
        receipts: &OwnedItems,
    ) -> Result<(), Finding> {
        if bodies.ends.is_empty() {
            return Ok(());
        }
        let broken = |what, expected: &str, found: String| Finding {
            block: header.number,
            what,
            expected: expected.into(),
            found,
        };
        let (body, access_list) = split_body(bodies.get(i));
        let body = BodyView::decode(body);
        let body = body.map_err(|error| broken("body", "a body", error.to_string()))?;
        // the rules of the fork were checked by the import: this one knows every type, and no size
        verify_body(Fork::Prague, header, &body, &mut self.roots)
            .map_err(|error| broken("body", "the body of the header", error.to_string()))?;
        verify_access_list_hash(header, access_list).map_err(|error| {
            broken("block access list", "the block access list of the header", error.to_string())
        })?;
        if receipts.ends.is_empty() {
            return Ok(());
        }
        let list = receipts.get(i);
        let mut verify =
            |form| receipts::verify_receipts(header, &body, list, form, &mut self.roots);
        // the store keeps the form of the archive and does not say which
        verify(ReceiptEncoding::Consensus)
            .or_else(|_| verify(ReceiptEncoding::Storage))
            .or_else(|_| verify(ReceiptEncoding::Slim))
            .map_err(|error| broken("receipts", "the receipts of the header", error.to_string()))
    }
}

fn differs(block: u64, what: &'static str, expected: &Hash, found: &Hash) -> Finding {
    Finding { block, what, expected: Hex(expected).to_string(), found: Hex(found).to_string() }
}
