//! A session: comparisons of several definitions on one machine, one after the other, and the
//! document that holds them.

use crate::arena::Ring;
use crate::comparison::{BASELINE, Rules, hold};
use crate::definition::{Definition, Settings};
use crate::experiment::{Experiment, Variant, variants};
use crate::findings::Comparison;
use crate::peers::{self, Ready};
use crate::revisions::{self, Measurer};
use crate::scratch::Scratch;
use crate::workloads::{self, Workload};
use anyhow::{Context, Result};
use blockmill_pipeline::machine::{Disk, Machine};
use blockmill_pipeline::record::{
    Program, RecordError, RunRecord, read_json, unix_time, write_json,
};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The schema version that this program writes.
pub const SCHEMA: u32 = 2;
/// It also reads this one, in which some fields have other names.
const FIRST_SCHEMA: u32 = 1;
/// What a [`Session`] is called in messages.
const NAME: &str = "record of a bench";

/// Everything that was measured in one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Version of this layout; see [`SCHEMA`].
    pub schema: u32,
    /// The program that measured.
    pub program: Program,
    /// The command line, one entry for each argument.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// The machine.
    pub machine: Machine,
    /// The comparisons, in the order of time.
    #[serde(alias = "contests")]
    pub comparisons: Vec<Comparison>,
    /// What was asked for and not measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Comparisons that ended with an error, and with which: of these nothing else is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Session {
    /// Writes the document to `path`, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        // thousands of runs: in one line they take less than half the room
        write_json(serde_json::to_vec(self), NAME, path)
    }

    /// Reads the document in `path`.
    ///
    /// # Errors
    /// When it cannot be read, is none, or has another schema.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        match read_json(path, NAME, SCHEMA) {
            Err(RecordError::Schema { found: FIRST_SCHEMA, .. }) => {
                read_json(path, NAME, FIRST_SCHEMA)
            }
            other => other,
        }
    }
}

/// What to measure, and with what.
#[derive(Debug)]
pub struct Plan {
    /// What, and in which experiment.
    pub comparisons: Vec<(Definition, Experiment)>,
    /// What was asked for and cannot be measured, and why.
    pub left_out: Vec<String>,
    /// When a comparison ends; its budget is that of its definition unless `budget` says otherwise.
    pub rules: Rules,
    /// How long everything may take, preparations too. None begins when nothing is left.
    pub budget: Option<Duration>,
    /// Is time given to the first of them, as much as their definitions say, and not shared?
    pub in_turn: bool,
    /// The folder of `peers.toml`.
    pub benchmarks: PathBuf,
    /// Where data is kept and runs write.
    pub scratch: Scratch,
    /// This program.
    pub program: PathBuf,
    /// The repository of revisions.
    pub repository: PathBuf,
}

/// Holds all comparisons of `plan`. One in which a run fails or finds something else than the
/// others is told in the record, and the rest goes on.
///
/// # Errors
/// When a definition does not fit its workload.
pub fn sit(plan: &Plan, tell: &mut dyn FnMut(&str)) -> Result<Session> {
    let start = Instant::now();
    let mut machine = Machine::detect();
    machine.disk = Disk::holding(plan.scratch.folder());
    let mut session = Session {
        schema: SCHEMA,
        program: blockmill_cli::program::this(),
        command: blockmill_cli::program::command_line(),
        started_unix: unix_time(),
        machine,
        left_out: plan.left_out.clone(),
        ..Session::default()
    };
    let mut workshop = Workshop::default();
    let mut purse = Purse::of(plan, start);
    let mut untimely = BTreeMap::<&str, Vec<String>>::new();
    for (definition, experiment) in &plan.comparisons {
        let workload = workloads::by_name(&definition.measures)?;
        let cases = cases(definition, workload)?;
        let own_s = definition.seconds(experiment) / cases.len().max(1) as f64;
        for (at, (case, settings)) in cases.iter().enumerate() {
            let Some(budget) = purse.take(own_s) else {
                let some = if at > 0 { "the rest of " } else { "" };
                untimely.entry(&definition.name).or_default().push(format!("{some}{experiment}"));
                break;
            };
            let one = One { plan, definition, workload, experiment, case, settings, budget };
            match one.hold(&mut workshop, tell) {
                Ok(comparison) => session.comparisons.push(comparison),
                Err(error) => {
                    let error = format!("{}, {experiment}: {error:#}", definition.name);
                    tell(&format!("error: {error}"));
                    session.failed.push(error);
                }
            }
        }
    }
    for (name, experiments) in untimely {
        let why = format!("{name}: no time was left for {}", experiments.join(", "));
        tell(&why);
        session.left_out.push(why);
    }
    session.took_s = start.elapsed().as_secs_f64();
    Ok(session)
}

