//! One chunk of blocks on its way through the stages: everything about it that can be checked
//! without the chunks before it, so that any worker may take it.

mod bodies;
mod hashing;
mod headers;
mod phases;
mod seals;

pub use headers::{ChainRules, HeaderChecks};
pub(crate) use phases::{BatchTimes, Blocks, Content, ExecutedChunk, Headers, Speculated, Verdict};

use crate::Level;
use crate::error::{Rule, Violation};
use crate::fault::Cause;
use crate::header::ethash::Caches;
use crate::header::seal::SealPolicy;
use crate::link::Linked;
use crate::params::ChainSpec;
use crate::settings::SenderBatches;
use blockmill_archive::{Part, Want};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Made, NotMade};
use blockmill_signatures::Signatures;
use blockmill_verdict::Hex;
pub use hashing::Hashes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One chunk of blocks, phase by phase. Batches circulate through the stages and are never freed in
/// between.
#[derive(Default)]
pub struct Batch {
    pub(crate) blocks: Blocks,
    pub(crate) headers: Headers,
    pub(crate) content: Content,
    /// What the link made of it, until it is written.
    pub(crate) linked: Linked,
    pub(crate) speculated: Speculated,
    pub(crate) executed: ExecutedChunk,
    /// What was made of the new blocks before they are written.
    pub(crate) made: Option<Result<Made, NotMade>>,
    pub(crate) verdict: Verdict,
    pub(crate) times: BatchTimes,
}

impl Batch {
    /// Refuses block `i` and those after it, unless an earlier one is refused already.
    pub(crate) fn refuse(&mut self, i: usize, part: Part, cause: Cause) {
        self.verdict.refuse(&self.blocks, i, part, cause);
    }
}

/// The checks of one run; shared by all workers.
pub(crate) struct Checks<'a> {
    pub spec: &'a ChainSpec,
    pub level: Level,
    pub want: Want,
    pub headers: &'a dyn HeaderChecks,
    pub seal: SealPolicy,
    pub signatures: Signatures,
    pub sender_batches: SenderBatches,
    pub caches: &'a Arc<Caches>,
    pub hasher: ManyKeccak,
    /// The time of the run, in seconds since 1970.
    pub now: Option<u64>,
    /// True when the blocks were verified before, so that only their content is compared.
    pub known: bool,
    /// Leaves bodies and seals to [`Checks::check_later`].
    pub content_later: bool,
    /// Keeps who signed the transactions.
    pub keep_signers: bool,
}

impl Checks<'_> {
    /// Unpacks, decodes, hashes and verifies one batch as far as it goes by itself. The first
    /// header is compared with its parent later, in order.
    pub fn check(&self, batch: &mut Batch) {
        let start = Instant::now();
        let Batch { blocks, headers, content, verdict, times, .. } = batch;
        content.clear();
        times.senders = Duration::ZERO;
        let (whole, unpacked) = blocks.unpack(self.want);
        verdict.begin(whole);
        let decoded = Instant::now();
        times.decode = decoded - start;
        blocks.hash(self.hasher);
        times.validate = decoded.elapsed();
        if let Err(error) = unpacked {
            verdict.refuse(blocks, whole, Part::Header, Cause::Archive(error));
        }
        self.check_headers(blocks, headers, verdict, times);
        let headers_end = Instant::now();
        check_stated_hashes(blocks, verdict);
        if !self.content_later {
            self.check_content(batch);
        }
        batch.times.validate += headers_end.elapsed();
    }

    /// Checks what [`Checks::check`] left.
    pub fn check_later(&self, batch: &mut Batch) {
        if self.content_later {
            self.check_content(batch);
        }
    }

    /// Bodies and seals.
    fn check_content(&self, batch: &mut Batch) {
        let Batch { blocks, headers, content, verdict, times, .. } = batch;
        if self.level >= Level::Bodies {
            times.senders = self.check_bodies(blocks, content, verdict);
        }
        self.check_seals(blocks, headers, content, verdict);
    }
}

/// Compares the hashes that an archive states with those of its headers.
fn check_stated_hashes(blocks: &Blocks, verdict: &mut Verdict) {
    let stated = &blocks.chunk.stated_hashes;
    let both = stated.iter().zip(&blocks.hashes).take(verdict.good);
    if let Some((i, (stated, found))) = both.enumerate().find(|(_, (s, h))| s != h) {
        let violation = Violation::new(Rule::StatedHash, Hex(stated), Hex(found));
        verdict.refuse(blocks, i, Part::Header, Cause::Rule(violation));
    }
}
