//! A store of Bitcoin: coins, undo data, block index.

use crate::check::{Checked, CorruptPart, Watch};
use anyhow::{Context, Result};
use blockmill_bitcoin::check::{self, Corruption, StorePart};
use blockmill_verdict::grouped;
use std::path::Path;

/// Checks the store in `data`, and repairs it on request. The second value is true if it was
/// repaired and nothing is corrupt any more.
pub fn check<'a>(
    data: &Path,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    // coins are read twice: page by page, and in order
    let watch = watch(check::bytes_to_check(data));
    let found = check::check(data, &mut |bytes| watch.read(bytes))?;
    let mut checked = Checked { family: Some("bitcoin"), data: data.into(), ..Checked::default() };
    checked.chain = found.network.map(str::to_owned);
    checked.tip = found.tip.map(|tip| tip.height.into());
    checked.first = found.tip.map(|_| 0);
    checked.stopped = found.stopped;
    checked.holds.push(format!("Bitcoin, {}", found.network.unwrap_or("unknown network")));
    if let Some(tip) = found.tip {
        let (coins, height) = (grouped(found.coins), grouped(tip.height.into()));
        checked.holds.push(format!("{coins} coins of height {height}"));
        checked.holds.push(format!("undo data of {} blocks", grouped(found.undo_blocks)));
    }
    if found.indexed > 0 {
        checked.holds.push(format!("block index of {} records", grouped(found.indexed)));
    }
    checked.corruption = found.corruption.iter().map(part).collect();
    checked.set_repair();
    if !repair || checked.corruption.is_empty() || checked.stopped {
        return Ok((checked, false));
    }
    check::repair(data, &found.corruption).context("--repair")?;
    let is_of = |part: StorePart| found.corruption.iter().any(|corruption| corruption.part == part);
    let gives_up_coins = is_of(StorePart::Coins) || is_of(StorePart::Undo);
    checked.went_back_to = gives_up_coins.then_some(0);
    let mut done = String::from(match gives_up_coins {
        true => {
            "done: coins and undo data were given up; import the block files again, which connects \
             all blocks"
        }
        false => "done: the block index was removed; the next import scans the block files again",
    });
    if !is_of(StorePart::Challenge) {
        checked.repair = Some(done);
        return Ok((checked, true));
    }
    if found.corruption.iter().all(|corruption| corruption.part == StorePart::Challenge) {
        return Ok((checked, false));
    }
    // what was repaired is not corrupt any more
    checked.corruption = found
        .corruption
        .iter()
        .filter(|corruption| corruption.part == StorePart::Challenge)
        .map(part)
        .collect();
    done.push_str("; ");
    done.push_str(CHALLENGE);
    checked.repair = Some(done);
    Ok((checked, false))
}

/// What repairs the challenge of a signet.
const CHALLENGE: &str = "import again with --chain signet:CHALLENGE: that writes it";

fn part(corruption: &Corruption) -> CorruptPart {
    let repair = match corruption.part {
        StorePart::Coins => {
            "`blockmill check DATA --repair` gives up coins and undo data, and importing the block \
             files again connects all blocks; or import them into a new folder"
        }
        StorePart::Undo => {
            "`blockmill check DATA --repair` gives up coins and undo data, and importing the block \
             files again connects all blocks; or use the store as long as no other branch becomes \
             the best chain"
        }
        StorePart::Index => {
            "`blockmill check DATA --repair` removes it, and the next import scans the block files \
             again"
        }
        StorePart::Challenge => CHALLENGE,
    };
    let (file, offset) = corruption.location.clone().unzip();
    let height = corruption.height.map(u64::from);
    CorruptPart {
        file,
        offset,
        what: corruption.what.clone(),
        first_block: height,
        last_block: height,
        repair: repair.into(),
        mends_itself: corruption.part == StorePart::Index,
    }
}
