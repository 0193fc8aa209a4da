//! What a store of coins holds, ours or Bitcoin Core's, for a person or as JSON.

use crate::answer::Answer;
use crate::library::Contents;
use anyhow::{Context, Result};
use blockmill_bitcoin::coins::Statistics;
use blockmill_bitcoin::import::Tip;
use blockmill_bitcoin::inspect::{core_state, is_store, stored};
use blockmill_bitcoin::sources::{SourceState, Sources};
use blockmill_platform::files::FileKind;
use blockmill_verdict::{Reversed, Shortfall, ShortfallKind, counted, grouped};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Inspects the store of a Bitcoin import.
pub fn run(folder: &Path, json: bool) -> Result<Answer> {
    let in_store = || format!("store {}", folder.display());
    let stored = is_store(folder)?.then(|| stored(folder)).transpose().with_context(in_store)?;
    let coins = stored.flatten().map(|stored| Coins {
        what: "store",
        folder,
        network: Some(stored.params.map_or("another network", |params| params.name)),
        tip: stored.tip,
        statistics: stored.statistics,
        undo_bytes: Some(stored.undo_bytes),
        disk_bytes: bytes_below(folder),
    });
    let sources = Sources::load(folder).with_context(in_store)?;
    let answer = sources.as_ref().map_or_else(Answer::ok, |sources| answer(folder, sources));
    if json {
        let name = folder.display().to_string();
        let nothing = || json!({ "store": name, "tip": null });
        let mut document = coins.as_ref().map_or_else(nothing, Coins::json);
        document["block_files"] = sources.as_ref().map_or(Value::Null, json_sources);
        return Ok(answer.with_contents(Contents::Store(document)));
    }
    match &coins {
        Some(coins) => coins.print(),
        None => println!("store {}: no coins were committed yet", folder.display()),
    }
    if let Some(sources) = &sources {
        print_sources(sources);
    }
    Ok(answer)
}

/// A store without its block files can be verified or converted only when they are there again.
fn answer(folder: &Path, sources: &Sources) -> Answer {
    let missing = |error: blockmill_bitcoin::Error| Answer {
        shortfalls: vec![Shortfall::new(ShortfallKind::MissingBlocks, error.to_string())],
        ..Answer::with_status(error.status())
    };
    sources.paths(folder).map_or_else(missing, |_| Answer::ok())
}

/// Files in each state: as they were, changed, gone, on a server.
fn count(sources: &Sources) -> [u64; 4] {
    [SourceState::Same, SourceState::Changed, SourceState::Gone, SourceState::Remote]
        .map(|state| sources.files.iter().filter(|file| file.state == state).count() as u64)
}

fn print_sources(sources: &Sources) {
    let network = sources.params.as_ref().map_or("another network", |params| params.name);
    let bytes: u64 = sources.files.iter().filter_map(|file| file.length).sum();
    let (files, records) = (sources.files.len() as u64, sources.records);
    let (files, records) = (counted(files, "block file"), counted(records, "block"));
    println!("  built from {files} of {network}: {records}, {} bytes", grouped(bytes));
    let [_, changed, gone, remote] = count(sources);
    if changed > 0 {
        println!("  CHANGED    {} written to since then", counted(changed, "file"));
    }
    if remote > 0 {
        println!("  remote     {} on a server, not inspected", counted(remote, "file"));
    }
    let mut gone_files = sources.files.iter().filter(|file| file.state == SourceState::Gone);
    if let Some(first) = gone_files.next() {
        println!("  GONE       {}, the first one {}", counted(gone, "file"), first.path.display());
    }
}

fn json_sources(sources: &Sources) -> Value {
    let [same, changed, gone, remote] = count(sources);
    let paths = sources.files.iter().map(|file| file.path.display().to_string());
    json!({
        "network": sources.params.as_ref().map(|params| params.name),
        "blocks": sources.records,
        "paths": paths.collect::<Vec<_>>(),
        "same": same,
        "changed": changed,
        "gone": gone,
        "remote": remote,
    })
}

/// Reads the coins of a datadir of Bitcoin Core.
pub fn of_datadir(folder: &Path) -> Result<Coins<'_>> {
    let state = core_state(folder).with_context(|| format!("datadir {}", folder.display()))?;
    let (tip, statistics) = (state.best, state.statistics);
    let disk_bytes = bytes_below(&folder.join("chainstate"));
    let (what, network, undo_bytes) = ("datadir", None, None);
    Ok(Coins { what, folder, network, tip, statistics, undo_bytes, disk_bytes })
}

/// Coins and the block to which they belong.
pub struct Coins<'a> {
    what: &'static str,
    folder: &'a Path,
    network: Option<&'static str>,
    tip: Tip,
    statistics: Statistics,
    undo_bytes: Option<u64>,
    disk_bytes: u64,
}

impl Coins<'_> {
    pub fn print(&self) {
        let Statistics { coins, transactions, total_amount, hash_serialized, .. } = self.statistics;
        let network = self.network.map_or(String::new(), |network| format!(", {network}"));
        println!("{} {}{network}", self.what, self.folder.display());
        let height = grouped(self.tip.height.into());
        println!("  tip        height {height}, {}", self.tip.hash);
        let (coins, transactions) = (grouped(coins), grouped(transactions));
        println!("  coins      {coins} of {transactions} transactions");
        println!("  amount     {} BTC", bitcoins(total_amount));
        println!("  hash       {} (hash_serialized_3)", Reversed(&hash_serialized));
        if let Some(bytes) = self.undo_bytes {
            println!("  undo data  {} bytes", grouped(bytes));
        }
        println!("  on disk    {} bytes", grouped(self.disk_bytes));
    }

    pub fn json(&self) -> Value {
        json!({
            self.what: self.folder.display().to_string(),
            "network": self.network,
            "height": self.tip.height,
            "tip": self.tip.hash.to_string(),
            "coins": self.statistics.coins,
            "transactions": self.statistics.transactions,
            "total_amount": bitcoins(self.statistics.total_amount).replace(',', ""),
            "bogosize": self.statistics.bogosize(),
            "hash_serialized_3": Reversed(&self.statistics.hash_serialized).to_string(),
            "undo_bytes": self.undo_bytes,
            "disk_bytes": self.disk_bytes,
        })
    }
}

/// Satoshis as bitcoins, exactly.
fn bitcoins(satoshis: u128) -> String {
    let one = u128::from(blockmill_bitcoin::params::COIN);
    let whole = u64::try_from(satoshis / one).unwrap_or(u64::MAX);
    format!("{}.{:08}", grouped(whole), satoshis % one)
}

/// Bytes of all files below a folder, without those that cannot be inspected.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if FileKind::of(data.file_type()) == FileKind::Folder => {
            bytes_below(&entry.path())
        }
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitcoins_have_eight_digits() {
        let shown = [0, 1, 123_456_789_012, 2_100_000_000_000_000].map(bitcoins);
        assert_eq!(shown, ["0.00000000", "0.00000001", "1,234.56789012", "21,000,000.00000000"]);
    }
}
