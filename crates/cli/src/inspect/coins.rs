//! What a store of coins holds, ours or Bitcoin Core's, for a person or as JSON.

use crate::answer::Answer;
use anyhow::{Context, Result};
use bitcoin::Id;
use bitcoin::coins::Statistics;
use bitcoin::import::Tip;
use bitcoin::inspect::{core_state, stored};
use chain::grouped;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Looks at the store of a Bitcoin import.
pub fn run(folder: &Path, json: bool) -> Result<Answer> {
    let store = stored(folder).with_context(|| format!("store {}", folder.display()))?;
    let Some(stored) = store else {
        if json {
            let name = folder.display().to_string();
            return Answer::ok().with(json!({ "store": name, "tip": null }));
        }
        println!("{}: a store in which nothing was committed yet", folder.display());
        return Ok(Answer::ok());
    };
    let coins = Coins {
        what: "store",
        folder,
        network: Some(stored.params.map_or("another network", |params| params.name)),
        tip: stored.tip,
        statistics: stored.statistics,
        undo_bytes: Some(stored.undo_bytes),
        disk_bytes: bytes_below(folder),
    };
    if json {
        return Answer::ok().with(coins.json());
    }
    coins.print();
    Ok(Answer::ok())
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
        println!("  tip        height {height}, {}", Id(&self.tip.hash));
        let (coins, transactions) = (grouped(coins), grouped(transactions));
        println!("  coins      {coins} of {transactions} transactions");
        println!("  amount     {} BTC", bitcoins(total_amount));
        println!("  hash       {} (hash_serialized_3)", Id(&hash_serialized));
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
            "tip": Id(&self.tip.hash).to_string(),
            "coins": self.statistics.coins,
            "transactions": self.statistics.transactions,
            "total_amount": bitcoins(self.statistics.total_amount).replace(',', ""),
            "bogosize": self.statistics.bogosize(),
            "hash_serialized_3": Id(&self.statistics.hash_serialized).to_string(),
            "undo_bytes": self.undo_bytes,
            "disk_bytes": self.disk_bytes,
        })
    }
}

/// Satoshis as bitcoins, exactly.
fn bitcoins(satoshis: u128) -> String {
    let one = u128::from(bitcoin::params::COIN);
    let whole = u64::try_from(satoshis / one).unwrap_or(u64::MAX);
    format!("{}.{:08}", grouped(whole), satoshis % one)
}

/// Bytes of all files below a folder; those that cannot be looked at are left out.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
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
