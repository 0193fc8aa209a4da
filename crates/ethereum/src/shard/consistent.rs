//! Checks a summary for contradictions: recomputes everything that does not need the archive.

use super::summary::{FirstStake, HeadBlock, LastWork, SCHEMA, ShardSummary};
use crate::Level;
use crate::U256;
use crate::body::ommers::{GENERATIONS, MAX_OMMERS};
use crate::header::{EMPTY_OMMERS, HeaderView};
use blockmill_verdict::Digits;
use std::fmt::Display;

/// A field of a summary that contradicts other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistent {
    /// Its path in the document, as in `head.blocks[3].hash`.
    pub field: String,
    /// The value that follows from the other fields.
    pub expected: String,
    /// Its value.
    pub found: String,
}

/// The result of a check: the wrong field, if any.
type Checked = Result<(), Inconsistent>;

/// Checks that `found` equals `expected`.
fn expect<T: PartialEq + Display>(field: impl Into<String>, expected: T, found: T) -> Checked {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Inconsistent { field: field.into(), expected, found })
}

/// Checks that `found` is within the bounds, inclusive.
fn expect_within<T: PartialOrd + Display>(
    field: impl Into<String>,
    (least, most): (T, T),
    found: T,
) -> Checked {
    if least <= found && found <= most {
        return Ok(());
    }
    let (expected, found) = (format!("{least} to {most}"), found.to_string());
    Err(Inconsistent { field: field.into(), expected, found })
}

/// Decodes a header of the summary, and checks its hash.
fn header<'a>(
    field: &str,
    bytes: &'a [u8],
    hash: &[u8; 32],
) -> Result<HeaderView<'a>, Inconsistent> {
    let found = blockmill_rlp::ethereum::block_hash(bytes);
    expect(format!("{field}.hash"), Digits(&found).to_string(), Digits(hash).to_string())?;
    HeaderView::decode(bytes).map_err(|error| Inconsistent {
        field: format!("{field}.header"),
        expected: "a block header".into(),
        found: error.to_string(),
    })
}

impl ShardSummary {
    /// Compares the fields with each other: hashes with headers, numbers and counts, difficulties
    /// with their sums, the status with the findings.
    ///
    /// # Errors
    /// Returns the first field that contradicts the others.
    pub fn expect_consistent(&self) -> Result<(), Inconsistent> {
        expect("schema", SCHEMA, self.schema)?;
        expect("status", self.clone().with_status().status.name(), self.status.name())?;
        self.expect_range()?;
        self.expect_head()?;
        self.expect_difficulties()?;
        self.expect_tail()?;
        self.expect_sides()?;
        self.expect_names()?;
        self.expect_counts()?;
        self.expect_sources()
    }

    /// First and last block, and the number of blocks.
    fn expect_range(&self) -> Checked {
        let is_there = |is_there: bool| if is_there { "a block" } else { "none" };
        expect("last", is_there(self.blocks > 0), is_there(self.last.is_some()))?;
        let (Some(first), Some(last)) = (&self.first, &self.last) else {
            return expect("first", is_there(self.last.is_some()), is_there(self.first.is_some()));
        };
        let end = first.number.saturating_add(self.blocks - 1);
        expect("last.number", end, last.number)?;
        let view = header("last", &last.header.0, &last.hash.0)?;
        expect("last.number", view.number, last.number)?;
        let (least, most) = (self.asked.from.unwrap_or(0), self.asked.until.unwrap_or(u64::MAX));
        expect_within("first.number", (least, most), first.number)?;
        expect_within("last.number", (least, most), last.number)?;
        if let Some((begin, end)) = self.stated {
            expect_within("stated[0]", (0, first.number), begin)?;
            let end = end.unwrap_or(last.number);
            expect_within("stated[1]", (last.number, u64::MAX), end)?;
            if self.is_whole() && self.asked.level >= Level::Headers {
                expect("last.number", end.min(most), last.number)?;
            }
        }
        Ok(())
    }

    /// Returns whether there is neither a fault nor a shortfall.
    fn is_whole(&self) -> bool {
        self.fault.is_none() && self.shortfalls.is_empty()
    }

    /// Number of the first blocks that were verified.
    fn verified_head(&self) -> usize {
        usize::try_from(self.blocks).unwrap_or(usize::MAX).min(self.head.blocks.len())
    }

