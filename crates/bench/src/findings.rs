//! The results of a comparison: medians of facts, ratios with intervals, and verdicts.

use crate::by_block::ByBlock;
use crate::comparison::{AGAIN, BASELINE, Pairs, Run, figure_of};
use crate::definition::{Reference, Settings};
use crate::experiment::Variant;
use crate::statistics::{Estimate, Growth, LEAST_PAIRS, median};
use blockmill_pipeline::machine::Machine;
use blockmill_pipeline::record::{BLOCK, CHUNK, RunRecord, SLICE};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything about one comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name of the definition.
    pub definition: String,
    /// What is measured, for people.
    pub title: String,
    /// Why, in a sentence or two.
    pub about: String,
    /// `alone`, `ladder`, `ablation`, `sweep NAME`, `peers` or `revisions`.
    pub experiment: String,
    /// The case of a definition that has several; empty otherwise.
    pub case: String,
    /// The settings of the workload.
    pub settings: Settings,
    /// The facts that are compared, the one that leads first.
    pub compare: Vec<String>,
    /// The variants: the baseline, its copy, and the others.
    pub variants: Vec<Variant>,
    /// All runs, in the order of time.
    pub runs: Vec<Run>,
    /// The variants compared block by block, if their runs have times of blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_block: Vec<ByBlock>,
    /// Peers that could not run, and why.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The command line that repeats it, one entry for each argument.
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

/// Two variants and a fact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// How many times as much the first one's fact is.
    pub estimate: Estimate,
    /// By which share the baseline differs from itself.
    pub noise: f64,
}

impl Finding {
    /// The verdict: the difference if it exceeds the noise floor.
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

impl Comparison {
    /// What all runs are called together.
    pub fn name(&self) -> String {
        let words = [self.definition.as_str(), self.experiment.as_str(), self.case.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" / ")
    }

    /// The fact that leads.
    pub fn figure(&self) -> &str {
        self.compare.first().map_or("", String::as_str)
    }

    /// The records of a variant without warm-up runs: the undisturbed ones if they are enough for
    /// an interval, otherwise all.
    pub fn records(&self, variant: usize) -> Vec<&RunRecord> {
        let all = || self.runs.iter().filter(move |run| run.variant == variant && run.block > 0);
        let calm: Vec<_> = all().filter(|run| !run.disturbed).map(|run| &run.record).collect();
        if calm.len() < LEAST_PAIRS { all().map(|run| &run.record).collect() } else { calm }
    }

    /// The median of a variant's fact; `None` if its records lack the fact.
    pub fn median(&self, variant: usize, figure: &str) -> Option<f64> {
        let values: Vec<f64> =
            self.records(variant).iter().map(|record| figure_of(record, figure)).collect();
        median(&values).filter(|median| *median > 0.0)
    }

    /// The run of a variant whose leading fact is the median.
    pub fn typical(&self, variant: usize) -> Option<&RunRecord> {
        let mut records = self.records(variant);
        records.sort_by(|a, b| figure_of(a, self.figure()).total_cmp(&figure_of(b, self.figure())));
        records.get(records.len().saturating_sub(1) / 2).copied()
    }

