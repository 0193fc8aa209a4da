//! The part of a record that runs of all chains share.

use super::{ChunkTimes, Data, Outcome, Program, RunRecord, Series, Stage};
use crate::machine::Machine;
use crate::times::Times;
use blockmill_verdict::RunOutcome;

impl RunRecord {
    /// The record of a run with this outcome, called `label` in tables. `chunks` has the times of
    /// each chunk in `phases`, `times` those of stages and threads.
    pub fn of_run(
        program: Program,
        label: &str,
        outcome: &RunOutcome,
        (chunks, phases): (&[ChunkTimes], &[&str]),
        times: &Times,
    ) -> Self {
        let mut record = Self::new(program, label);
        record.started_unix = outcome.started_unix;
        record.machine = Machine::detect();
        let (first, last) = outcome.range.unwrap_or_default();
        let (blocks, bytes) = (outcome.blocks, outcome.bytes);
        record.data = Data { first, last, blocks, bytes, ..Data::default() };
        record.series.push(Series::of_chunks(chunks, phases));
        record.series.push(Series::of_slices(&times.timeline));
        record.took(outcome.wall_s);
        record.take_usage(outcome.cpu);
        let stages = times.stages.iter();
        record.stages = stages.map(|times| Stage::from_times(times, blocks, bytes)).collect();
        record.threads = times.threads.iter().map(Into::into).collect();
        let (tip_number, tip_hash) =
            outcome.tip.clone().map_or_else(Default::default, |tip| (tip.number, tip.hash));
        record.result = Outcome {
            tip_number,
            tip_hash,
            tip_time: outcome.tip_time,
            anchor: outcome.anchor.clone(),
            committed: outcome.committed,
            error: outcome.fault.as_ref().map(|fault| fault.message.clone()),
            status: outcome.status,
            fault: outcome.fault.clone(),
            shortfalls: outcome.shortfalls.clone(),
            ..Outcome::default()
        };
        record
    }

    /// Replaces the stage of this name by parts of it, each with a name and a share of its time.
    pub fn split_stage<'a>(&mut self, name: &str, parts: impl IntoIterator<Item = (&'a str, f64)>) {
        let Some(at) = self.stages.iter().position(|stage| stage.name == name) else { return };
        let whole = self.stages[at].clone();
        let part = |(name, share): (&str, f64)| Stage {
            name: name.into(),
            busy_s: whole.busy_s * share,
            wait_s: whole.wait_s * share,
            ..whole.clone()
        };
        self.stages.splice(at..=at, parts.into_iter().map(part));
    }
}