    /// The first blocks: their hashes, numbers and parents, and the lists of ommers.
    fn expect_head(&self) -> Checked {
        let (head, verified) = (&self.head, self.verified_head());
        let most = GENERATIONS as u64;
        let least = self.blocks.min(most);
        expect_within("head.blocks", (least, most), head.blocks.len() as u64)?;
        expect_within("head.good", (verified, head.blocks.len()), head.good)?;
        if self.fault.is_none() {
            expect("head.good", head.blocks.len(), head.good)?;
        }
        let mut before: Option<&HeadBlock> = None;
        for (i, block) in head.blocks.iter().enumerate() {
            let field = format!("head.blocks[{i}]");
            let view = header(&field, &block.header.0, &block.hash.0)?;
            if i >= verified {
                break;
            }
            let first = self.first.as_ref().map_or(0, |first| first.number);
            expect(format!("{field}.header"), first + i as u64, view.number)?;
            if let Some(before) = before {
                let (expected, found) = (Digits(&before.hash.0), Digits(view.parent_hash));
                let what = format!("{field}.header (parent)");
                expect(what, expected.to_string(), found.to_string())?;
            }
            self.expect_ommers(&field, block, &view)?;
            before = Some(block);
        }
        let (Some(first), Some(last)) = (&self.first, &self.last) else { return Ok(()) };
        if let Some(block) = head.blocks.first() {
            let (expected, found) = (Digits(&block.hash.0), Digits(&first.hash.0));
            expect("first.hash", expected.to_string(), found.to_string())?;
        }
        if let Some(starts_at) = head.starts_at {
            expect("head.starts_at", first.number, starts_at)?;
        }
        if let Some(block) = head.blocks.get(self.blocks as usize - 1) {
            let (expected, found) = (Digits(&block.hash.0), Digits(&last.hash.0));
            expect("last.hash", expected.to_string(), found.to_string())?;
        }
        Ok(())
    }

    fn expect_ommers(&self, field: &str, block: &HeadBlock, view: &HeaderView<'_>) -> Checked {
        let field = format!("{field}.ommers");
        if self.asked.level == Level::Headers {
            // no body was read, and a merge represents none as an empty list
            return expect_within(field, (0, 1), block.ommers.0.len());
        }
        let found = match &block.ommers.0[..] {
            [] => EMPTY_OMMERS,
            ommers => blockmill_hashes::keccak256(ommers),
        };
        let (expected, found) = (Digits(view.ommers_hash), Digits(&found));
        expect(field, format!("a list of hash {expected}"), format!("a list of hash {found}"))
    }

    /// Total difficulties and their sum.
    fn expect_difficulties(&self) -> Checked {
        let difficulty = |header: &[u8]| {
            HeaderView::decode(header).map_or(U256::ZERO, |header| header.difficulty)
        };
        let head = &self.head.blocks[..self.verified_head()];
        let mut sum = U256::ZERO;
        for (i, block) in head.iter().enumerate() {
            sum = sum.saturating_add(difficulty(&block.header.0));
            if let (Some(before), Some(total)) = (self.total_before, block.total_difficulty) {
                let field = format!("head.blocks[{i}].total_difficulty");
                expect(field, before.0.saturating_add(sum), total.0)?;
            }
        }
        if self.blocks <= head.len() as u64 {
            expect("difficulty_sum", sum, self.difficulty_sum.0)?;
        } else {
            let last = self.last.as_ref().map_or(U256::ZERO, |last| difficulty(&last.header.0));
            let least = sum.saturating_add(last);
            expect_within("difficulty_sum", (least, U256::MAX), self.difficulty_sum.0)?;
        }
        let total = self.last.as_ref().and_then(|last| last.total_difficulty);
        match (self.total_before, total) {
            (Some(before), Some(total)) => {
                let expected = before.0.saturating_add(self.difficulty_sum.0);
                expect("last.total_difficulty", expected, total.0)
            }
            (before, total) if self.blocks > 0 => {
                let is_there = |it: bool| if it { "a number" } else { "none" };
                let (expected, found) = (is_there(before.is_some()), is_there(total.is_some()));
                expect("last.total_difficulty", expected, found)
            }
            _ => Ok(()),
        }
    }

    /// The last blocks under proof of work.
    fn expect_tail(&self) -> Checked {
        let Some(last) = &self.last else { return Ok(()) };
        expect_within("tail", (0, GENERATIONS), self.tail.len())?;
        if self.asked.level == Level::Headers {
            // no ommers were read, so these blocks are not used
            return Ok(());
        }
        let mut before: Option<(u64, [u8; 32])> = None;
        for (i, block) in self.tail.iter().enumerate() {
            let field = format!("tail[{i}]");
            let view = header(&field, &block.header.0, &block.hash.0)?;
            if let Some((number, hash)) = before {
                expect(format!("{field}.header"), number + 1, view.number)?;
                let (expected, found) = (Digits(&hash), Digits(view.parent_hash));
                let what = format!("{field}.header (parent)");
                expect(what, expected.to_string(), found.to_string())?;
            }
            let has_none = *view.ommers_hash == EMPTY_OMMERS;
            let is_there = |none: bool| if none { "none" } else { "hashes" };
            expect(
                format!("{field}.ommers"),
                is_there(has_none),
                is_there(block.ommers.is_empty()),
            )?;
            before = Some((view.number, block.hash.0));
        }
        let is_work = HeaderView::decode(&last.header.0).is_ok_and(|it| it.difficulty > U256::ZERO);
        if is_work && self.is_whole() {
            let least = self.blocks.min(GENERATIONS as u64);
            expect_within("tail", (least, GENERATIONS as u64), self.tail.len() as u64)?;
            let found = before.map_or([0; 32], |(_, hash)| hash);
            let (expected, found) = (Digits(&last.hash.0), Digits(&found));
            expect("tail (last hash)", expected.to_string(), found.to_string())?;
        }
        Ok(())
    }

