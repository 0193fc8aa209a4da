//! What a contest says: who took how much of a fact, by how much two of them differ, and how sure
//! that is.

use crate::contest::{AGAIN, BASELINE, Pairs, Run, figure_of};
use crate::definition::{Reference, Settings};
use crate::shape::Contestant;
use crate::statistics::{Estimate, Growth, LEAST_PAIRS, median};
use blockmill_pipeline::machine::Machine;
use blockmill_pipeline::record::{BLOCK, CHUNK, RunRecord, SLICE};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything about one contest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contest {
    /// The name of the definition.
    pub definition: String,
    /// What is measured, for people.
    pub title: String,
    /// Why, in a sentence or two.
    pub about: String,
    /// `alone`, `ladder`, `ablation`, `sweep NAME`, `peers` or `revisions`.
    pub shape: String,
    /// The case of a definition that has several; empty otherwise.
    pub case: String,
    /// What the kind was told.
    pub settings: Settings,
    /// The facts that are compared, the one that leads first.
    pub compare: Vec<String>,
    /// Those who ran: the baseline, the baseline again, and the others.
    pub contestants: Vec<Contestant>,
    /// All runs, in the order of time.
    pub runs: Vec<Run>,
    /// Who could not take part, and why.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The command line that holds it again, one entry for each argument.
    #[serde(default)]
    pub command: Vec<String>,
    /// What others have published about the same thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

/// What is known about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The fact is larger, beyond the noise.
    More,
    /// It is smaller, beyond the noise.
    Less,
    /// There is no difference that this machine could show now.
    Same,
    /// There were too few pairs to say anything.
    Unknown,
}

/// Two contestants and a fact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// How many times as much the first one's fact is.
    pub estimate: Estimate,
    /// By which share the baseline differs from itself.
    pub noise: f64,
}

impl Finding {
    /// What may be said.
    pub fn verdict(&self) -> Verdict {
        let Self { estimate, noise } = self;
        match () {
            () if estimate.high.is_infinite() || noise.is_infinite() => Verdict::Unknown,
            () if !estimate.differs(*noise) => Verdict::Same,
            () if estimate.ratio > 1.0 => Verdict::More,
            () => Verdict::Less,
        }
    }
}

impl Contest {
    /// What all runs are called together.
    pub fn name(&self) -> String {
        let words = [self.definition.as_str(), self.shape.as_str(), self.case.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" / ")
    }

    /// The fact that leads.
    pub fn figure(&self) -> &str {
        self.compare.first().map_or("", String::as_str)
    }

    /// The records of a contestant's runs that were not to warm up; those that nobody disturbed, if
    /// there are as many as an interval needs.
    pub fn records(&self, contestant: usize) -> Vec<&RunRecord> {
        let all =
            || self.runs.iter().filter(move |run| run.contestant == contestant && run.block > 0);
        let calm: Vec<_> = all().filter(|run| !run.disturbed).map(|run| &run.record).collect();
        if calm.len() < LEAST_PAIRS { all().map(|run| &run.record).collect() } else { calm }
    }

    /// The median of a contestant's fact; none when it does not tell it.
    pub fn median(&self, contestant: usize, figure: &str) -> Option<f64> {
        let values: Vec<f64> =
            self.records(contestant).iter().map(|record| figure_of(record, figure)).collect();
        median(&values).filter(|median| *median > 0.0)
    }

    /// The run that stands for a contestant: that of the median.
    pub fn typical(&self, contestant: usize) -> Option<&RunRecord> {
        let mut records = self.records(contestant);
        records.sort_by(|a, b| figure_of(a, self.figure()).total_cmp(&figure_of(b, self.figure())));
        records.get(records.len().saturating_sub(1) / 2).copied()
    }

