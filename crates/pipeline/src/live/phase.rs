//! What a command is busy with: a user who waits sees its name, how much of it is done, and about
//! how long it takes.

use blockmill_verdict::Progress;
use std::borrow::Cow;
use std::time::Instant;

/// A part of the work of a command.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What is done, such as `index`.
    pub name: Cow<'static, str>,
    /// Which part of it is done now; empty if that is not reported.
    pub detail: String,
    /// Its number, from 1, and how many phases there are; `None` if they were not planned.
    pub place: Option<(usize, usize)>,
    /// What is counted, such as `blocks`; empty for bytes. Of [`SECONDS`] as many are done as have
    /// passed.
    pub unit: &'static str,
    /// So much is done.
    pub done: u64,
    /// Of so much; 0 if that is not known.
    pub total: u64,
    /// When it began.
    pub began: Instant,
    /// The blocks that it has come to, if it goes through blocks.
    pub blocks: Option<Blocks>,
    /// When the first part was done, and how much that was: what an earlier run did, or what was
    /// skipped, took none of the time.
    first: Option<(Instant, u64)>,
}

/// The unit of a phase that ends after some time.
pub const SECONDS: &str = "s";

/// How far a phase that goes through blocks is.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Number of the last one.
    pub number: u64,
    /// Number of the last one that is committed, if blocks are stored.
    pub committed: Option<u64>,
    /// Blocks so far in this run, and when the first of them were done.
    count: u64,
    /// The same when the first report came.
    first: u64,
}

impl Phase {
    pub(super) fn new(
        name: Cow<'static, str>,
        place: Option<(usize, usize)>,
        unit: &'static str,
        total: u64,
    ) -> Self {
        let began = Instant::now();
        let detail = String::new();
        Self { name, detail, place, unit, done: 0, total, began, blocks: None, first: None }
    }

    /// The phase as it is now.
    pub(super) fn at(mut self, now: Instant) -> Self {
        if self.unit == SECONDS {
            self.done = now.saturating_duration_since(self.began).as_secs();
        }
        self
    }

    /// So much more is done.
    pub(super) fn advance(&mut self, by: u64) {
        if self.unit == SECONDS {
            return;
        }
        self.done = self.done.saturating_add(by);
        let done = self.done;
        // once a phase: a clock for each coin of millions would take its time
        self.first.get_or_insert_with(|| (Instant::now(), done));
    }

    /// Blocks were verified.
    pub(super) fn report(&mut self, progress: &Progress) {
        self.total = progress.total_bytes.unwrap_or(self.total);
        self.done = progress.bytes;
        self.first.get_or_insert_with(|| (Instant::now(), progress.bytes));
        let first = self.blocks.map_or(progress.blocks, |blocks| blocks.first);
        let Progress { number, committed, blocks: count, .. } = *progress;
        self.blocks = Some(Blocks { number, committed, count, first });
    }

    /// What is left; 0 if the total is not known.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.total.saturating_sub(self.done)
    }

    /// What was done in a second so far; `None` until there is something to measure.
    #[must_use]
    pub fn per_second(&self, now: Instant) -> Option<f64> {
        let (since, before) = self.first?;
        rate(self.done.saturating_sub(before), now.saturating_duration_since(since).as_secs_f64())
    }

    /// Blocks in a second so far; `None` until there is something to measure.
    #[must_use]
    pub fn blocks_per_second(&self, now: Instant) -> Option<f64> {
        let ((since, _), blocks) = (self.first?, self.blocks?);
        let count = blocks.count.saturating_sub(blocks.first);
        rate(count, now.saturating_duration_since(since).as_secs_f64())
    }

    /// Seconds until the end at the rate so far; `None` if that is not known.
    #[must_use]
    pub fn seconds_left(&self, now: Instant) -> Option<f64> {
        let rate = self.per_second(now).filter(|_| self.total > 0)?;
        Some(self.left() as f64 / rate)
    }
}

/// Shortest time that a rate is computed from, in seconds.
const LEAST_TIME: f64 = 0.2;

fn rate(count: u64, seconds: f64) -> Option<f64> {
    (count > 0 && seconds >= LEAST_TIME).then(|| count as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_are_of_what_came_after_the_first_report() {
        let mut phase = Phase::new("verify bodies".into(), None, "", 1_000);
        let progress = |bytes, blocks| Progress { bytes, blocks, ..Progress::default() };
        // an earlier run did 500 bytes
        phase.report(&progress(500, 10));
        let later = phase.began + Duration::from_secs(1000);
        assert_eq!((phase.per_second(later), phase.seconds_left(later)), (None, None));
        phase.report(&progress(750, 60));
        let since = phase.first.unwrap().0;
        let later = since + Duration::from_secs(10);
        assert_eq!(phase.per_second(later), Some(25.0));
        assert_eq!(phase.blocks_per_second(later), Some(5.0));
        assert_eq!(phase.seconds_left(later), Some(10.0));
        assert_eq!(phase.per_second(since), None);
    }

    #[test]
    fn a_phase_of_unknown_size_has_no_time_left() {
        let mut phase = Phase::new("index".into(), None, "", 0);
        phase.advance(5);
        phase.advance(u64::MAX);
        let later = phase.began + Duration::from_secs(9);
        assert!(phase.per_second(later).is_some());
        assert_eq!((phase.seconds_left(later), phase.left()), (None, 0));
    }

    #[test]
    fn seconds_pass() {
        let mut phase = Phase::new("measure".into(), None, SECONDS, 30);
        phase.advance(1);
        let later = phase.began + Duration::from_millis(12_700);
        let phase = phase.at(later);
        assert_eq!((phase.done, phase.left()), (12, 18));
        assert_eq!((phase.per_second(later), phase.seconds_left(later)), (None, None));
    }
}