    /// The end of proof of work.
    fn expect_sides(&self) -> Checked {
        if !self.is_whole() {
            // stages may have processed blocks after a fault
            return Ok(());
        }
        let first = self.first.as_ref().map_or(0, |first| first.number);
        let most = (U256::ZERO, self.difficulty_sum.0);
        let last = self.blocks.saturating_sub(1);
        if let Some(LastWork { at, number, sum_before }) = self.sides.last_work {
            expect_within("sides.last_work.at", (0, last), at)?;
            expect("sides.last_work.number", first + at, number)?;
            expect_within("sides.last_work.sum_before", most, sum_before.0)?;
        }
        if let Some(FirstStake { at, sum_before, hash, header: bytes, .. }) =
            &self.sides.first_stake
        {
            expect_within("sides.first_stake.at", (0, last), *at)?;
            let view = header("sides.first_stake", &bytes.0, &hash.0)?;
            expect("sides.first_stake.header", first + at, view.number)?;
            expect_within("sides.first_stake.sum_before", most, sum_before.0)?;
        }
        Ok(())
    }

    /// Anchor, trusted blocks and fault, compared with the known blocks.
    fn expect_names(&self) -> Checked {
        let (Some(first), Some(last)) = (&self.first, &self.last) else { return Ok(()) };
        if let Some(anchor) = &self.anchor {
            expect("anchor.number", first.number, anchor.number)?;
            let (expected, found) = (Digits(&first.hash.0), Digits(&anchor.hash.0));
            expect("anchor.hash", expected.to_string(), found.to_string())?;
        }
        for (i, block) in self.trusted.iter().enumerate() {
            let field = format!("trusted[{i}]");
            expect_within(format!("{field}.number"), (first.number, last.number), block.number)?;
            let is_asked = self.asked.trust.contains(&block.hash);
            let is_it = |it: bool| if it { "a hash of asked.trust" } else { "another" };
            expect(format!("{field}.hash"), is_it(true), is_it(is_asked))?;
            let at = (block.number - first.number) as usize;
            let known = self.head.blocks.get(at).map(|block| block.hash);
            let known = known.or((block.number == last.number).then_some(last.hash));
            let found = Digits(&block.hash.0).to_string();
            let expected = known.map_or(found.clone(), |hash| Digits(&hash.0).to_string());
            expect(format!("{field}.hash"), expected, found)?;
        }
        if let Some(fault) = &self.fault {
            expect_within("fault.at", (self.blocks, u64::MAX), fault.at)?;
        }
        Ok(())
    }

    fn expect_counts(&self) -> Checked {
        let counts = &self.counts;
        // stages may have processed blocks after a fault
        if self.is_whole() {
            expect_within("counts.seals_left", (0, self.blocks), counts.seals_left)?;
            // with bodies, those of ommers too
            let ommers = if self.asked.level == Level::Headers { 0 } else { MAX_OMMERS as u64 };
            let most = (self.blocks - counts.seals_left).saturating_mul(1 + ommers);
            expect_within("counts.seals_checked", (0, most), counts.seals_checked)?;
            expect_within("counts.accumulators", (0, self.blocks), counts.accumulators)?;
            expect_within("counts.senders", (0, counts.transactions), counts.senders)?;
        }
        if self.asked.level == Level::Headers {
            expect("counts.transactions", 0, counts.transactions)?;
            expect("counts.unchecked_ommers", 0, counts.unchecked_ommers)?;
        }
        Ok(())
    }

    fn expect_sources(&self) -> Checked {
        if self.sources.is_empty() {
            // a summary of many shards may omit them
            return Ok(());
        }
        for (i, source) in self.sources.iter().enumerate() {
            let Some(sha256) = &source.sha256 else { continue };
            let is_hash = sha256.len() == 64 && sha256.bytes().all(|it| it.is_ascii_hexdigit());
            let of = |it: bool| if it { "64 hexadecimal digits" } else { "another text" };
            expect(format!("sources[{i}].sha256"), of(true), of(is_hash))?;
        }
        let locations =
            self.head.blocks.iter().flat_map(|it| [&it.header_at, &it.body_at, &it.total_at]);
        for location in locations.flatten().chain(&self.head.location) {
            let is_source = self.sources.iter().any(|it| location.file.starts_with(&it.path));
            let of = |it: bool| if it { "a file of sources" } else { "another file" };
            expect("head (location)", of(true), of(is_source))?;
        }
        Ok(())
    }
}
