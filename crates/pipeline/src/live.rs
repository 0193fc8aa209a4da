//! The live view of a run, for progress displays and the live page.

mod phase;

pub use phase::{Blocks, Phase, SECONDS};

use crate::timeline::Timeline;
use blockmill_verdict::{Level, Progress};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A view of a run; all clones show the same one. It costs the run a lock for each item of a stage.
#[derive(Clone, Debug, Default)]
pub struct Live(Arc<Mutex<State>>);

/// The state of the view.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// When the stages began; none before.
    pub began: Option<Instant>,
    /// How far the run has come.
    pub progress: Progress,
    /// Busy time and items of each stage.
    pub stages: Vec<LiveStage>,
    /// Threads that may compute.
    pub threads: usize,
    /// Busy time of each stage over time.
    pub timeline: Timeline,
    /// Number of the last block that is known to exist; `None` if the archive does not state it.
    pub known: Option<u64>,
    /// What a run that follows a growing archive waits for; `None` for any other run.
    pub following: Option<Following>,
    /// What the command is busy with.
    phase: Option<Phase>,
    /// The phases that there will be.
    plan: &'static [&'static str],
    /// When the command began.
    started: Option<Instant>,
}

/// How far a run that follows a growing archive has come.
#[derive(Clone, Debug, Default)]
pub struct Following {
    /// Rounds that have begun.
    pub rounds: u64,
    /// When the oldest change of the archive was seen that no complete round has read.
    pub changed: Option<Instant>,
    /// What the run waits for, each in a sentence.
    pub waiting: Vec<String>,
}

/// One stage so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveStage {
    /// Its name.
    pub name: &'static str,
    /// Time in it, summed over the threads.
    pub busy: Duration,
}

impl Live {
    /// The state now.
    pub fn look(&self) -> State {
        self.lock().clone()
    }

    /// Reports progress.
    pub fn progress(&self, progress: &Progress) {
        let mut state = self.lock();
        state.progress = *progress;
        state.phase.iter_mut().for_each(|phase| phase.report(progress));
    }

    /// Begins a command, which does what `name` says until it says more.
    pub fn start(&self, name: &'static str) {
        self.plan(&[]);
        self.enter(name, 0);
        self.lock().started = Some(Instant::now());
    }

    /// The time since the command began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.lock().started.map_or(Duration::ZERO, |started| started.elapsed())
    }

    /// Names the phases that there will be.
    pub fn plan(&self, names: &'static [&'static str]) {
        self.lock().plan = names;
    }

    /// Begins a phase that goes through so many bytes; 0 if that is not known.
    pub fn enter(&self, name: impl Into<Cow<'static, str>>, bytes: u64) {
        self.count(name, "", bytes);
    }

    /// Begins the phase in which the blocks of so many bytes are verified at a level.
    pub fn verify(&self, level: Level, bytes: u64) {
        let name = match level {
            Level::Headers => "verify headers",
            Level::Bodies => "verify bodies",
            Level::Execution => "verify execution",
        };
        self.enter(name, bytes);
    }

    /// Begins a phase that goes through so many of something, such as `blocks`.
    pub fn count(&self, name: impl Into<Cow<'static, str>>, unit: &'static str, total: u64) {
        let (name, mut state) = (name.into(), self.lock());
        let place = state.plan.iter().position(|planned| *planned == name);
        let place = place.map(|at| (at + 1, state.plan.len()));
        state.phase = Some(Phase::new(name, place, unit, total));
    }

    /// Says what the phase goes through, which was not known when it began.
    pub fn goal(&self, unit: &'static str, total: u64) {
        self.lock().phase.iter_mut().for_each(|phase| (phase.unit, phase.total) = (unit, total));
    }

    /// Says which part of the phase is done now.
    pub fn detail(&self, text: String) {
        self.lock().phase.iter_mut().for_each(|phase| phase.detail.clone_from(&text));
    }

    /// Ends the phase: until another begins, the command only waits.
    pub fn leave(&self) {
        self.lock().phase = None;
    }

    /// So much more of the phase is done.
    pub fn advance(&self, by: u64) {
        self.lock().phase.iter_mut().for_each(|phase| phase.advance(by));
    }

    /// So much of the phase is done, in all.
    pub fn reach(&self, done: u64) {
        let by = |phase: &mut Phase| phase.advance(done.saturating_sub(phase.done));
        self.lock().phase.iter_mut().for_each(by);
    }

    /// What the command is busy with.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.lock().phase.clone().map(|phase| phase.at(Instant::now()))
    }

    /// Reports the last block that is known to exist.
    pub fn knows(&self, number: u64) {
        self.lock().known = Some(number);
    }

    /// Reports the last block that is committed, of a run that may have read none.
    pub fn committed(&self, number: u64) {
        let progress = &mut self.lock().progress;
        (progress.number, progress.committed) = (progress.number.max(number), Some(number));
    }

    /// Changes what the run reports of the archive that it follows.
    pub fn follow(&self, change: impl FnOnce(&mut Following)) {
        change(self.lock().following.get_or_insert_default());
    }

    /// Starts the stages. If an earlier part of the run had the same stages, their times are kept.
    pub(crate) fn begin(&self, names: &[&'static str], threads: usize) {
        let mut state = self.lock();
        state.began = Some(Instant::now());
        state.threads = threads;
        if !state.stages.iter().map(|stage| stage.name).eq(names.iter().copied()) {
            let stage = |name: &&'static str| LiveStage { name, ..LiveStage::default() };
            state.stages = names.iter().map(stage).collect();
        }
        state.timeline = Timeline::new(names.to_vec());
    }

    /// A thread was in `stage` from `start` to `end`, counted from the begin.
    pub(crate) fn add(&self, stage: usize, start: Duration, end: Duration) {
        let mut state = self.lock();
        if let Some(stage) = state.stages.get_mut(stage) {
            stage.busy += end.saturating_sub(start);
        }
        state.timeline.add(stage, start, end);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_phase_has_its_place() {
        let live = Live::default();
        live.advance(3);
        assert!(live.phase().is_none());
        live.plan(&["index", "verify bodies"]);
        live.enter("open", 0);
        assert_eq!(live.phase().unwrap().place, None);
        live.count("verify bodies", "blocks", 7);
        live.advance(2);
        let phase = live.phase().unwrap();
        assert_eq!((phase.place, phase.done, phase.left()), (Some((2, 2)), 2, 5));
    }

    #[test]
    fn all_clones_see_the_same_run() {
        let (live, window) = (Live::default(), Live::default());
        let clone = live.clone();
        live.begin(&["read", "check"], 2);
        live.add(1, Duration::from_millis(1), Duration::from_millis(3));
        live.progress(&Progress { number: 7, ..Progress::default() });
        let state = clone.look();
        assert_eq!((state.progress.number, state.threads), (7, 2));
        let busy = Duration::from_millis(2);
        assert_eq!(state.stages[1], LiveStage { name: "check", busy });
        assert!((state.timeline.busy_s(1).sum::<f64>() - 0.002).abs() < 1e-9);
        assert!(window.look().began.is_none());
        live.begin(&["read", "check"], 2);
        assert_eq!(clone.look().stages[1].busy, busy, "the same stages go on");
        live.begin(&["read"], 2);
        assert_eq!(clone.look().stages, [LiveStage { name: "read", ..LiveStage::default() }]);
    }
}
