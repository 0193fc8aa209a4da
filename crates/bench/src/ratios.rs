//! How many times faster blockmill is than a peer, round by round.
//!
//! The runs of one round stand next to each other in time, so their ratio holds even when the
//! machine's speed drifts from round to round.

use pipeline::record::{RunRecord, VALIDATION, WRITE};
use std::fmt::Write;

/// The label of our default setting.
pub const OURS: &str = "blockmill";

/// One line for each label that is of another program: the median ratio of its whole run, and of
/// its validation and write alone, to our whole run, with the smallest and the largest.
pub fn against_peers(records: &[RunRecord]) -> String {
    let mut text = String::new();
    for label in peers(records) {
        let whole = ratios(records, label, wall, wall);
        let import = |record: &RunRecord| record.busy_s(VALIDATION) + record.busy_s(WRITE);
        let alone = ratios(records, label, import, wall);
        // writing into a string cannot fail
        let _ = writeln!(text, "{OURS}'s whole run is faster than {label}'s by {whole},");
        let _ = writeln!(text, "  and than its validation and write alone by {alone}");
    }
    text
}

/// The same for each definition of `bench reindex`, its stages against ours.
pub fn reindex_against_peers(records: &[RunRecord]) -> String {
    let mut definitions: Vec<&str> = records.iter().map(definition).collect();
    definitions.dedup();
    let mut text = String::new();
    for name in definitions {
        let of_it = |record: &&RunRecord| definition(record) == name;
        let records: Vec<RunRecord> = records.iter().filter(of_it).cloned().collect();
        for label in peers(&records) {
            let ratios = |time: fn(&RunRecord) -> f64| ratios(&records, label, time, time);
            let index = ratios(|record| record.reindex.as_ref().map_or(0.0, |r| r.index_s));
            let _ = write!(text, "\n{name}: {OURS} is faster than {label} by {index} at the index");
            if records.iter().all(|record| record.level != "headers") {
                let connect = ratios(|record| record.reindex.as_ref().map_or(0.0, |r| r.connect_s));
                let _ = write!(text, ",\nby {connect} at connecting, by {} in all", ratios(wall));
            }
            text.push('\n');
        }
    }
    text
}

fn definition(record: &RunRecord) -> &str {
    record.reindex.as_ref().map_or("", |reindex| &reindex.definition)
}

fn wall(record: &RunRecord) -> f64 {
    record.totals.wall_s
}

/// The labels of other programs.
fn peers(records: &[RunRecord]) -> Vec<&str> {
    let mut labels: Vec<&str> = vec![];
    for record in records.iter().filter(|record| record.program.name != OURS) {
        if !labels.contains(&record.label.as_str()) {
            labels.push(&record.label);
        }
    }
    labels
}

/// `theirs` of each run of `label` over `ours` of our run in the same round: median, smallest,
/// largest.
fn ratios(
    records: &[RunRecord],
    label: &str,
    theirs: impl Fn(&RunRecord) -> f64,
    ours: impl Fn(&RunRecord) -> f64,
) -> String {
    let mut ratios: Vec<f64> = of(records, label)
        .zip(of(records, OURS))
        .map(|(peer, own)| theirs(peer) / ours(own).max(1e-9))
        .collect();
    ratios.sort_by(f64::total_cmp);
    match (ratios.first(), ratios.last()) {
        (Some(least), Some(most)) => {
            let median = (ratios[(ratios.len() - 1) / 2] + ratios[ratios.len() / 2]) / 2.0;
            format!("{median:.1} times ({least:.1}..{most:.1})")
        }
        _ => "an unknown factor (no rounds)".into(),
    }
}

/// The runs with this label, in the order of the rounds.
fn of<'a>(records: &'a [RunRecord], label: &'a str) -> impl Iterator<Item = &'a RunRecord> {
    records.iter().filter(move |record| record.label == label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::record::{Program, Reindex};

    fn record(program: &str, label: &str, wall_s: f64) -> RunRecord {
        let program = Program { name: program.into(), ..Program::default() };
        let mut record = RunRecord::new(program, label);
        record.totals.wall_s = wall_s;
        record.phases = vec![VALIDATION.into()];
        record.totals.busy_s = vec![wall_s / 2.0];
        record
    }

    #[test]
    fn runs_are_paired_round_by_round() {
        let records = [
            record("blockmill", "blockmill", 1.0),
            record("geth", "geth", 10.0),
            record("blockmill", "blockmill", 2.0),
            record("geth", "geth", 40.0),
            record("blockmill", "blockmill", 1.0),
            record("geth", "geth", 30.0),
            record("blockmill", "master", 9.0),
        ];
        let text = against_peers(&records);
        assert!(text.contains("geth's by 20.0 times (10.0..30.0),"), "{text}");
        assert!(text.contains("alone by 10.0 times (5.0..15.0)"), "{text}");
        assert!(!text.contains("master"));
    }

    #[test]
    fn a_reindex_is_compared_stage_by_stage_and_an_index_alone() {
        let run = |definition: &str, program: &str, level: &str, index_s: f64| {
            let mut record = record(program, program, 4.0 * index_s);
            record.level = level.into();
            let definition = definition.to_string();
            let connect_s = 2.0 * index_s * index_s;
            record.reindex = Some(Reindex { definition, index_s, connect_s, ..Reindex::default() });
            record
        };
        let records = [
            run("index", "blockmill", "headers", 1.0),
            run("index", "core", "execution", 9.0),
            run("connect", "blockmill", "execution", 1.0),
            run("connect", "core", "execution", 3.0),
        ];
        let text = reindex_against_peers(&records);
        let index = "index: blockmill is faster than core by 9.0 times (9.0..9.0) at the index\n";
        assert!(text.contains(index), "{text}");
        assert!(text.contains("connect: blockmill is faster than core by 3.0 times"), "{text}");
        assert!(text.contains("by 9.0 times (9.0..9.0) at connecting, by 3.0 times"), "{text}");
    }
}