/// The cases of a definition that its workload has.
fn cases(
    definition: &Definition,
    workload: &'static dyn Workload,
) -> Result<Vec<(String, Settings)>> {
    let mut cases = vec![];
    for (name, settings) in definition.cases() {
        if workload.fits(&settings).with_context(|| definition.name.clone())? {
            cases.push((name, settings));
        }
    }
    Ok(cases)
}

/// The time that is left for comparisons.
struct Purse {
    start: Instant,
    all: Option<Duration>,
    in_turn: bool,
    /// What the comparisons that are still to come would take by their definitions, in seconds.
    to_come_s: f64,
}

impl Purse {
    fn of(plan: &Plan, start: Instant) -> Self {
        let own =
            |(definition, experiment): &(Definition, Experiment)| definition.seconds(experiment);
        let to_come_s = plan.comparisons.iter().map(own).sum();
        Self { start, all: plan.budget, in_turn: plan.in_turn, to_come_s }
    }

    /// The budget of the next comparison, which takes `own_s` seconds by its definition; none when
    /// no time is left, or, where time is not shared, too little.
    fn take(&mut self, own_s: f64) -> Option<Duration> {
        let share = (own_s / self.to_come_s.max(own_s)).min(1.0);
        self.to_come_s -= own_s;
        let Some(all) = self.all else { return Some(Duration::from_secs_f64(own_s)) };
        let left_s = all.checked_sub(self.start.elapsed())?.as_secs_f64();
        let seconds = match self.in_turn {
            true if left_s < own_s / 2.0 => return None,
            true => (left_s * share).max(own_s.min(left_s)),
            false => left_s * share,
        };
        Some(Duration::from_secs_f64(seconds))
    }
}

/// What was built, so that it is built once.
#[derive(Default)]
struct Workshop {
    peers: HashMap<String, Result<Ready, String>>,
    programs: HashMap<Option<String>, Measurer>,
}

impl Workshop {
    /// Builds the peers that take part and takes those away that cannot.
    fn peers(
        &mut self,
        peers_toml: &Path,
        all: &mut Vec<Variant>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let mut left_out = vec![];
        let names: Vec<String> = all.iter().filter_map(|one| one.peer.clone()).collect();
        for name in names {
            if !self.peers.contains_key(&name) {
                tell(&format!("preparing peer {name}"));
                let known = peers::load(peers_toml)?;
                let peer = known.iter().find(|peer| peer.name() == name);
                let peer =
                    peer.with_context(|| format!("{}: no peer {name}", peers_toml.display()))?;
                self.peers.insert(name.clone(), peer.prepare().map_err(|why| why.to_string()));
            }
            if let Some(Err(why)) = self.peers.get(&name) {
                tell(why);
                left_out.push(why.clone());
                all.retain(|one| one.peer.as_ref() != Some(&name));
            }
        }
        Ok(left_out)
    }

    fn programs(&mut self, plan: &Plan, all: &[Variant], tell: &mut dyn FnMut(&str)) -> Result<()> {
        self.programs.entry(None).or_insert_with(|| Measurer::of_today(plan.program.clone()));
        for revision in all.iter().filter_map(|one| one.revision.as_ref()) {
            if let Entry::Vacant(place) = self.programs.entry(Some(revision.clone())) {
                tell(&format!("building revision {revision}"));
                let scratch = plan.scratch.folder();
                place.insert(revisions::build(&plan.repository, revision, scratch)?);
            }
        }
        Ok(())
    }
}

/// One case in one experiment.
struct One<'a> {
    plan: &'a Plan,
    definition: &'a Definition,
    workload: &'static dyn Workload,
    experiment: &'a Experiment,
    case: &'a str,
    settings: &'a Settings,
    budget: Duration,
}