    /// Keeps series, stages, notes and command lines of the typical run of each variant alone,
    /// and of these the points of chunks and blocks, which may be many thousands, of the baseline
    /// and of peers alone; of other variants only facts are shown.
    pub fn thin_out(&mut self) {
        let figure = self.figure().to_owned();
        let mut keep = vec![];
        for variant in 0..self.variants.len() {
            let typical = self.typical(variant).map(|record| figure_of(record, &figure));
            let is_it = |run: &Run| {
                let value = figure_of(&run.record, &figure);
                run.variant == variant && run.block > 0 && Some(value) == typical
            };
            keep.extend(self.runs.iter().position(is_it));
        }
        for (at, run) in self.runs.iter_mut().enumerate() {
            let is_peer = self.variants.get(run.variant).is_some_and(|one| one.peer.is_some());
            let record = &mut run.record;
            if run.variant != BASELINE && !is_peer {
                record.series.retain(|series| ![CHUNK, SLICE, BLOCK].contains(&&*series.row));
            }
            // the session has it
            record.machine = Machine::default();
            if !keep.contains(&at) {
                record.series.clear();
                record.stages.clear();
                record.threads.clear();
                record.notes.clear();
                record.details.clear();
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

    /// Compares a fact of two variants; `None` if one of them lacks it.
    pub fn finding(&self, variant: usize, other: usize, figure: &str) -> Option<Finding> {
        let estimate = Pairs::of(&self.runs, variant, other, figure).estimate()?;
        Some(Finding { estimate, noise: self.noise(figure) })
    }

    /// The programs that ran: `None` for ours, and the peers.
    pub fn programs(&self) -> BTreeSet<Option<&str>> {
        self.variants.iter().map(|one| one.peer.as_deref()).collect()
    }

    /// How a fact of a program grows with the setting of a sweep; `None` in other experiments.
    pub fn growth(&self, program: Option<&str>, figure: &str) -> Option<Growth> {
        Growth::of(&self.points(program, figure))
    }

    /// The values of the setting of a sweep, ascending, and the median fact of a program at each;
    /// nothing of other comparisons.
    pub fn points(&self, program: Option<&str>, figure: &str) -> Vec<(f64, f64)> {
        let Some(setting) = self.experiment.strip_prefix("sweep ") else { return vec![] };
        let value = |at: usize| {
            let own = self.variants[at].settings.get(setting);
            own.or_else(|| self.settings.get(setting))?.parse::<f64>().ok()
        };
        let is_its = |at: &usize| self.variants[*at].peer.as_deref() == program;
        let all = (0..self.variants.len()).filter(|at| *at != AGAIN && is_its(at));
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

    fn comparison(times: &[(usize, u32, f64, bool)]) -> Comparison {
        let run = |(variant, block, wall_s, disturbed): &(usize, u32, f64, bool)| {
            let mut record = RunRecord::new(Program::default(), "x");
            record.took(*wall_s);
            Run { variant: *variant, block: *block, disturbed: *disturbed, record }
        };
        Comparison {
            definition: "headers".into(),
            experiment: "sweep headers".into(),
            settings: [("headers".to_owned(), "1000".to_owned())].into(),
            compare: vec![WALL_S.into()],
            variants: vec![Variant::default(); 3],
            runs: times.iter().map(run).collect(),
            ..Comparison::default()
        }
    }

    #[test]
    fn warm_up_and_disturbed_runs_do_not_count_where_there_are_others() {
        let mut runs = vec![(0, 0, 9.0, false), (0, 2, 50.0, true), (1, 1, 7.0, true)];
        runs.extend([1.0, 3.0, 1.0, 3.0, 1.0, 3.0].map(|wall_s| (0, 1, wall_s, false)));
        let all = comparison(&runs);
        assert_eq!(all.median(0, WALL_S), Some(2.0));
        assert_eq!(all.typical(0).unwrap().wall_s(), 1.0);
        assert_eq!(all.median(1, WALL_S), Some(7.0), "it has no other");
        assert_eq!(all.median(0, "index_s"), None);
        assert_eq!(all.disturbed(), (2, 9));
        let few = comparison(&runs[..8]);
        assert_eq!(few.median(0, WALL_S), Some(2.0), "five calm ones are too few: all six count");
    }

    #[test]
    fn the_typical_run_alone_keeps_everything() {
        let mut comparison =
            comparison(&[(0, 0, 1.0, false), (0, 1, 1.0, false), (0, 1, 3.0, false)]);
        let runs = comparison.runs.iter_mut();
        runs.for_each(|run| run.record.notes.push("note".into()));
        comparison.thin_out();
        let notes: Vec<usize> = comparison.runs.iter().map(|run| run.record.notes.len()).collect();
        assert_eq!(notes, [0, 1, 0], "the run that warms up is never typical");
        assert_eq!(comparison.median(0, WALL_S), Some(2.0));
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
        let all = comparison(&times);
        let finding = all.finding(2, BASELINE, WALL_S).unwrap();
        assert_eq!(finding.verdict(), Verdict::More);
        assert!(finding.noise > 0.003 && finding.noise < 0.01, "{finding:?}");
        assert_eq!(all.finding(0, 2, WALL_S).unwrap().verdict(), Verdict::Less);
        assert_eq!(all.finding(1, BASELINE, WALL_S).unwrap().verdict(), Verdict::Same);
        let few = comparison(&times[..6]);
        assert_eq!(few.finding(2, BASELINE, WALL_S).unwrap().verdict(), Verdict::Unknown);
        assert_eq!(few.finding(2, BASELINE, "index_s"), None);
    }

    #[test]
    fn a_sweep_grows_along_its_setting() {
        let runs = [(0, 1.0), (1, 1.0), (2, 4.0), (3, 2.0), (4, 200.0)];
        let mut sweep = comparison(&runs.map(|(at, wall_s)| (at, 1, wall_s, false)));
        sweep.variants.resize(5, Variant::default());
        sweep.variants[2].settings = [("headers".to_owned(), "100000".to_owned())].into();
        sweep.variants[4].settings = sweep.variants[2].settings.clone();
        sweep.variants[3..].iter_mut().for_each(|one| one.peer = Some("geth".into()));
        assert_eq!(sweep.points(None, WALL_S), [(1000.0, 1.0), (100_000.0, 4.0)]);
        let growth = sweep.growth(None, WALL_S).unwrap();
        assert!((growth.exponent - 4f64.ln() / 100f64.ln()).abs() < 1e-9);
        let of_geth = sweep.growth(Some("geth"), WALL_S).unwrap();
        assert!((of_geth.exponent - 1.0).abs() < 1e-9, "{of_geth:?}");
        assert_eq!(sweep.programs().into_iter().collect::<Vec<_>>(), [None, Some("geth")]);
        sweep.experiment = "peers".into();
        assert_eq!(sweep.growth(None, WALL_S), None);
        assert_eq!(sweep.name(), "headers / peers");
    }
}
