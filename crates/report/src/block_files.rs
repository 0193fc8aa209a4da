//! What a person reads after a run over Bitcoin block files: what the index found, what was
//! connected, and which coins are left.

use pipeline::record::{Reindex, RunRecord, rate};

use crate::format;

/// Names and values of what the run found and did, in the order of the work.
pub(crate) fn facts(record: &RunRecord, reindex: &Reindex) -> Vec<(&'static str, String)> {
    let mut facts = vec![("index", index(reindex)), ("order", order(reindex))];
    if record.level != "headers" {
        facts.push(("connected", connected(record, reindex)));
    }
    if record.level == "execution" {
        facts.push(("scripts", scripts(reindex)));
        facts.push(("coins", coins(reindex)));
    }
    facts
}

/// Did the headers come from an earlier run's index?
fn is_taken_over(reindex: &Reindex) -> bool {
    reindex.scan_s == 0.0 && reindex.index_bytes == 0
}

fn index(reindex: &Reindex) -> String {
    let found = format::counted(reindex.found, "block");
    let files = format::counted(reindex.files, "file");
    let time = format::duration(reindex.index_s);
    let speed = format::rate(rate(reindex.found, reindex.index_s));
    let how = if is_taken_over(reindex) { ", taken over from an earlier run" } else { "" };
    let memory = match reindex.tree_memory {
        0 => String::new(),
        bytes => format!(", {} of memory", format::bytes(bytes)),
    };
    format!("{found} in {files}, {time}, {speed} headers/s{memory}{how}")
}

fn order(reindex: &Reindex) -> String {
    let share = format::percent(rate(reindex.out_of_order, reindex.found as f64));
    let mut parts = vec![];
    if !is_taken_over(reindex) {
        parts.push(match reindex.out_of_order {
            0 => "no block before its parent".to_owned(),
            blocks => format!("{} had to wait for their parents ({share})", format::count(blocks)),
        });
    }
    parts.push(format!("{} in stale branches", format::count(reindex.stale)));
    if reindex.orphans > 0 {
        parts.push(format!("{} without a parent", format::count(reindex.orphans)));
    }
    parts.join(", ")
}

fn connected(record: &RunRecord, reindex: &Reindex) -> String {
    let blocks = format::counted(record.data.blocks, "block");
    let transactions = format::counted(reindex.transactions, "transaction");
    let inputs = format::counted(reindex.inputs, "input");
    let speed = format::rate(rate(reindex.inputs, reindex.connect_s));
    let time = format::duration(reindex.connect_s);
    let mut text = format!("{blocks}, {transactions}, {inputs}, {time}, {speed} inputs/s");
    if reindex.disconnected > 0 {
        let blocks = format::counted(reindex.disconnected, "block");
        text += &format!("; {blocks} disconnected before");
    }
    text
}

fn scripts(reindex: &Reindex) -> String {
    match (reindex.scripts, reindex.inputs) {
        (0, 0) => "none to run".to_owned(),
        (0, _) => "taken as valid, none run".to_owned(),
        (run, _) => {
            let (run, library) = (format::count(run), format::count(reindex.by_library));
            format!("{run} run, {library} of them by the script library")
        }
    }
}

fn coins(reindex: &Reindex) -> String {
    let coins = format::count(reindex.coins);
    let memory = format::bytes(reindex.coins_memory);
    let commits = format::counted(reindex.commits, "commit");
    let time = format::duration(reindex.commit_s);
    format!("{coins} left, {memory} of memory at most, {commits} in {time}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn values(record: &RunRecord) -> Vec<String> {
        let reindex = record.reindex.as_ref().unwrap();
        facts(record, reindex).into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
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
        let reindex = record.reindex.as_mut().unwrap();
        (reindex.scan_s, reindex.index_bytes, reindex.scripts) = (0.0, 0, 0);
        (reindex.orphans, reindex.disconnected) = (3, 2);
        let values = values(&record).join("\n");
        for expected in [
            "headers/s, taken over from an earlier run\n",
            "order: 1 in stale branches, 3 without a parent\n",
            "inputs/s; 2 blocks disconnected before\n",
            "scripts: taken as valid, none run\n",
        ] {
            assert!(values.contains(expected), "{expected:?} is not in\n{values}");
        }
    }
}