    /// Keeps series, stages, notes and command lines of the typical run of each contestant alone,
    /// and of these the points of chunks and blocks, which may be many thousands, of the baseline
    /// and of peers alone: of the others nobody looks at more than their facts.
    pub fn thin_out(&mut self) {
        let figure = self.figure().to_owned();
        let mut keep = vec![];
        for contestant in 0..self.contestants.len() {
            let typical = self.typical(contestant).map(|record| figure_of(record, &figure));
            let is_it = |run: &Run| {
                let value = figure_of(&run.record, &figure);
                run.contestant == contestant && run.block > 0 && Some(value) == typical
            };
            keep.extend(self.runs.iter().position(is_it));
        }
        for (at, run) in self.runs.iter_mut().enumerate() {
            let is_peer =
                self.contestants.get(run.contestant).is_some_and(|one| one.peer.is_some());
            let record = &mut run.record;
            if run.contestant != BASELINE && !is_peer {
                record.series.retain(|series| ![CHUNK, SLICE, BLOCK].contains(&&*series.row));
            }
            // the sitting tells it
            record.machine = Machine::default();
            if !keep.contains(&at) {
                record.series.clear();
                record.stages.clear();
                record.threads.clear();
                record.notes.clear();
                record.command.clear();
                record.data.paths.clear();
            }
        }
    }

    /// By which share the baseline may differ from itself in this fact.
    pub fn noise(&self, figure: &str) -> f64 {
        let pairs = Pairs::of(&self.runs, AGAIN, BASELINE, figure);
        pairs.estimate().map_or(f64::INFINITY, |estimate| estimate.reach())
    }

    /// A contestant's fact beside another's; none when one of them does not tell it.
    pub fn finding(&self, contestant: usize, other: usize, figure: &str) -> Option<Finding> {
        let estimate = Pairs::of(&self.runs, contestant, other, figure).estimate()?;
        Some(Finding { estimate, noise: self.noise(figure) })
    }

    /// Those who ran: ourselves, which is none, and the peers.
    pub fn programs(&self) -> BTreeSet<Option<&str>> {
        self.contestants.iter().map(|one| one.peer.as_deref()).collect()
    }

    /// How a fact of a program grows with the setting of a sweep; none of other contests.
    pub fn growth(&self, program: Option<&str>, figure: &str) -> Option<Growth> {
        Growth::of(&self.points(program, figure))
    }

