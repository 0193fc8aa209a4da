//! The facts of a summary: range, tip, checks, rates.

use crate::block_files;
use crate::executed;
use crate::format;
use crate::runs;
use blockmill_pipeline::record::{BLOCKS_PER_S, BlockRef, PEAK_RSS_BYTES, RunRecord};

/// Names and values of the run's results and checks, as far as the run has them. The page shows
/// them too.
pub(crate) fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let (data, result) = (&record.data, &record.result);
    let mut facts = vec![];
    if data.blocks > 0 {
        facts.push(("range", format::block_range(data.first, data.last, data.blocks)));
    }
    if !result.tip_hash.is_empty() {
        facts.push(("tip", block(result.tip_number, &result.tip_hash)));
    }
    facts.extend(match block_files::are_of(record) {
        true => block_files::facts(record),
        false => proofs(record),
    });
    facts.push(match result.committed {
        Some(number) => ("stored", format!("up to block {}", format::count(number))),
        None => ("stored", "nothing".to_owned()),
    });
    facts.extend(figures(record));
    facts.extend(executed::facts(record));
    if !result.unchecked.is_empty() {
        facts.push((UNCHECKED, result.unchecked.join("; ")));
    }
    facts
}

/// What a person who asks for all reads besides the short answer.
pub(super) fn details(record: &RunRecord) -> Vec<(&'static str, String)> {
    facts(record).into_iter().filter(|(name, _)| !SHORT.contains(name)).collect()
}

/// Facts that the short answer has.
const SHORT: [&str; 4] = ["range", "tip", "stored", UNCHECKED];
const UNCHECKED: &str = "not checked";

/// What a run over numbered blocks proved, and what it assumed.
fn proofs(record: &RunRecord) -> Vec<(&'static str, String)> {
    let (mut facts, result) = (vec![], &record.result);
    if let Some(difficulty) = &result.total_difficulty {
        facts.push(("difficulty", format!("{difficulty} in total")));
    }
    if record.settings.contains_key("seal") {
        facts.push(("seals", seals(record)));
    }
    if let Some(anchor) = &result.anchor {
        facts.push(("anchor", format!("{}, believed without proof", named(anchor))));
    } else {
        facts.push(("anchor", "the genesis block of the network".to_owned()));
    }
    if !result.trusted.is_empty() {
        let list: Vec<String> = result.trusted.iter().map(named).collect();
        facts.push(("trusted", format!("{}: found as given", list.join(", "))));
    }
    if result.accumulators > 0 {
        let number = format::count(result.accumulators);
        facts.push(("accumulators", format!("{number} recomputed, all as published")));
    }
    facts
}

fn figures(record: &RunRecord) -> Vec<(&'static str, String)> {
    let wall_s = record.wall_s();
    if block_files::are_of(record) && (record.data.blocks == 0 || record.level == "headers") {
        return vec![("time", format!("{} in all", format::duration(wall_s)))];
    }
    let mut facts = vec![(
        "rate",
        format!(
            "{} blocks/s, {} in all",
            format::rate(record.facts.value(BLOCKS_PER_S)),
            format::duration(wall_s)
        ),
    )];
    if record.data.bytes > 0 {
        let speed = blockmill_pipeline::record::rate(record.data.bytes, wall_s) / 1e6;
        let size = format::bytes(record.data.bytes);
        facts.push(("archive", format!("{size}, {} MB/s", format::figure(speed))));
    }
    if let peak @ 1.. = record.facts.count_of(PEAK_RSS_BYTES) {
        facts.push(("peak memory", format::bytes(peak)));
    }
    facts
}

fn seals(record: &RunRecord) -> String {
    let checked = format::count(record.facts.count_of("seals"));
    match runs::seals(record) {
        "off" => "not checked".to_owned(),
        "all" => format!("all checked ({checked})"),
        share => {
            let seed = record.settings.get("seal-seed").map_or("", String::as_str);
            format!("{share} checked ({checked}), seed {seed}")
        }
    }
}

fn named(block_ref: &BlockRef) -> String {
    block(block_ref.number, &block_ref.hash)
}

fn block(number: u64, hash: &str) -> String {
    format!("block {} {hash}", format::count(number))
}
