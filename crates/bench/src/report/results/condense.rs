//! Records of benches with only what the pages of results need, for the repository.

use super::select::select;
use crate::comparison::{AGAIN, CPU_S};
use crate::findings::Comparison;
use crate::report::comparison::operations;
use crate::session::{SCHEMA, Session};
use blockmill_pipeline::record::{
    CPU_SYS_S, CPU_USER_S, MGAS_PER_S, PEAK_RSS_BYTES, Program, RunRecord,
};
use serde_json::Value;

/// Most operations of a comparison of which pages have a table. Records of thousands are no part of
/// the repository.
pub(super) const MOST_OPERATIONS: usize = 50;

/// Fields that every record must have.
const REQUIRED: [&str; 3] = ["schema", "label", "facts"];

/// The sessions that pages show, each with a name for its file, as JSON. Comparisons that no page
/// shows are removed, runs have the compared facts alone, and only the typical run of a variant has
/// its answers.
#[must_use]
pub fn condensed(sessions: &[Session]) -> Vec<(String, Value)> {
    let shown: Vec<*const Comparison> =
        select(sessions).iter().map(|one| std::ptr::from_ref(one.comparison)).collect();
    let mut all = vec![];
    for session in sessions {
        let is_shown = |one: &&Comparison| shown.contains(&std::ptr::from_ref(*one));
        let comparisons: Vec<Comparison> =
            session.comparisons.iter().filter(is_shown).map(condense).collect();
        if !comparisons.is_empty() {
            let name = format!("{:.0}.json", session.started_unix);
            let session = Session {
                schema: SCHEMA,
                comparisons,
                left_out: vec![],
                failed: vec![],
                ..session.clone()
            };
            all.push((name, without_defaults(&session)));
        }
    }
    all
}

fn condense(comparison: &Comparison) -> Comparison {
    let typical: Vec<*const RunRecord> = (0..comparison.variants.len())
        .filter_map(|at| comparison.typical(at).map(std::ptr::from_ref))
        .collect();
    let named: Vec<String> = operations(comparison).into_iter().map(|one| one.name).collect();
    let named = if named.len() <= MOST_OPERATIONS { &named[..] } else { &[] };
    let mut condensed = comparison.clone();
    for (run, whole) in condensed.runs.iter_mut().zip(&comparison.runs) {
        let is_typical = typical.contains(&std::ptr::from_ref(&whole.record));
        run.record = reduced(&whole.record, &comparison.compare, is_typical);
        // neither a warm-up nor the baseline's repetition is in the table of operations
        if run.block > 0 && run.variant != AGAIN {
            for name in named {
                let speed = format!("{name}.{MGAS_PER_S}");
                if let Some(value) = whole.record.facts.get(&speed) {
                    run.record.facts.set(&speed, six_digits(value));
                }
            }
        }
    }
    condensed
}

/// The compared facts of a record; of a typical one its answers too.
fn reduced(record: &RunRecord, compare: &[String], is_typical: bool) -> RunRecord {
    let always = [CPU_USER_S, CPU_SYS_S, PEAK_RSS_BYTES];
    let is_needed = |name: &str| {
        always.contains(&name) || compare.iter().any(|one| one == name && one != CPU_S)
    };
    let mut reduced = RunRecord::new(Program::default(), "");
    for (name, value) in record.facts.iter().filter(|(name, _)| is_needed(name)) {
        reduced.facts.set(name, six_digits(value));
    }
    if is_typical {
        reduced.answer.clone_from(&record.answer);
        reduced.result.tip_number = record.result.tip_number;
        reduced.result.tip_hash.clone_from(&record.result.tip_hash);
    }
    reduced
}

/// The value with six significant digits, more than any page has.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The session as JSON, whose records lack the fields that have their default value.
fn without_defaults(session: &Session) -> Value {
    let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let empty = json(serde_json::to_value(RunRecord::new(Program::default(), "")));
    let mut whole = json(serde_json::to_value(session));
    let comparisons = whole.get_mut("comparisons").and_then(Value::as_array_mut);
    for comparison in comparisons.into_iter().flatten() {
        let runs = comparison.get_mut("runs").and_then(Value::as_array_mut);
        for run in runs.into_iter().flatten() {
            if let Some(record) = run.get_mut("record").and_then(Value::as_object_mut) {
                record.retain(|name, value| {
                    REQUIRED.contains(&name.as_str()) || empty.get(name) != Some(value)
                });
            }
        }
    }
    whole
}
