//! The check phase: everything about a chunk of blocks that can be verified without the blocks
//! before it, so that any worker may take any chunk.
//!
//! It fills [`Blocks`], [`Headers`] and [`Content`]. A header is decoded here and nowhere later:
//! the later phases get it from [`Checked`].

mod blocks;
mod bodies;
mod hashing;
mod headers;
mod seals;

pub(crate) use blocks::{Blocks, Verdict};
pub(crate) use bodies::Content;
pub use hashing::Hashes;
pub use headers::{ChainRules, HeaderChecks};
pub(crate) use headers::{Checked, Headers};

use crate::Level;
use crate::fault::Cause;
use crate::header::ethash::Caches;
use crate::header::seal::SealPolicy;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::settings::SenderBatches;
use blockmill_archive::{Part, Want};
use blockmill_hashes::ManyKeccak;
use blockmill_signatures::Signatures;
use blockmill_verdict::Hex;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Were the blocks verified before? Then only their content is compared.
    pub known: bool,
    /// Leaves bodies and seals to [`Checks::check_later`].
    pub content_later: bool,
    /// Stores the senders of the transactions.
    pub keep_signers: bool,
}

/// Busy times of the checks of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckTimes {
    /// Decompressing and decoding.
    pub decode: Duration,
    /// Hashing and verifying.
    pub validate: Duration,
    /// Part of `validate`: hashing signed messages, and recovering the keys.
    pub senders: Duration,
}

impl Checks<'_> {
    /// Unpacks, decodes, hashes and verifies one batch, but for what needs the batches before it.
    pub fn check(
        &self,
        blocks: &mut Blocks,
        headers: &mut Headers,
        content: &mut Content,
        verdict: &mut Verdict,
    ) -> CheckTimes {
        let start = Instant::now();
        let mut times = CheckTimes::default();
        content.clear();
        let (whole, unpacked) = blocks.unpack(self.want);
        verdict.begin(whole);
        let decoded = Instant::now();
        times.decode = decoded - start;
        blocks.hash(self.hasher);
        times.validate = decoded.elapsed();
        let broken = self.check_headers(blocks, whole, headers, &mut times);
        let headers_end = Instant::now();
        blocks.count_from(headers.first_number());
        if let Some((i, cause)) = broken {
            verdict.refuse(blocks, i, Part::Header, cause);
        }
        headers.good = verdict.good;
        if let Err(error) = unpacked {
            verdict.refuse(blocks, whole, Part::Header, Cause::Archive(error));
        }
        check_stated_hashes(blocks, verdict);
        if !self.content_later {
            times.senders = self.check_content(Checked { blocks, headers }, content, verdict);
        }
        times.validate += headers_end.elapsed();
        times
    }

    /// Checks what [`Checks::check`] left.
    pub fn check_later(&self, checked: Checked<'_>, content: &mut Content, verdict: &mut Verdict) {
        if self.content_later {
            self.check_content(checked, content, verdict);
        }
    }

    /// Checks bodies and seals. The time that it took to recover senders.
    fn check_content(
        &self,
        checked: Checked<'_>,
        content: &mut Content,
        verdict: &mut Verdict,
    ) -> Duration {
        let senders = match self.level >= Level::Bodies {
            true => self.check_bodies(checked, content, verdict),
            false => Duration::ZERO,
        };
        self.check_seals(checked, content, verdict);
        senders
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
