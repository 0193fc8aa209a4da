//! A store of Neo blocks: its bytes, then what they mean.

use super::network;
use crate::check::{Checked, DamagedPart, Watch};
use anyhow::Result;
use blockmill_neo::check;
use blockmill_neo::types::UInt256;
use blockmill_store::{ChainStore, Damage, Error};
use blockmill_verdict::{Finding, Level, grouped};
use std::path::Path;

/// What repairs a store of which something is gone.
const ANEW: &str = "import the dumps again into a new folder";
/// What repairs what follows from something else.
const ITSELF: &str = "the next import rebuilds it";

/// Checks the store in `data`.
pub fn check<'a>(data: &Path, threads: usize, watch: impl Fn(u64) -> Watch<'a>) -> Result<Checked> {
    let mut checked = Checked { family: "neo", data: data.into(), ..Checked::default() };
    let (store, mut damage) = match ChainStore::open_damaged(data) {
        Ok(opened) => opened,
        Err(error @ (Error::Damaged { .. } | Error::NoStore { .. })) => {
            checked.damage.push(part(&error, ANEW));
            checked.repair = Some(ANEW.into());
            return Ok(checked);
        }
        Err(error) => return Err(error.into()),
    };
    // the blocks are read twice: against their sums, and against the hashes
    let watch = watch(store.bytes_to_check(None).saturating_mul(2));
    damage.extend(store.check(None, threads, &|bytes| watch.read(bytes))?);
    let blocks = check::check(&store, &mut |bytes| watch.read(bytes))?;
    describe(&store, &mut checked);
    checked.stopped = blocks.stopped;
    // damaged bytes of the state are told by now
    let state = match damage.is_empty() && !blocks.stopped {
        true => check::check_state(data)?,
        false => None,
    };
    watch.finish();
    tell(&mut checked, &damage, &blocks.findings);
    if let Some((expected, found)) = state {
        match found {
            None => checked.holds.push(format!("contract storage with state root {expected}")),
            Some(found) => checked.damage.push(DamagedPart {
                what: format!("state root: expected {expected}, found {found}"),
                repair: ANEW.into(),
                ..DamagedPart::default()
            }),
        }
    }
    // what does not repair itself is what somebody has to know
    checked.damage.sort_by_key(|part| part.mends_itself);
    checked.repair = checked.damage.first().map(|part| part.repair.clone());
    Ok(checked)
}

fn describe(store: &ChainStore, checked: &mut Checked) {
    let Some(tip) = store.tip() else {
        checked.holds.push("Neo, no block yet".into());
        return;
    };
    let name = network::by_genesis(UInt256(tip.chain));
    let name = name.map_or("a chain of its own", |protocol| protocol.name);
    let first = store.first().unwrap_or(0);
    let level = Level::stored(tip.level).map_or("unknown", Level::name);
    checked.holds.push(format!("Neo, {name}, level {level}"));
    checked.holds.push(format!("heights {} to {}", grouped(first), grouped(tip.number)));
    if let Some(whole) = store.first_whole().filter(|whole| *whole > first) {
        checked.holds.push(format!("of blocks before {} headers only", grouped(whole)));
    }
    let parts = store.parts_besides();
    if !parts.is_empty() {
        checked.holds.push(format!("besides the blocks: {}", parts.join(", ")));
    }
    (checked.chain, checked.first, checked.tip) =
        (Some(name.into()), Some(first), Some(tip.number));
}

fn tell(checked: &mut Checked, damage: &[Damage], findings: &[Finding]) {
    for damage in damage {
        let mut part = part(&damage.error, if damage.mends_itself { ITSELF } else { ANEW });
        part.first_block = damage.blocks.as_ref().map(|blocks| *blocks.start());
        part.last_block = damage.blocks.as_ref().map(|blocks| *blocks.end());
        part.mends_itself = damage.mends_itself;
        checked.damage.push(part);
    }
    for Finding { block, what, expected, found } in findings {
        checked.damage.push(DamagedPart {
            what: format!("{what}: expected {expected}, found {found}"),
            first_block: Some(*block),
            last_block: Some(*block),
            repair: ANEW.into(),
            ..DamagedPart::default()
        });
    }
}

fn part(error: &Error, repair: &str) -> DamagedPart {
    let mut part =
        DamagedPart { what: error.to_string(), repair: repair.into(), ..DamagedPart::default() };
    if let Error::Damaged { path, offset, what, expected, found } = error {
        (part.file, part.offset) = (Some(path.clone()), Some(*offset));
        part.what = format!("{what}: expected {expected}, found {found}");
    }
    part
}
