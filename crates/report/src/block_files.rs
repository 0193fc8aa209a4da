//! What a person reads after a run over Bitcoin block files: what the index found, what was
//! connected, and which coins are left.

use blockmill_pipeline::record::{Facts, RunRecord, rate};

use crate::format;

/// Is it a run over block files? Only these have an index.
pub(crate) fn are_of(record: &RunRecord) -> bool {
    record.facts.get("found").is_some()
}

/// Names and values of what the run found and did, in the order of the work.
pub(crate) fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let found = &record.facts;
    let mut facts = vec![("index", index(found)), ("order", order(found))];
    if record.level != "headers" {
        facts.push(("connected", connected(record, found)));
    }
    if record.level == "execution" {
        facts.push(("scripts", scripts(found)));
        facts.push(("coins", coins(found)));
    }
    facts
}

/// Did the headers come from an earlier run's index?
fn is_reused(facts: &Facts) -> bool {
    facts.value("scan_s") == 0.0 && facts.count_of("index_bytes") == 0
}

fn index(facts: &Facts) -> String {
    let found = format::counted(facts.count_of("found"), "block");
    let files = format::counted(facts.count_of("files"), "file");
    let time = format::duration(facts.value("index_s"));
    let speed = format::rate(rate(facts.count_of("found"), facts.value("index_s")));
    let how = if is_reused(facts) { ", reused from an earlier run" } else { "" };
    let memory = match facts.count_of("tree_memory_bytes") {
        0 => String::new(),
        bytes => format!(", {} of memory", format::bytes(bytes)),
    };
    format!("{found} in {files}, {time}, {speed} headers/s{memory}{how}")
}

fn order(facts: &Facts) -> String {
    let share =
        format::percent(rate(facts.count_of("out_of_order"), facts.count_of("found") as f64));
    let mut parts = vec![];
    if !is_reused(facts) {
        parts.push(match facts.count_of("out_of_order") {
            0 => "no block before its parent".to_owned(),
            blocks => format!("{} had to wait for their parents ({share})", format::count(blocks)),
        });
    }
    parts.push(format!("{} in stale branches", format::count(facts.count_of("stale"))));
    if facts.count_of("orphans") > 0 {
        parts.push(format!("{} without a parent", format::count(facts.count_of("orphans"))));
    }
    parts.join(", ")
}

fn connected(record: &RunRecord, facts: &Facts) -> String {
    let blocks = format::counted(record.data.blocks, "block");
    let transactions = format::counted(facts.count_of("transactions"), "transaction");
    let inputs = format::counted(facts.count_of("inputs"), "input");
    let speed = format::rate(rate(facts.count_of("inputs"), facts.value("connect_s")));
    let time = format::duration(facts.value("connect_s"));
    let mut text = format!("{blocks}, {transactions}, {inputs}, {time}, {speed} inputs/s");
    if facts.count_of("disconnected") > 0 {
        let blocks = format::counted(facts.count_of("disconnected"), "block");
        text += &format!("; {blocks} disconnected before");
    }
    text
}

fn scripts(facts: &Facts) -> String {
    match (facts.count_of("scripts"), facts.count_of("inputs")) {
        (0, 0) => "none to run".to_owned(),
        (0, _) => "assumed valid, none run".to_owned(),
        (run, _) => {
            let (run, library) = (format::count(run), format::count(facts.count_of("by_library")));
            format!("{run} run, {library} of them by the script library")
        }
    }
}

fn coins(facts: &Facts) -> String {
    let coins = format::count(facts.count_of("coins"));
    let memory = format::bytes(facts.count_of("coins_memory_bytes"));
    let commits = format::counted(facts.count_of("commits"), "commit");
    let time = format::duration(facts.value("commit_s"));
    format!("{coins} left, {memory} of memory at most, {commits} in {time}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn values(record: &RunRecord) -> Vec<String> {
        facts(record).into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn says_what_was_found_connected_and_left() {
        let mut record = sample::reindexed("import");
        let expected = [
            "index: 4,523 blocks in 2 files, 10 ms, 452,300 headers/s",
            "order: 1,131 had to wait for their parents (25 %), 1 in stale branches",
            "connected: 4,521 blocks, 4,583 transactions, 5,000 inputs, 500 ms, 10,000 inputs/s",
            "scripts: 5,000 run, 12 of them by the script library",
            "coins: 3,900 left, 12.0 MB of memory at most, 1 commit in 20 ms",
        ];
        assert_eq!(values(&record), expected);
        record.level = "bodies".into();
        assert_eq!(values(&record), expected[..3]);
        record.level = "headers".into();
        assert_eq!(values(&record), expected[..2]);
    }

    #[test]
    fn says_what_was_not_done() {
        let mut record = sample::reindexed("import");
        for (name, count) in [("scan_s", 0), ("scripts", 0), ("orphans", 3), ("disconnected", 2)] {
            record.facts.count(name, count);
        }
        let values = values(&record).join("\n");
        for expected in [
            "headers/s, reused from an earlier run\n",
            "order: 1 in stale branches, 3 without a parent\n",
            "inputs/s; 2 blocks disconnected before\n",
            "scripts: assumed valid, none run\n",
        ] {
            assert!(values.contains(expected), "{expected:?} is not in\n{values}");
        }
    }
}
