//! One comparison of a session: prepares its data and programs, and runs it.

use super::Plan;
use super::programs::Programs;
use crate::by_block;
use crate::comparison::{BASELINE, Rules, compare, rough};
use crate::definition::{Definition, Settings};
use crate::experiment::{Experiment, Variant, kept, only, variants};
use crate::findings::Comparison;
use crate::progress;
use crate::runner::CaseRunner;
use crate::workloads::Workload;
use anyhow::Result;
use blockmill_pipeline::live::SECONDS;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::format::counted;
use std::time::{Duration, Instant};

/// One case of a definition in one experiment.
pub struct Case<'a> {
    pub plan: &'a Plan,
    pub definition: &'a Definition,
    pub workload: &'static dyn Workload,
    pub experiment: &'a Experiment,
    pub case: &'a str,
    pub settings: &'a Settings,
    pub budget: Duration,
}

impl Case<'_> {
    /// Runs the comparison.
    ///
    /// # Errors
    /// Returns an error if a peer is not in `peers.toml`, a revision does not build, a run fails,
    /// or two runs have different answers.
    pub fn compare(&self, built: &mut Programs, print: &mut dyn FnMut(&str)) -> Result<Comparison> {
        let Self { plan, definition, workload, .. } = *self;
        let options = workload.options(self.settings)?;
        let all = variants(definition, self.experiment, &options)?;
        let mut all = only(all, &plan.only)?;
        let peers_toml = plan.benchmarks.join("peers.toml");
        let left_out = built.peers(&peers_toml, &mut all, print)?;
        built.of_revisions(plan, &all, print)?;
        let mut comparison = Comparison {
            definition: definition.name.clone(),
            title: definition.title.clone(),
            about: definition.about_case(self.experiment, self.settings),
            experiment: self.experiment.to_string(),
            case: self.case.to_owned(),
            settings: self.settings.clone(),
            compare: definition.compare.clone(),
            variants: all,
            runs: vec![],
            by_block: vec![],
            left_out,
            command: command(definition, self.experiment, &plan.flags),
            reference: definition.reference(),
        };
        print(&self.will_run(&comparison.variants));
        let settings = self.prepare(&comparison.variants, print)?;
        let labels: Vec<String> = comparison.variants.iter().map(|one| one.label.clone()).collect();
        let mut runner = CaseRunner {
            workload,
            variants: &comparison.variants,
            settings,
            steps: definition.steps.clone().into_iter().next(),
            programs: built.programs.clone(),
            peers: built.ready(),
            folder: plan.scratch.folder().to_owned(),
            runs: 0,
            passed: String::new(),
            start: Instant::now(),
            progress: print,
        };
        let budget = self.limit();
        let may_leave = !matches!(self.experiment, Experiment::Ladder);
        let rules = Rules { budget, may_leave, warm_up: definition.warm_up, ..plan.rules };
        let live = progress::live();
        match rules.runs(labels.len()) {
            Some(runs) => live.count("measure", "runs", runs as u64),
            None => live.count("measure", SECONDS, budget.as_secs_f64().round() as u64),
        }
        let works = works(&comparison.variants, self.experiment);
        let same = works.iter().all(|work| *work == BASELINE);
        let answer = if same { definition.answer.clone() } else { Settings::new() };
        comparison.runs =
            compare(&labels, definition.figure(), &answer, &works, &rules, &mut runner)?;
        without_idle(&mut comparison);
        // values of a sweep have other blocks, or other sizes of them
        if !matches!(self.experiment, Experiment::Sweep { .. }) {
            comparison.by_block = by_block::compare(&comparison.runs, comparison.variants.len());
        }
        comparison.thin_out();
        let scratch = plan.scratch.folder().display().to_string();
        comparison.runs.iter_mut().for_each(|run| move_to(&mut run.record, &scratch, SCRATCH));
        Ok(comparison)
    }
}

