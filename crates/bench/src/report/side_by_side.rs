//! Saved benches next to each other: what each of several sessions measured of the same variants.

use crate::findings::Comparison;
use crate::report::fact::{Unit, words};
use crate::report::overview::workload;
use crate::session::Session;
use crate::statistics::quartiles;
use crate::{comparison, comparison::figure_of};
use blockmill_report::format::{NONE, date, printable};
use blockmill_report::table::{Cell, Table};

/// How many sessions have a column.
const MOST: usize = 8;

/// The medians of all variants that at least two of the sessions measured with the same settings;
/// `None` if there are none. They have no ratio: the sessions were not measured in pairs.
pub(crate) fn table(sessions: &[Session]) -> Option<Table> {
    let sessions = &sessions[sessions.len().saturating_sub(MOST)..];
    let mut table = Table::new(&["comparison", "variant", "fact"]);
    table.left = vec![1, 2];
    table.heads.extend(sessions.iter().enumerate().map(|(at, session)| head(at, session)));
    let mut seen: Vec<(&Comparison, &str)> = vec![];
    for session in sessions {
        for one in &session.comparisons {
            for (at, variant) in one.variants.iter().enumerate() {
                let label = variant.label.as_str();
                let is_known =
                    seen.iter().any(|(other, known)| is_same(one, other) && *known == label);
                if at == comparison::AGAIN || is_known {
                    continue;
                }
                seen.push((one, label));
                table.rows.extend(rows(sessions, one, label));
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The number of a session, its revision and its day.
fn head(at: usize, session: &Session) -> String {
    let program = &session.program;
    let revision = if program.revision.is_empty() { &program.version } else { &program.revision };
    let day = date(session.started_unix).unwrap_or_default();
    printable(format!("{}: {revision:.10} {day:.10}", at + 1).trim_end())
}

fn is_same(one: &Comparison, other: &Comparison) -> bool {
    let key = |it: &Comparison| (it.definition.clone(), it.experiment.clone(), it.case.clone());
    key(one) == key(other) && one.settings == other.settings
}

/// A row for each compared fact of a variant; none if only one session has it.
fn rows(sessions: &[Session], one: &Comparison, label: &str) -> Vec<Vec<Cell>> {
    let measured = sessions.iter().map(|session| {
        let same = session.comparisons.iter().find(|other| is_same(one, other))?;
        Some((same, same.variants.iter().position(|variant| variant.label == label)?))
    });
    let measured: Vec<Option<(&Comparison, usize)>> = measured.collect();
    if measured.iter().flatten().count() < 2 {
        return vec![];
    }
    let name = format!("{} · {}", workload(one), one.experiment);
    let row = |figure: &String| {
        let first = [name.as_str().into(), label.into(), words(figure).into()];
        let cells = measured.iter().map(|found| {
            found.map_or(NONE.into(), |(comparison, at)| cell(comparison, at, figure))
        });
        first.into_iter().chain(cells).collect()
    };
    one.compare.iter().map(row).collect()
}

/// The median of a fact, and below it the middle half of the runs.
fn cell(comparison: &Comparison, at: usize, figure: &str) -> Cell {
    let Some(median) = comparison.median(at, figure) else { return NONE.into() };
    let show = |value: f64| Unit::of(figure).show(value);
    let values: Vec<f64> =
        comparison.records(at).iter().map(|record| figure_of(record, figure)).collect();
    let small = quartiles(&values).map(|(low, high)| format!("{} to {}", show(low), show(high)));
    Cell { small, ..Cell::from(show(median)).sorted(median) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn two_benches_have_their_medians_next_to_each_other_and_no_ratio() {
        let of = |revision: &str, time: f64| {
            let all = [("blockmill", time), ("geth", 9.0)];
            let comparisons = vec![sample::comparison("peers", &all)];
            let mut session = Session { comparisons, ..Session::default() };
            session.program.revision = revision.into();
            session
        };
        let mut sessions = vec![of("aaaa", 2.0), of("bbbb", 1.0)];
        let text = table(&sessions).unwrap().markdown();
        assert!(text.contains("| comparison | variant | fact | 1: aaaa | 2: bbbb |"), "{text}");
        assert!(text.contains("| blockmill | whole run | 2.00 s (2.00 s to 2.00 s) | 1.00 s ("));
        assert!(!text.contains("times"), "{text}");
        assert!(table(&sessions[..1]).is_none());
        sessions[1].comparisons[0].settings.insert("headers".into(), "7".into());
        assert!(table(&sessions).is_none(), "other data");
    }
}
