//! The headers of a chunk: decoded, and each compared with the one before it.

use super::{Blocks, CheckTimes, Checks};
use crate::encoding::header_cause;
use crate::fault::Cause;
use crate::header::{EncodedHeader, HeaderView, rules};
use crate::params::ChainSpec;
use crate::rule::Violation;
use crate::{Hash, U256};
use blockmill_rlp::ethereum::HeaderIndex;
use std::ops::Range;
use std::time::Instant;

/// Headers that are decoded, then verified, before the next ones: enough to make the two clock
/// readings cheap, few enough to stay in the first-level cache.
const RUN: usize = 64;

/// The decoded headers of a batch. It keeps its memory from batch to batch.
#[derive(Default)]
pub(crate) struct Headers {
    /// Difficulty of each header.
    difficulties: Vec<U256>,
    /// Everything else of each header.
    indexes: Vec<HeaderIndex>,
    /// How many headers, from the first one on, passed every check.
    pub good: usize,
}

impl Headers {
    /// Forgets the headers of the batch before.
    pub fn clear(&mut self) {
        self.difficulties.clear();
        self.indexes.clear();
        self.good = 0;
    }

    /// Adds the next headers.
    #[inline]
    pub fn extend(&mut self, headers: &[HeaderView<'_>]) {
        self.difficulties.extend(headers.iter().map(|header| header.difficulty));
        self.indexes.extend(headers.iter().map(HeaderIndex::new));
    }

    /// Difficulty of each header that was decoded.
    #[inline]
    pub fn difficulties(&self) -> &[U256] {
        &self.difficulties
    }

    /// The number in the first header; `None` if it could not be decoded.
    pub fn first_number(&self) -> Option<u64> {
        self.indexes.first().map(HeaderIndex::number)
    }
}

/// What the check phase leaves for the phases after it: blocks with their decoded headers.
#[derive(Clone, Copy)]
pub(crate) struct Checked<'a> {
    pub blocks: &'a Blocks,
    pub headers: &'a Headers,
}

impl<'a> Checked<'a> {
    /// Header `i`. Panics where it was not decoded; every good block's header was.
    #[inline]
    pub fn header(self, i: usize) -> HeaderView<'a> {
        let raw = self.blocks.chunk.headers.get(i);
        self.headers.indexes[i].view(raw, self.headers.difficulties[i])
    }

    /// Header `i`; `None` if the batch has no such header, or it could not be decoded.
    pub fn decoded(self, i: usize) -> Option<HeaderView<'a>> {
        (i < self.headers.indexes.len()).then(|| self.header(i))
    }

    /// A copy of header `i`.
    pub fn encoded(self, i: usize) -> EncodedHeader {
        let raw = self.blocks.chunk.headers.get(i);
        EncodedHeader::copied(raw, self.headers.difficulties[i], self.headers.indexes[i])
    }

    /// Difficulty of block `i`.
    #[inline]
    pub fn difficulty(self, i: usize) -> U256 {
        self.headers.difficulties[i]
    }
}

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
    /// Decodes the first `whole` headers and verifies them in runs, each header against the one
    /// before it. Returns the first header that is refused, and why.
    pub(super) fn check_headers(
        &self,
        blocks: &Blocks,
        whole: usize,
        headers: &mut Headers,
        times: &mut CheckTimes,
    ) -> Option<(usize, Cause)> {
        headers.clear();
        let mut decoded = Vec::with_capacity(RUN + 1);
        let mut failure = None;
        let mut at = 0;
        while at < whole && failure.is_none() {
            let end = (at + RUN).min(whole);
            failure = self.check_run(blocks, at..end, &mut decoded, headers, times);
            at = end;
        }
        failure
    }

    /// Decodes and verifies the headers of `run`; the first failure. `decoded` ends with the header
    /// before the run, where there is one, and with the last of the run afterwards.
    fn check_run<'b>(
        &self,
        blocks: &'b Blocks,
        run: Range<usize>,
        decoded: &mut Vec<HeaderView<'b>>,
        headers: &mut Headers,
        times: &mut CheckTimes,
    ) -> Option<(usize, Cause)> {
        let start = Instant::now();
        let column = &blocks.chunk.headers;
        let mut failure = None;
        // the last header of the run before is the parent of this run's first
        decoded.drain(..decoded.len().saturating_sub(1));
        let first = run.start - decoded.len();
        for i in run.clone() {
            match HeaderView::decode(column.get(i)) {
                Ok(header) => decoded.push(header),
                Err(error) => {
                    failure = Some((i, header_cause(column.get(i), error)));
                    break;
                }
            }
        }
        headers.extend(&decoded[run.start - first..]);
        let middle = Instant::now();
        times.decode += middle - start;
        let hashes = &blocks.hashes[first..run.end];
        if let Err((i, violation)) = self.headers.check(self.spec, decoded, hashes) {
            failure = Some((first + i, Cause::Rule(violation)));
        }
        times.validate += middle.elapsed();
        failure
    }
}
