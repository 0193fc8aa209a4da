//! The headers of a chunk: each against the one before it.

use super::{BatchTimes, Blocks, Checks, Headers, Verdict};
use crate::Hash;
use crate::encoding::header_cause;
use crate::error::Violation;
use crate::fault::Cause;
use crate::header::{HeaderView, rules};
use crate::params::ChainSpec;
use blockmill_archive::Part;
use std::ops::Range;
use std::time::Instant;

/// Headers that are decoded, then verified, before the next ones: enough to make the two clock
/// readings cheap, few enough to stay in the first-level cache.
const RUN: usize = 64;

/// Checks decoded headers against the rules of their chain, on any thread.
///
/// [`ChainRules`] is what every command uses. The benchmark crate imitates earlier designs with
/// checks of its own. A call takes up to 65 headers, so its dispatch costs nothing per header.
pub trait HeaderChecks: Sync {
    /// Checks each header of `run` but the first against the one before it; `hashes` are theirs.
    ///
    /// # Errors
    /// The index in `run` of the first header that breaks a rule, and the rule.
    fn check(
        &self,
        spec: &ChainSpec,
        run: &[HeaderView<'_>],
        hashes: &[Hash],
    ) -> Result<(), (usize, Violation)>;
}

/// Every rule that a header and its parent decide ([`rules::verify_header`]), once.
#[derive(Clone, Copy, Debug)]
pub struct ChainRules;

impl HeaderChecks for ChainRules {
    fn check(
        &self,
        spec: &ChainSpec,
        run: &[HeaderView<'_>],
        hashes: &[Hash],
    ) -> Result<(), (usize, Violation)> {
        for (i, (pair, parent_hash)) in run.windows(2).zip(hashes).enumerate() {
            rules::verify_header(spec, &pair[0], parent_hash, &pair[1]).map_err(|v| (i + 1, v))?;
        }
        Ok(())
    }
}

impl Checks<'_> {
    /// Decodes and verifies the headers in runs, each header against the one before it.
    pub(super) fn check_headers(
        &self,
        blocks: &Blocks,
        headers: &mut Headers,
        verdict: &mut Verdict,
        times: &mut BatchTimes,
    ) {
        headers.difficulties.clear();
        let mut failure = None;
        let mut at = 0;
        while at < verdict.good && failure.is_none() {
            let end = (at + RUN).min(verdict.good);
            failure = self.check_run(blocks, at..end, headers, times);
            at = end;
        }
        if let Some((i, cause)) = failure {
            verdict.refuse(blocks, i, Part::Header, cause);
        }
        headers.good = verdict.good;
    }

    /// Decodes and verifies the headers of `run`; the first failure.
    fn check_run(
        &self,
        blocks: &Blocks,
        run: Range<usize>,
        headers: &mut Headers,
        times: &mut BatchTimes,
    ) -> Option<(usize, Cause)> {
        let start = Instant::now();
        let column = &blocks.chunk.headers;
        let mut failure = None;
        let mut decoded = Vec::with_capacity(RUN + 1);
        // the last header of the run before is the parent of this run's first
        let first = run.start.saturating_sub(1);
        for i in first..run.end {
            match HeaderView::decode(column.get(i)) {
                Ok(header) => decoded.push(header),
                Err(error) => {
                    failure = Some((i, header_cause(column.get(i), error)));
                    break;
                }
            }
        }
        let middle = Instant::now();
        times.decode += middle - start;
        let new = decoded.iter().skip(run.start - first);
        headers.difficulties.extend(new.map(|header| header.difficulty));
        let hashes = &blocks.hashes[first..run.end];
        if let Err((i, violation)) = self.headers.check(self.spec, &decoded, hashes) {
            failure = Some((first + i, Cause::Rule(violation)));
        }
        times.validate += middle.elapsed();
        failure
    }
}
