//! History of records: what several sessions measured of the same comparison, over the revisions of
//! the program.

use super::chart::history::{Point, chart, panel};
use super::chart::plain;
use crate::comparison::figure_of;
use crate::definition::Settings;
use crate::experiment::Variant;
use crate::findings::Comparison;
use crate::report::overview::{machine, workload};
use crate::session::Session;
use crate::statistics::quartiles;
use blockmill_pipeline::machine::Machine;
use blockmill_report::Chart;
use blockmill_report::format::{bytes, date, printable};
use blockmill_report::runs::distinct;

/// What a reader must know about such charts.
pub(crate) const CAUTION: &str = "\
These sessions were not measured in pairs: a difference between two of them includes the machine \
noise from one session to the other. To compare revisions in pairs, measure them in one session: \
blockmill bench NAME --history REVISIONS.";

/// A comparison that several sessions on one machine have, from different revisions.
pub(crate) struct History<'a> {
    /// In the order of time.
    sessions: Vec<Measured<'a>>,
    /// Settings that other histories of the same definition have with another value.
    settings: Vec<String>,
}

/// What a session measured of our default.
#[derive(Clone, Copy)]
struct Measured<'a> {
    session: &'a Session,
    comparison: &'a Comparison,
    /// The place of the default among the variants.
    ours: usize,
}

/// What must be equal for two sessions to be on one line: the definition with its case and its
/// settings, the build profile and the machine. The kernel may differ.
#[derive(PartialEq)]
struct Key<'a> {
    definition: &'a str,
    case: &'a str,
    settings: &'a Settings,
    profile: &'a str,
    cpu: &'a str,
    cores: u32,
    memory: String,
    features: &'a [String],
    disk: Option<(&'a str, &'a str, Option<bool>)>,
}

impl<'a> Measured<'a> {
    /// None if the program of the session did not run with its default options, as where other
    /// revisions were compared.
    fn of(session: &'a Session, comparison: &'a Comparison) -> Option<Self> {
        let is_ours = |one: &Variant| {
            one.peer.is_none()
                && one.revision.is_none()
                && one.with.is_empty()
                && one.settings.is_empty()
        };
        let ours = comparison.variants.iter().position(is_ours)?;
        Some(Self { session, comparison, ours })
    }

    fn key(&self) -> Key<'a> {
        let Self { session, comparison, .. } = *self;
        let Machine { cpu, cores, memory_bytes, features, disk, .. } = &session.machine;
        let disk = disk.as_ref();
        Key {
            definition: &comparison.definition,
            case: &comparison.case,
            settings: &comparison.settings,
            profile: &session.program.profile,
            cpu,
            cores: *cores,
            // a kernel reserves some megabytes more than another
            memory: bytes(*memory_bytes),
            features,
            disk: disk.map(|disk| (&*disk.filesystem, &*disk.model, disk.rotational)),
        }
    }

    fn revision(&self) -> &'a str {
        let program = &self.session.program;
        if program.revision.is_empty() { &program.version } else { &program.revision }
    }

    /// The revision and, below it, the day.
    fn label(&self) -> String {
        let day = date(self.session.started_unix).unwrap_or_default();
        format!("{}\n{day:.10}", printable(&format!("{:.10}", self.revision())))
    }

    /// The median of a fact, and the middle half of the runs.
    fn point(&self, at: usize, figure: &str) -> Option<Point> {
        let value = self.comparison.median(self.ours, figure)?;
        let records = self.comparison.records(self.ours);
        let values: Vec<f64> = records.iter().map(|record| figure_of(record, figure)).collect();
        Some(Point { at, value, interval: quartiles(&values) })
    }
}

/// The histories of `sessions`, in the order in which the sessions name them.
pub(crate) fn histories(sessions: &[Session]) -> Vec<History<'_>> {
    let mut all: Vec<Vec<Measured<'_>>> = vec![];
    for session in sessions {
        for one in session.comparisons.iter().filter_map(|one| Measured::of(session, one)) {
            let runs = |one: &Measured<'_>| one.comparison.records(one.ours).len();
            let Some(line) = all.iter_mut().find(|line| line[0].key() == one.key()) else {
                all.push(vec![one]);
                continue;
            };
            // a session that has it in several experiments: the one with the most runs
            match line.iter_mut().find(|other| std::ptr::eq(other.session, session)) {
                Some(other) if runs(other) < runs(&one) => *other = one,
                Some(_) => {}
                None => line.push(one),
            }
        }
    }
    all.retain(|line| distinct(line.iter().map(Measured::revision)).len() > 1);
    for line in &mut all {
        line.sort_by(|a, b| a.session.started_unix.total_cmp(&b.session.started_unix));
    }
    let settings: Vec<_> = all.iter().map(|line| differing(line[0], &all)).collect();
    let history = |(sessions, settings)| History { sessions, settings };
    all.into_iter().zip(settings).map(history).collect()
}

/// The settings of `one` that another line of the same definition and case has with another value.
fn differing(one: Measured<'_>, all: &[Vec<Measured<'_>>]) -> Vec<String> {
    let same = |other: &Comparison| {
        (&other.definition, &other.case) == (&one.comparison.definition, &one.comparison.case)
    };
    let others = all.iter().map(|line| line[0].comparison).filter(|other| same(other));
    let others: Vec<&Settings> = others.map(|other| &other.settings).collect();
    let differs = |(name, value): &(&String, &String)| {
        others.iter().any(|other| other.get(*name) != Some(*value))
    };
    let settings = one.comparison.settings.iter().filter(differs);
    settings.map(|(name, value)| format!("{name} {value}")).collect()
}

impl History<'_> {
    fn title(&self) -> String {
        let workload = workload(self.sessions[0].comparison);
        [&[workload], &self.settings[..]].concat().join(" · ")
    }

    /// The compared facts of the newest session over all sessions.
    fn chart(&self) -> Option<Chart> {
        let names: Vec<String> = self.sessions.iter().map(Measured::label).collect();
        let newest = self.sessions.last()?;
        let panel = |figure: &String| {
            let sessions = self.sessions.iter().enumerate();
            let points: Vec<Point> =
                sessions.filter_map(|(at, one)| one.point(at, figure)).collect();
            panel(figure, &points, None)
        };
        let panels = newest.comparison.compare.iter().filter_map(panel).collect();
        let subtitle = format!(
            "{} · medians of each session, bars hold the middle half of the runs · scales do not \
             begin at 0",
            machine(&Machine { kernel: String::new(), ..newest.session.machine.clone() })
        );
        chart(self.title(), subtitle, ("revision and date", &names), panels)
    }
}

/// The charts of all histories, each with a name that a file can have.
pub(crate) fn charts(sessions: &[Session]) -> Vec<(String, Chart)> {
    let named = |(at, history): (usize, History<'_>)| {
        let Comparison { definition, case, .. } = history.sessions[0].comparison;
        let name = plain(&format!("history-{} {definition} {case}", at + 1));
        Some((name, history.chart()?))
    };
    histories(sessions).into_iter().enumerate().filter_map(named).collect()
}

#[cfg(test)]
mod tests;