impl Case<'_> {
    /// Prepares the data of all variants. Returns the settings of each.
    fn prepare(&self, all: &[Variant], print: &mut dyn FnMut(&str)) -> Result<Vec<Settings>> {
        let data = self.plan.scratch.folder().join("data");
        let mut settings = vec![];
        for one in all {
            let mut own = self.settings.clone();
            own.extend(one.settings.clone());
            self.workload.prepare(&mut own, &data, print)?;
            settings.push(own);
        }
        Ok(settings)
    }

    /// How long the runs may take: without end where their number is given.
    fn limit(&self) -> Duration {
        if self.plan.rules.budget == Duration::MAX { Duration::MAX } else { self.budget }
    }

    /// What is about to run, in a line.
    fn will_run(&self, all: &[Variant]) -> String {
        const NAMED: usize = 6;
        let Self { definition, experiment, case, .. } = self;
        let name = [definition.name.as_str(), &experiment.to_string(), case];
        let name = name.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" / ");
        let labels = all.iter().take(NAMED).map(|one| one.label.as_str());
        let more = match all.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let time = match self.limit() {
            Duration::MAX => counted(self.plan.rules.most_pairs as u64, "pair"),
            limit => format!("up to {} after the preparation", rough(limit.as_secs_f64())),
        };
        let labels = labels.collect::<Vec<_>>().join(", ");
        format!("{name}: {} ({labels}{more}), {time}", counted(all.len() as u64, "variant"))
    }
}

/// Takes out the variants for which there was no time, and says so.
fn without_idle(comparison: &mut Comparison) {
    let ran = |at: usize| comparison.runs.iter().any(|run| run.variant == at && run.block > 0);
    let is_base = |at: usize| {
        let others = comparison.variants.iter().enumerate();
        others.clone().any(|(other, one)| other != at && one.against == at && ran(other))
    };
    let (all, places) = kept(&comparison.variants, |at| ran(at) || is_base(at));
    let gone = comparison.variants.iter().zip(&places).filter(|(_, place)| place.is_none());
    let gone: Vec<&str> = gone.map(|(one, _)| one.label.as_str()).collect();
    if gone.is_empty() {
        return;
    }
    comparison.left_out.push(format!("no time was left for {}", gone.join(", ")));
    comparison.variants = all;
    comparison.runs.retain_mut(|run| match places.get(run.variant).copied().flatten() {
        Some(place) => {
            run.variant = place;
            true
        }
        None => false,
    });
}

/// For each variant, the variant with whose answers its own must agree. In a sweep, a peer is held
/// to our variant of the same value; the values differ from each other.
fn works(all: &[Variant], experiment: &Experiment) -> Vec<usize> {
    let of_sweep = |(at, one): (usize, &Variant)| match one {
        Variant { peer: Some(_), against, .. } => *against,
        Variant { settings, .. } if settings.is_empty() => BASELINE,
        _ => at,
    };
    match experiment {
        Experiment::Sweep { .. } => all.iter().enumerate().map(of_sweep).collect(),
        _ => vec![BASELINE; all.len()],
    }
}

/// Replaces the scratch folder in records, because its path differs between machines.
const SCRATCH: &str = "SCRATCH";

/// Replaces the folder `from` by `to` in all texts of the record.
fn move_to(record: &mut RunRecord, from: &str, to: &str) {
    let texts = record.command.iter_mut().chain(&mut record.data.paths);
    texts.for_each(|text| *text = text.replace(from, to));
    record.settings.values_mut().for_each(|text| *text = text.replace(from, to));
    let files = record.result.shortfalls.iter_mut().filter_map(|one| one.file.as_mut());
    files.for_each(|file| *file = file.to_string_lossy().replace(from, to).into());
}

/// The command line that repeats a comparison.
fn command(definition: &Definition, experiment: &Experiment, flags: &[String]) -> Vec<String> {
    let mut words = vec!["blockmill".to_owned(), "bench".into(), definition.name.clone()];
    words.extend(experiment.flags());
    let set = |assignment: &String| ["--set".to_owned(), assignment.clone()];
    words.extend(definition.assignments.iter().flat_map(set));
    words.extend(flags.iter().cloned());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::record::Program;
    use blockmill_verdict::{Shortfall, ShortfallKind};

    #[test]
    fn no_text_of_a_record_names_the_scratch_folder() {
        let mut record = RunRecord::new(Program::default(), "x");
        record.command = vec!["/here/x/b".into()];
        record.data.paths = vec!["/here/x/data/blk00000.dat".into()];
        record.settings.insert("data".into(), "/here/x/data,/here/x/more".into());
        let lacks = Shortfall::new(ShortfallKind::MissingBlocks, "two blocks");
        record.result.shortfalls = vec![lacks.at("/here/x/data/blk00000.dat", 0)];
        move_to(&mut record, "/here/x", SCRATCH);
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains("/here"), "{text}");
        assert_eq!(text.matches("SCRATCH/").count(), 5, "{text}");
    }
}
