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

    /// Replaces the stage of this name by those of its parts that took time. They share its time
    /// in proportion to the times that were measured.
    pub fn split_stage(&mut self, name: &str, parts: &[(&str, f64)]) {
        let Some(at) = self.stages.iter().position(|stage| stage.name == name) else { return };
        let sum: f64 = parts.iter().map(|part| part.1).sum();
        if sum <= 0.0 {
            return;
        }
        let whole = self.stages[at].clone();
        let part = |(name, measured): &(&str, f64)| Stage {
            name: (*name).to_owned(),
            busy_s: whole.busy_s * measured / sum,
            wait_s: whole.wait_s * measured / sum,
            ..whole.clone()
        };
        self.stages.splice(at..=at, parts.iter().filter(|part| part.1 > 0.0).map(part));
    }
}
