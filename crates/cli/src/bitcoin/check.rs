//! A store of Bitcoin: coins, undo data, block index.

use crate::check::{Checked, DamagedPart, Watch};
use anyhow::Result;
use blockmill_bitcoin::check::{self, Damage, Part};
use blockmill_verdict::grouped;
use std::path::Path;

/// Checks the store in `data`.
pub fn check<'a>(data: &Path, watch: impl Fn(u64) -> Watch<'a>) -> Result<Checked> {
    // coins are read twice: page by page, and in order
    let watch = watch(check::bytes_to_check(data));
    let found = check::check(data, &mut |bytes| watch.read(bytes))?;
    watch.finish();
    let mut checked = Checked { family: "bitcoin", data: data.into(), ..Checked::default() };
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
    checked.damage = found.damage.into_iter().map(part).collect();
    checked.damage.sort_by_key(|part| part.mends_itself);
    checked.repair = checked.damage.first().map(|part| part.repair.clone());
    Ok(checked)
}

fn part(damage: Damage) -> DamagedPart {
    let repair = match damage.part {
        Part::Coins => "import the block files again into a new folder",
        Part::Undo => {
            "import the block files again into a new folder; this one can be used as long as no \
             other branch becomes the best chain"
        }
        Part::Index => "the next import scans the block files again",
    };
    let (file, offset) = damage.location.unzip();
    let height = damage.height.map(u64::from);
    DamagedPart {
        file,
        offset,
        what: damage.what,
        first_block: height,
        last_block: height,
        repair: repair.into(),
        mends_itself: damage.part == Part::Index,
    }
}
