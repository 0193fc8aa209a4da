//! Several runs: what each is called, which ones are drawn, and what a reader must know before
//! comparing them.

use crate::format;
use blockmill_pipeline::record::RunRecord;

/// What single runs do not say.
pub(crate) const ONE_RUN_EACH: &str = "One run of each does not say which is faster, because two \
                                       equal runs differ, too: for a verdict, use blockmill bench.";

/// What each run is called: its label, with a number where several have the same.
pub(crate) fn names(records: &[RunRecord]) -> Vec<String> {
    let same = |label: &str, all: &[RunRecord]| all.iter().filter(|r| r.label == label).count();
    let name = |(at, record): (usize, &RunRecord)| match same(&record.label, records) {
        0 | 1 => record.label.clone(),
        _ => format!("{} {}", record.label, same(&record.label, &records[..=at])),
    };
    records.iter().enumerate().map(name).collect()
}

/// Each of `all` once, in the order in which they come.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = vec![];
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// A run that is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawn<'a> {
    /// Its place among all runs; decides the colour.
    pub place: usize,
    pub name: String,
    pub record: &'a RunRecord,
}

/// The runs that charts show. Failed ones are drawn only when there are no others: half a line
/// next to complete ones would look like a fast program.
pub(crate) fn drawn(records: &[RunRecord]) -> Vec<Drawn<'_>> {
    let failed = |record: &RunRecord| record.result.error.is_some();
    let all_failed = records.iter().all(failed);
    let all = records.iter().zip(names(records)).enumerate();
    let all = all.map(|(place, (record, name))| Drawn { place, name, record });
    all.filter(|run| all_failed || !failed(run.record)).collect()
}

/// What a reader must know before comparing: failures, and differences of data, machine or checks.
pub(crate) fn cautions(records: &[RunRecord]) -> Vec<String> {
    let names = names(records);
    let failure = |(record, name): (&RunRecord, &String)| {
        let why = record.result.error.as_deref()?;
        Some(format!("{name} failed and does not count ({why})."))
    };
    let mut found: Vec<String> = records.iter().zip(&names).filter_map(failure).collect();
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
        let well = records.iter().zip(&names).filter(|(record, _)| record.result.error.is_none());
        for (record, name) in well {
            let value = key(record);
            if !value.is_empty() && !values.iter().any(|(known, _)| *known == value) {
                values.push((value, name));
            }
        }
        if values.len() > 1 {
            let list: Vec<String> =
                values.iter().map(|(value, name)| format!("{name}: {value}")).collect();
            found.push(format!("{what} ({}).", list.join("; ")));
        }
    }
    if drawn(records).len() > 1 {
        found.push(ONE_RUN_EACH.to_owned());
    }
    found
}

/// How seals were checked, in a word.
pub(crate) fn seals(record: &RunRecord) -> &str {
    record.settings.get("seal").map_or("off", String::as_str)
}

/// A command line as it can be given to a shell again.
pub fn shell(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    format::printable(&command.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn runs_of_one_label_are_numbered() {
        let records = [sample::bare("import"), sample::bare("geth"), sample::bare("import")];
        assert_eq!(names(&records), ["import 1", "geth", "import 2"]);
    }

    #[test]
    fn failed_runs_do_not_count_and_are_named() {
        let mut records = vec![sample::bare("x"), sample::bare("y")];
        records[1].result.error = Some("disk full".into());
        assert_eq!(cautions(&records), ["y failed and does not count (disk full)."]);
        assert_eq!(drawn(&records).len(), 1);
        records.remove(0);
        assert_eq!(drawn(&records).len(), 1, "a run that failed is drawn when it is the only one");
    }

    #[test]
    fn warns_when_blocks_machines_checks_or_answers_differ() {
        let mut records = vec![sample::bare("a"), sample::bare("b")];
        assert_eq!(cautions(&records).len(), 1, "the noise is not known");
        records[1].data.last += 1;
        records[1].machine.cores += 1;
        records[1].level = "bodies".into();
        records[1].result.tip_hash = "0x02".into();
        let notes = cautions(&records);
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert!(notes[2].contains("b: level bodies"), "{notes:?}");
    }

    #[test]
    fn commands_can_be_given_again() {
        let command = ["blockmill", "import", "my files", "it's", "--seal=1/100"];
        let text = shell(&command.map(String::from));
        assert_eq!(text, "blockmill import 'my files' 'it'\\''s' --seal=1/100");
    }
}
