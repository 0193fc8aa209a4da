//! A store of Ethereum blocks: its bytes, then what they mean.

use crate::check::{Checked, DamagedPart, Watch};
use anyhow::{Context, Result};
use chain::{Level, Status};
use ethereum::check::{self, Finding};
use ethereum::durable::{ExecutedStore, is_state_part};
use ethereum::fault;
use ethereum::params::{ChainSpec, KeptError, kept_in};
use ethereum::state::{HAS_ROCKSDB, ROCKSDB_PART};
use pipeline::Cancel;
use std::path::Path;
use store::{ChainStore, Damage, Error};

/// Checks the store in `data`, and repairs it on request; the second value says whether that was
/// done and nothing is damaged any more.
pub fn check<'a>(
    data: &Path,
    threads: usize,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    let (mut checked, repaired) = check_blocks(data, threads, repair, watch)?;
    match kept_in(data) {
        Ok(_) => Ok((checked, repaired)),
        Err(KeptError::Damaged { path, expected, found }) => {
            if repaired {
                // what was repaired is not damaged any more
                checked.damage.clear();
            }
            checked.damage.push(DamagedPart {
                file: Some(path),
                what: format!(
                    "the chain's genesis.json: expected SHA-256 {expected}, found {found}"
                ),
                repair: CHAIN.into(),
                ..DamagedPart::default()
            });
            checked.repair = checked.damage.first().map(|part| part.repair.clone());
            Ok((checked, false))
        }
        Err(error) => Err(error.into()),
    }
}

/// The same but for the chain's genesis.json.
fn check_blocks<'a>(
    data: &Path,
    threads: usize,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    let mut checked = Checked { family: "ethereum", data: data.into(), ..Checked::default() };
    let (store, mut damage) = match ChainStore::open_damaged(data) {
        Ok(opened) => opened,
        Err(error @ (Error::Damaged { .. } | Error::NoStore { .. })) => {
            checked.damage.push(part(&error, ANEW));
            checked.repair = Some(ANEW.into());
            return Ok((checked, false));
        }
        Err(error) => return Err(error.into()),
    };
    // the bytes are read twice: against their sums, and against the hashes
    let watch = watch(store.bytes_to_check().saturating_mul(2));
    damage.extend(store.check(threads, &|bytes| watch.read(bytes))?);
    let blocks = check::check(&store, threads, &|bytes| watch.read(bytes))?;
    describe(&store, &mut checked);
    checked.stopped = blocks.stopped;
    // a damaged part is told once
    let is_whole = damage.iter().all(|damage| damage.mends_itself) && blocks.findings.is_empty();
    let state = match is_whole && !checked.stopped {
        true => check_state(data, &store, &mut checked, watch.cancel())?,
        false => None,
    };
    watch.finish();
    let is_besides = state.is_some() || damage.iter().any(|damage| damage.is_besides);
    let whole = match is_besides {
        // going back would not repair it
        true => None,
        false => last_whole(&store, &damage, &blocks.findings),
    };
    let only_state = blocks.findings.is_empty()
        && is_besides
        && damage.iter().all(|damage| damage.is_besides || damage.mends_itself);
    tell(&mut checked, &damage, &blocks.findings, whole, only_state);
    if let Some(error) = state {
        checked.damage.insert(0, state_part(&error));
        checked.repair = Some(STATE.into());
    }
    if !repair || checked.damage.is_empty() || checked.stopped {
        return Ok((checked, false));
    }
    let mends_itself = checked.damage.iter().all(|part| part.mends_itself);
    let tip = match whole.filter(|_| !mends_itself) {
        Some(number) => check::tip_at(&store, number)?,
        None if mends_itself => None,
        None => return Ok((checked, false)),
    };
    drop(store);
    ChainStore::repair(data, tip.as_ref()).context("--repair")?;
    checked.went_back_to = tip.map(|tip| tip.number);
    checked.repair = Some(match checked.went_back_to {
        Some(number) => {
            format!("done: the store ends with block {number} now; import the rest again")
        }
        None => "done: the damaged parts were rebuilt".into(),
    });
    Ok((checked, true))
}

