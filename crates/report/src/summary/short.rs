//! What every user reads after a run: the chain and its end, what was checked and what was not, the
//! time.

use super::{View, WIDE};
use crate::block_files;
use crate::format;
use blockmill_pipeline::record::{BLOCKS_PER_S, MGAS_PER_S, RunRecord, Work};

/// The chain, its last block, its work, what was checked, and what is stored.
pub(super) fn facts(record: &RunRecord, view: &View<'_>) -> Vec<(&'static str, String)> {
    let (data, result) = (&record.data, &record.result);
    let mut facts = vec![];
    let chain = match (data.chain.as_str(), data.format.as_str()) {
        ("", format) => format.to_owned(),
        (chain, "") => chain.to_owned(),
        (chain, format) => format!("{chain} ({format})"),
    };
    if data.blocks > 0 {
        let (first, last) = (format::count(data.first), format::count(data.last));
        let of = if chain.is_empty() { "" } else { " of " };
        facts.push(("range", format!("{first} to {last}{of}{chain}")));
    } else if !chain.is_empty() {
        facts.push(("chain", chain));
    }
    if !result.tip_hash.is_empty() {
        facts.push(("tip", tip(record, view.width.is_none_or(|width| width >= WIDE))));
    }
    facts.extend(result.work.as_ref().and_then(work).map(|text| ("work", text)));
    if data.blocks > 0 && !result.checked.is_empty() {
        facts.push(("checked", result.checked.join(", ")));
    }
    facts.extend(match result.committed {
        Some(number) => Some(("stored", format!("up to block {}", format::count(number)))),
        None => view.stores.then(|| ("stored", "nothing".to_owned())),
    });
    facts
}

/// The last block with its date and its hash, which is `wide` or short.
fn tip(record: &RunRecord, wide: bool) -> String {
    let result = &record.result;
    let hash = if wide { result.tip_hash.clone() } else { format::short_hash(&result.tip_hash) };
    let number = format::count(result.tip_number);
    match result.tip_time.and_then(|time| format::date(time as f64)) {
        Some(date) => format!("{number}, of {date}, {hash}"),
        None => format!("{number}, {hash}"),
    }
}

/// The work of a Bitcoin chain, next to what the network is known to have; `None` if the record has
/// no numbers there.
fn work(work: &Work) -> Option<String> {
    let number = |digits: &str| u128::from_str_radix(digits.trim_start_matches('0'), 16).ok();
    let chain = number(&work.chain)? as f64;
    let bits = format!("2^{:.1} hashes", chain.log2());
    let Some(known) = work.known.as_deref().and_then(number) else { return Some(bits) };
    let share = chain / known as f64;
    let what = "what the network had when Bitcoin Core 31 was released";
    Some(match share {
        1.0.. => format!("{bits}, at least {what}"),
        0.0001.. => format!("{bits}, {:.2} % of {what}", share * 100.0),
        _ => format!("{bits}, less than 0.01 % of {what}"),
    })
}

/// What the level leaves out, then what it asks for and was not done.
pub(super) fn unchecked(record: &RunRecord) -> Vec<String> {
    let beyond = left_out(&record.level, "--level execution").filter(|_| record.data.blocks > 0);
    beyond.into_iter().chain(record.result.unchecked.iter().cloned()).collect()
}

/// What a run of this level does not check, with the `advice` how to have transactions executed.
/// `None` for a level that leaves out nothing.
#[must_use]
pub fn left_out(level: &str, advice: &str) -> Option<String> {
    match level {
        "headers" => Some("bodies and what they do".to_owned()),
        "bodies" => Some(format!("what transactions do ({advice})")),
        _ => None,
    }
}

/// How long a run took, and its speed; `None` where no time was measured.
#[must_use]
pub fn time(record: &RunRecord) -> Option<String> {
    let wall_s = record.wall_s();
    if wall_s <= 0.0 {
        return None;
    }
    let mut parts = vec![format::duration(wall_s)];
    let is_index = block_files::are_of(record) && record.level == "headers";
    if record.data.blocks > 0 && !is_index {
        parts.push(format!("{} blocks/s", format::rate(record.facts.value(BLOCKS_PER_S))));
    }
    if let speed @ 0.001.. = record.facts.value(MGAS_PER_S) {
        parts.push(format!("{} Mgas/s", format::rate(speed)));
    }
    Some(parts.join(", "))
}
