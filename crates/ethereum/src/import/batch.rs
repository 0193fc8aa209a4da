//! A batch of blocks on its way through the stages, phase by phase.
//!
//! Each phase fills its own part and reads the parts before it: the check phase [`Blocks`],
//! [`Headers`] and [`Content`], the link [`Linked`], the execution [`Speculated`] and
//! [`ExecutedChunk`]; a sink reads all of them as [`Verified`].

use crate::commit::Verified;
use crate::error::Error;
use crate::execute::stages::{ExecutedChunk, Speculated};
use crate::fault::Cause;
use crate::link::{Link, Linked, Tip};
use crate::run::PHASES;
use crate::verify::{Blocks, CheckTimes, Checked, Checks, Content, Headers, Verdict};
use blockmill_archive::{Part, Reader};
use blockmill_pipeline::{CarriesRows, Derived};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Consecutive blocks. Batches circulate through the stages and are never freed in between.
#[derive(Default)]
pub(crate) struct Batch {
    pub blocks: Blocks,
    pub headers: Headers,
    pub content: Content,
    pub linked: Linked,
    pub speculated: Speculated,
    pub executed: ExecutedChunk,
    /// Rows that the consumer derived from the new blocks.
    pub rows: Derived,
    pub verdict: Verdict,
    pub times: BatchTimes,
}

impl CarriesRows for Batch {
    fn rows(&self) -> &Derived {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Derived {
        &mut self.rows
    }

    fn is_last(&self) -> bool {
        self.verdict.fault.is_some()
    }
}

/// Busy times of one batch in the stages before the write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchTimes {
    /// Reading.
    pub read: Duration,
    /// The checks that need no other batch.
    pub check: CheckTimes,
    /// The link.
    pub link: Duration,
}

impl BatchTimes {
    /// The times of [`PHASES`], if writing took `written`.
    pub fn phases(&self, written: Duration) -> [Duration; PHASES.len()] {
        let CheckTimes { decode, validate, senders } = self.check;
        [self.read, decode, validate.saturating_sub(senders), senders, self.link, written]
    }
}

impl Batch {
    /// Reads the next blocks. Returns whether there are any.
    ///
    /// # Errors
    /// [`Error::Archive`] if the archive cannot be read.
    pub fn read(&mut self, reader: &mut Reader) -> Result<bool, Error> {
        let clock = Instant::now();
        let more = reader.read(&mut self.blocks.packed)?;
        // a batch is used again, and later stages add to what they find
        self.times = BatchTimes { read: clock.elapsed(), ..BatchTimes::default() };
        self.speculated.hashing = 0;
        Ok(more)
    }

    /// Checks everything that needs no other batch.
    pub fn check(&mut self, checks: &Checks<'_>) {
        let Self { blocks, headers, content, verdict, .. } = self;
        self.times.check = checks.check(blocks, headers, content, verdict);
    }

    /// Ties the blocks to the chain, after the checks that were left for this moment.
    pub fn link(&mut self, checks: &Checks<'_>, link: &mut Link) {
        let Self { blocks, headers, content, linked, verdict, .. } = self;
        let checked = Checked { blocks, headers };
        let clock = Instant::now();
        checks.check_later(checked, content, verdict);
        link.extend(checks, checked, verdict, linked);
        // a block that the store has is not executed
        if let Some((i, violation)) = content.other_list.clone()
            && !linked.range(verdict).contains(&i)
        {
            verdict.refuse(blocks, i, Part::AccessList, Cause::Rule(violation));
        }
        self.times.link = clock.elapsed();
    }

    /// The block access list of block `i`, if the archive has it and it is the header's.
    pub fn access_list(&self, i: usize) -> Option<&[u8]> {
        let other = self.content.other_list.as_ref().is_some_and(|(other, _)| *other <= i);
        self.blocks.access_list(i).filter(|_| !other)
    }

    /// Blocks and decoded headers.
    pub fn checked(&self) -> Checked<'_> {
        Checked { blocks: &self.blocks, headers: &self.headers }
    }

    /// The new blocks that passed every check so far.
    pub fn new_blocks(&self) -> Range<usize> {
        self.linked.range(&self.verdict)
    }

    /// The same blocks, for those who write them.
    pub fn verified(&self) -> Verified<'_> {
        let Self { content, linked, executed, verdict, .. } = self;
        Verified::new(self.checked(), content, linked, executed, verdict)
    }

    /// The last of these blocks.
    pub fn tip(&self) -> Option<Tip> {
        self.linked.tip(self.checked(), &self.verdict)
    }

    /// Refuses block `i` and those after it, unless an earlier one is refused already.
    pub fn refuse(&mut self, i: usize, part: Part, cause: Cause) {
        self.verdict.refuse(&self.blocks, i, part, cause);
    }
}