/// Holds the state besides the blocks to the root in the header of its block; what is wrong with
/// it, if anything.
fn check_state(
    data: &Path,
    store: &ChainStore,
    checked: &mut Checked,
    cancel: &Cancel,
) -> Result<Option<fault::Error>> {
    let is_executed = store.tip().is_some_and(|tip| tip.level == Level::Execution as u8);
    let parts = store.parts_besides();
    let has_state = is_executed || parts.iter().any(|part| is_state_part(part));
    if !has_state || parts.contains(&ROCKSDB_PART) && !HAS_ROCKSDB {
        return Ok(None);
    }
    let damage_of = |error: fault::Error| match error.status() {
        Status::Damage => Ok(Some(error)),
        _ => Err(error),
    };
    let executed = match ExecutedStore::open_read_only(data) {
        Ok(executed) => executed,
        Err(error) => return Ok(damage_of(error)?),
    };
    match executed.facts() {
        Some(facts) => checked.holds.push(format!("state after block {}", facts.block)),
        None if is_executed => {
            checked.holds.push("no state: the next import executes the blocks again".into());
        }
        None => {}
    }
    match executed.check_state(cancel) {
        Ok(is_whole) => {
            checked.stopped |= !is_whole;
            Ok(None)
        }
        Err(error) => Ok(damage_of(error)?),
    }
}

/// What repairs the genesis.json that a store keeps.
const CHAIN: &str = "import again with --chain genesis.json: that writes it";
/// What repairs a store of which nothing is left.
const ANEW: &str = "import the archive again into a new folder";
/// What repairs a store of which only the state is damaged.
const STATE: &str = "the blocks are whole: `blockmill import DATA --data NEW` imports them into a \
                     new folder, and makes the state again";
/// What repairs what follows from something else.
const ITSELF: &str = "the next import, or `blockmill check DATA --repair`, rebuilds it";

/// The last block that is whole, with all before it.
fn last_whole(store: &ChainStore, damage: &[Damage], findings: &[Finding]) -> Option<u64> {
    let first = store.first()?;
    let whole = store.last_whole(damage)?;
    match findings.first() {
        Some(finding) if finding.block <= first => None,
        Some(finding) => Some(whole.min(finding.block - 1)),
        None => Some(whole),
    }
}

fn describe(store: &ChainStore, checked: &mut Checked) {
    let Some(tip) = store.tip() else {
        checked.holds.push("Ethereum, no block yet".into());
        return;
    };
    let spec = ChainSpec::by_genesis_hash(&tip.chain);
    let name = spec.map_or_else(|| "a chain of its own".to_string(), |spec| spec.name);
    let first = store.first().unwrap_or(0);
    let level = Level::stored(tip.level).map_or("unknown", Level::name);
    checked.holds.push(format!("Ethereum, {name}, level {level}"));
    checked.holds.push(format!("blocks {first} to {}", tip.number));
    let parts = store.parts_besides();
    if !parts.is_empty() {
        checked.holds.push(format!("besides the blocks: {}", parts.join(", ")));
    }
    if parts.contains(&ROCKSDB_PART) {
        checked.unread = Some("values and nodes of the state, which are in RocksDB".into());
    }
    (checked.chain, checked.first, checked.tip) = (Some(name), Some(first), Some(tip.number));
}

/// Tells what is damaged, and what to do: go back to block `whole`, or begin again; from the blocks
/// of this store where the state beside them is all that is damaged.
fn tell(
    checked: &mut Checked,
    damage: &[Damage],
    findings: &[Finding],
    whole: Option<u64>,
    only_state: bool,
) {
    let back = match whole {
        None if only_state => STATE.to_string(),
        Some(number) => format!(
            "`blockmill check DATA --repair` goes back to block {number}, and importing the \
             archive again goes on from there; or import it into a new folder"
        ),
        None => ANEW.to_string(),
    };
    for damage in damage {
        let repair = if damage.mends_itself { ITSELF } else { &back };
        let mut part = part(&damage.error, repair);
        if damage.bytes > 4096 {
            part.what = format!("{} bytes are damaged: {}", damage.bytes, part.what);
        }
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
            repair: back.clone(),
            ..DamagedPart::default()
        });
    }
    // what does not repair itself is what somebody has to know
    checked.damage.sort_by_key(|part| part.mends_itself);
    checked.repair = checked.damage.first().map(|part| part.repair.clone());
}

fn state_part(error: &fault::Error) -> DamagedPart {
    match error {
        fault::Error::Store(error) => part(error, STATE),
        fault::Error::State(error) => part(error.store(), STATE),
        error => {
            let (what, repair) = (error.to_string(), STATE.to_string());
            DamagedPart { what, repair, ..DamagedPart::default() }
        }
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
