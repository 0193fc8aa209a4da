//! Runs with the same label are repetitions of one measurement: their median and spread.

use pipeline::record::{RunRecord, VALIDATION, WRITE};

use crate::format;

/// The runs of one label.
pub(crate) struct Group<'a> {
    pub label: &'a str,
    /// Runs that ended without an error; only these count.
    pub runs: Vec<&'a RunRecord>,
    /// Runs that failed.
    pub failed: Vec<&'a RunRecord>,
}

/// Median and range of one figure over the runs of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub runs: usize,
}

impl Spread {
    /// Of these values; none when there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => (values[middle - 1] + values[middle]) / 2.0,
            _ => values[middle],
        };
        Some(Self { median, min, max, runs: values.len() })
    }
}

/// The labels in the order in which they first appear.
pub(crate) fn by_label(records: &[RunRecord]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for record in records {
        let at = groups.iter().position(|group| group.label == record.label);
        let at = at.unwrap_or_else(|| {
            groups.push(Group { label: &record.label, runs: Vec::new(), failed: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[at];
        let list = match record.result.error {
            None => &mut group.runs,
            Some(_) => &mut group.failed,
        };
        list.push(record);
    }
    groups
}

/// The run that stands for each label in charts, with the place of the label. Failed runs are drawn
/// only when there are no others: half a line beside whole ones would look like a fast program.
pub(crate) fn drawn<'a>(groups: &[Group<'a>]) -> Vec<(usize, &'a RunRecord)> {
    let all_failed = groups.iter().all(|group| group.runs.is_empty());
    let pick = |group: &Group<'a>| if all_failed { group.any() } else { group.typical() };
    groups.iter().enumerate().filter_map(|(place, group)| Some((place, pick(group)?))).collect()
}

/// What the ladder compares: time spent verifying and writing.
pub(crate) fn validate_and_write(record: &RunRecord) -> f64 {
    record.busy_s(VALIDATION) + record.busy_s(WRITE)
}

/// By which the typical one of several runs is chosen.
fn compared(record: &RunRecord) -> f64 {
    match record.phase(VALIDATION) {
        Some(_) => validate_and_write(record),
        None => record.totals.wall_s,
    }
}

impl<'a> Group<'a> {
    /// Median and range of `figure`; none when no run counts.
    pub fn spread(&self, figure: impl Fn(&RunRecord) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|record| figure(record)))
    }

    /// The run whose time is the median, the lower one of two: charts draw this one.
    pub fn typical(&self) -> Option<&'a RunRecord> {
        self.typical_by(compared)
    }

    /// The same for another time.
    pub fn typical_by(&self, time: impl Fn(&RunRecord) -> f64) -> Option<&'a RunRecord> {
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| time(a).total_cmp(&time(b)));
        runs.get(runs.len().saturating_sub(1) / 2).copied()
    }

    /// The typical run, or a failed one when there is no other.
    pub fn any(&self) -> Option<&'a RunRecord> {
        self.typical().or_else(|| self.failed.first().copied())
    }
}

/// What a reader must know before comparing the groups: failures, and differences of data, machine
/// or checks.
pub(crate) fn cautions(groups: &[Group<'_>]) -> Vec<String> {
    let mut found: Vec<String> = groups.iter().filter_map(failures).collect();
    let data = |r: &RunRecord| {
        let d = &r.data;
        format!("{} {} {} {}", d.chain, d.first, d.last, d.blocks)
    };
    type Key<'k> = &'k dyn Fn(&RunRecord) -> String;
    let kinds: [(&str, Key<'_>); 4] = [
        ("Not all runs had the same blocks", &data),
        ("Not all runs were on the same machine", &|r| {
            format!("{} {}", r.machine.cpu, r.machine.cores)
        }),
        ("Not all runs checked the same", &|r| format!("level {}, seals {}", r.level, seals(r))),
        ("The runs do not agree on the last block", &|r| r.result.tip_hash.clone()),
    ];
    for (what, key) in kinds {
        let mut values: Vec<(String, &str)> = Vec::new();
        for record in groups.iter().flat_map(|group| &group.runs) {
            let value = key(record);
            if !value.is_empty() && !values.iter().any(|(known, _)| *known == value) {
                values.push((value, &record.label));
            }
        }
        if values.len() > 1 {
            let list: Vec<String> =
                values.iter().map(|(value, label)| format!("{label}: {value}")).collect();
            found.push(format!("{what} ({}).", list.join("; ")));
        }
    }
    found
}

/// How many runs failed and why the first did; none when all ended well.
pub(crate) fn failures(group: &Group<'_>) -> Option<String> {
    let why = group.failed.first()?.result.error.as_deref()?;
    let all = group.runs.len() + group.failed.len();
    Some(format!(
        "{}: {} of {} runs failed, not counted ({why}).",
        group.label,
        group.failed.len(),
        format::count(all as u64)
    ))
}

/// How seals were checked, in a word.
pub(crate) fn seals(record: &RunRecord) -> &str {
    record.seal.as_ref().map_or("off", |seal| seal.mode.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn runs(times: &[f64]) -> Vec<RunRecord> {
        times
            .iter()
            .map(|time| {
                let mut record = sample::bare("x");
                record.totals.busy_s[3] = *time;
                record
            })
            .collect()
    }

    #[test]
    fn takes_the_middle_of_an_odd_and_the_mean_of_an_even_number() {
        let spread = |times: &[f64]| {
            let records = runs(times);
            by_label(&records)[0].spread(validate_and_write).unwrap()
        };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0, runs: 3 });
        assert_eq!(spread(&[4.0, 1.0]), Spread { median: 2.5, min: 1.0, max: 4.0, runs: 2 });
    }

    #[test]
    fn typical_run_is_a_real_one() {
        let records = runs(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(by_label(&records)[0].typical().unwrap().busy_s(WRITE), 2.0);
    }

    #[test]
    fn failed_runs_do_not_count_and_are_named() {
        let mut records = runs(&[1.0, 100.0]);
        records[1].result.error = Some("disk full".into());
        let groups = by_label(&records);
        assert_eq!(groups[0].spread(validate_and_write).unwrap().max, 1.0);
        let notes = cautions(&groups);
        assert_eq!(notes, ["x: 1 of 2 runs failed, not counted (disk full)."]);
        assert_eq!(drawn(&groups).len(), 1);
        records.remove(0);
        let groups = by_label(&records);
        assert!(groups[0].spread(validate_and_write).is_none());
        assert_eq!(drawn(&groups).len(), 1, "a run that failed is drawn when it is the only one");
    }

    #[test]
    fn warns_when_blocks_machines_checks_or_answers_differ() {
        let mut records = vec![sample::bare("a"), sample::bare("b")];
        assert_eq!(cautions(&by_label(&records)), [""; 0]);
        records[1].data.last += 1;
        records[1].machine.cores += 1;
        records[1].level = "bodies".into();
        records[1].result.tip_hash = "0x02".into();
        let notes = cautions(&by_label(&records));
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(notes[2].contains("b: level bodies"), "{notes:?}");
    }
}