impl One<'_> {
    fn hold(&self, workshop: &mut Workshop, tell: &mut dyn FnMut(&str)) -> Result<Comparison> {
        let Self { plan, definition, workload, .. } = *self;
        let options = workload.options(self.settings)?;
        let mut all = variants(definition, self.experiment, &options)?;
        let peers_toml = plan.benchmarks.join("peers.toml");
        let left_out = workshop.peers(&peers_toml, &mut all, tell)?;
        workshop.programs(plan, &all, tell)?;
        let mut comparison = Comparison {
            definition: definition.name.clone(),
            title: definition.title.clone(),
            about: definition.about(),
            experiment: self.experiment.to_string(),
            case: self.case.to_owned(),
            settings: self.settings.clone(),
            compare: definition.compare.clone(),
            variants: all,
            runs: vec![],
            left_out,
            command: command(definition, self.experiment),
            reference: definition.reference(),
        };
        tell(&format!("{}:", comparison.name()));
        let data = plan.scratch.folder().join("data");
        let mut settings = vec![];
        for one in &comparison.variants {
            let mut own = self.settings.clone();
            own.extend(one.settings.clone());
            workload.prepare(&mut own, &data, tell)?;
            settings.push(own);
        }
        let labels: Vec<String> = comparison.variants.iter().map(|one| one.label.clone()).collect();
        let mut ring = Ring {
            workload,
            variants: &comparison.variants,
            settings,
            steps: definition.steps.clone().into_iter().next(),
            programs: workshop.programs.clone(),
            peers: workshop.ready(),
            folder: plan.scratch.folder().to_owned(),
            start: Instant::now(),
            tell,
        };
        let budget = if plan.rules.budget == Duration::MAX { Duration::MAX } else { self.budget };
        let may_leave = !matches!(self.experiment, Experiment::Ladder);
        let rules = Rules { budget, may_leave, warm_up: definition.warm_up, ..plan.rules };
        let works = works(&comparison.variants, self.experiment);
        let same = works.iter().all(|work| *work == BASELINE);
        let answer = if same { definition.answer.clone() } else { Settings::new() };
        comparison.runs = hold(&labels, definition.figure(), &answer, &works, &rules, &mut ring)?;
        comparison.thin_out();
        let scratch = plan.scratch.folder().display().to_string();
        comparison.runs.iter_mut().for_each(|run| move_to(&mut run.record, &scratch, SCRATCH));
        Ok(comparison)
    }
}

/// Whose answers each variant must find: of a sweep, those of ours of the same value.
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

/// What stands in records for the scratch folder, which is elsewhere on every machine.
const SCRATCH: &str = "SCRATCH";

/// Says `to` in the record wherever it names the folder `from`.
fn move_to(record: &mut RunRecord, from: &str, to: &str) {
    let texts = record.command.iter_mut().chain(&mut record.data.paths);
    texts.for_each(|text| *text = text.replace(from, to));
    record.settings.values_mut().for_each(|text| *text = text.replace(from, to));
    let files = record.result.shortfalls.iter_mut().filter_map(|one| one.file.as_mut());
    files.for_each(|file| *file = file.to_string_lossy().replace(from, to).into());
}

/// The command line that holds a comparison again.
fn command(definition: &Definition, experiment: &Experiment) -> Vec<String> {
    let mut words = vec!["blockmill".to_owned(), "bench".into(), definition.name.clone()];
    words.extend(experiment.flags());
    let set = |assignment: &String| ["--set".to_owned(), assignment.clone()];
    words.extend(definition.assignments.iter().flat_map(set));
    words
}

impl Workshop {
    fn ready(&self) -> HashMap<String, Ready> {
        let ready = |(name, peer): (&String, &Result<Ready, String>)| {
            Some((name.clone(), peer.as_ref().ok()?.clone()))
        };
        self.peers.iter().filter_map(ready).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn time_is_shared_or_given_in_turn() {
        // of comparisons that would take 100 and 300 s; `passed` have passed already
        let budgets = |all: Option<u64>, in_turn, passed| {
            let start = Instant::now().checked_sub(Duration::from_secs(passed)).unwrap();
            let all = all.map(Duration::from_secs);
            let mut purse = Purse { start, all, in_turn, to_come_s: 400.0 };
            [100.0, 300.0].map(|own_s| purse.take(own_s).map(|budget| budget.as_secs_f64().ceil()))
        };
        assert_eq!(budgets(None, false, 0), [Some(100.0), Some(300.0)]);
        assert_eq!(budgets(Some(80), false, 0), [Some(20.0), Some(80.0)]);
        assert_eq!(budgets(Some(800), false, 0), [Some(200.0), Some(800.0)]);
        assert_eq!(budgets(Some(80), false, 100), [None, None]);
        assert_eq!(budgets(Some(140), true, 0), [Some(100.0), None], "less than half of its own");
        assert_eq!(budgets(Some(200), true, 10), [Some(100.0), Some(190.0)]);
        assert_eq!(budgets(Some(800), true, 0), [Some(200.0), Some(800.0)], "more than all need");
    }
}