    /// The values of the setting of a sweep, ascending, and the median fact of a program at each;
    /// nothing of other contests.
    pub fn points(&self, program: Option<&str>, figure: &str) -> Vec<(f64, f64)> {
        let Some(setting) = self.shape.strip_prefix("sweep ") else { return vec![] };
        let value = |at: usize| {
            let own = self.contestants[at].settings.get(setting);
            own.or_else(|| self.settings.get(setting))?.parse::<f64>().ok()
        };
        let is_its = |at: &usize| self.contestants[*at].peer.as_deref() == program;
        let all = (0..self.contestants.len()).filter(|at| *at != AGAIN && is_its(at));
        let mut points: Vec<(f64, f64)> =
            all.filter_map(|at| Some((value(at)?, self.median(at, figure)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// How many runs others disturbed, of how many.
    pub fn disturbed(&self) -> (usize, usize) {
        (self.runs.iter().filter(|run| run.disturbed).count(), self.runs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::record::{Program, WALL_S};

    fn contest(times: &[(usize, u32, f64, bool)]) -> Contest {
        let run = |(contestant, block, wall_s, disturbed): &(usize, u32, f64, bool)| {
            let mut record = RunRecord::new(Program::default(), "x");
            record.took(*wall_s);
            Run { contestant: *contestant, block: *block, disturbed: *disturbed, record }
        };
        Contest {
            definition: "headers".into(),
            shape: "sweep headers".into(),
            settings: [("headers".to_owned(), "1000".to_owned())].into(),
            compare: vec![WALL_S.into()],
            contestants: vec![Contestant::default(); 3],
            runs: times.iter().map(run).collect(),
            ..Contest::default()
        }
    }

    #[test]
    fn warm_up_and_disturbed_runs_do_not_count_where_there_are_others() {
        let mut runs = vec![(0, 0, 9.0, false), (0, 2, 50.0, true), (1, 1, 7.0, true)];
        runs.extend([1.0, 3.0, 1.0, 3.0, 1.0, 3.0].map(|wall_s| (0, 1, wall_s, false)));
        let all = contest(&runs);
        assert_eq!(all.median(0, WALL_S), Some(2.0));
        assert_eq!(all.typical(0).unwrap().wall_s(), 1.0);
        assert_eq!(all.median(1, WALL_S), Some(7.0), "it has no other");
        assert_eq!(all.median(0, "index_s"), None);
        assert_eq!(all.disturbed(), (2, 9));
        let few = contest(&runs[..8]);
        assert_eq!(few.median(0, WALL_S), Some(2.0), "five calm ones are too few: all six count");
    }

    #[test]
    fn the_typical_run_alone_keeps_everything() {
        let mut contest = contest(&[(0, 0, 1.0, false), (0, 1, 1.0, false), (0, 1, 3.0, false)]);
        let runs = contest.runs.iter_mut();
        runs.for_each(|run| run.record.notes.push("note".into()));
        contest.thin_out();
        let notes: Vec<usize> = contest.runs.iter().map(|run| run.record.notes.len()).collect();
        assert_eq!(notes, [0, 1, 0], "the run that warms up is never typical");
        assert_eq!(contest.median(0, WALL_S), Some(2.0));
    }

    #[test]
    fn verdicts_need_pairs_and_more_than_noise() {
        let mut times = vec![];
        for block in 1..=4 {
            for wobble in [0.0, 0.001] {
                let drift = f64::from(block) * 0.001 + wobble;
                times.extend([(0, block, 1.0 + drift, false), (1, block, 1.004 + drift, false)]);
                times.push((2, block, 1.3 + drift, false));
            }
        }
        let all = contest(&times);
        let finding = all.finding(2, BASELINE, WALL_S).unwrap();
        assert_eq!(finding.verdict(), Verdict::More);
        assert!(finding.noise > 0.003 && finding.noise < 0.01, "{finding:?}");
        assert_eq!(all.finding(0, 2, WALL_S).unwrap().verdict(), Verdict::Less);
        assert_eq!(all.finding(1, BASELINE, WALL_S).unwrap().verdict(), Verdict::Same);
        let few = contest(&times[..6]);
        assert_eq!(few.finding(2, BASELINE, WALL_S).unwrap().verdict(), Verdict::Unknown);
        assert_eq!(few.finding(2, BASELINE, "index_s"), None);
    }

    #[test]
    fn a_sweep_grows_along_its_setting() {
        let runs = [(0, 1.0), (1, 1.0), (2, 4.0), (3, 2.0), (4, 200.0)];
        let mut sweep = contest(&runs.map(|(at, wall_s)| (at, 1, wall_s, false)));
        sweep.contestants.resize(5, Contestant::default());
        sweep.contestants[2].settings = [("headers".to_owned(), "100000".to_owned())].into();
        sweep.contestants[4].settings = sweep.contestants[2].settings.clone();
        sweep.contestants[3..].iter_mut().for_each(|one| one.peer = Some("geth".into()));
        assert_eq!(sweep.points(None, WALL_S), [(1000.0, 1.0), (100_000.0, 4.0)]);
        let growth = sweep.growth(None, WALL_S).unwrap();
        assert!((growth.exponent - 4f64.ln() / 100f64.ln()).abs() < 1e-9);
        let of_geth = sweep.growth(Some("geth"), WALL_S).unwrap();
        assert!((of_geth.exponent - 1.0).abs() < 1e-9, "{of_geth:?}");
        assert_eq!(sweep.programs().into_iter().collect::<Vec<_>>(), [None, Some("geth")]);
        sweep.shape = "peers".into();
        assert_eq!(sweep.growth(None, WALL_S), None);
        assert_eq!(sweep.name(), "headers / peers");
    }
}
