//! A store of Ethereum blocks: its bytes, then what they mean.

use crate::check::{Checked, CorruptPart, REBUILT, Watch};
use anyhow::{Context, Result};
use blockmill_ethereum::check;
use blockmill_ethereum::commit::executed_store::{
    self, ExecutedStore, Facts, StateAfter, is_state_part,
};
use blockmill_ethereum::error;
use blockmill_ethereum::params::{ChainSpec, KeptError, kept_in, kept_without_sum};
use blockmill_ethereum::state::{HAS_ROCKSDB, ROCKSDB_PART};
use blockmill_pipeline::Cancel;
use blockmill_state_store::PAGE_FORMAT;
use blockmill_store::{ChainStore, Corruption};
use blockmill_verdict::{Finding, Level, Status};
use std::path::Path;

/// Checks the store in `data`, and repairs it on request. The second value is true if it was
/// repaired and nothing is corrupt any more.
pub fn check<'a>(
    data: &Path,
    threads: usize,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    let (mut checked, repaired) = check_blocks(data, threads, repair, watch)?;
    let (file, expected, found) = match kept_in(data) {
        // a store with blocks was never left without the sum by an import that ended
        Ok(None) if checked.tip.is_some() => match kept_without_sum(data)? {
            Some(file) => (file, "a sum next to it".into(), "none".into()),
            None => return Ok((checked, repaired)),
        },
        Ok(_) => return Ok((checked, repaired)),
        Err(KeptError::Corrupt { path, expected, found }) => {
            (path, format!("SHA-256 {expected}"), found)
        }
        Err(error) => return Err(error.into()),
    };
    // what was repaired is not corrupt any more, and what that changed is part of the answer
    let done = if repaired { checked.repair.take() } else { None };
    if repaired {
        checked.corruption.clear();
    }
    checked.corruption.push(CorruptPart {
        file: Some(file),
        what: format!("the chain's genesis.json: expected {expected}, found {found}"),
        repair: CHAIN.into(),
        ..CorruptPart::default()
    });
    let advice = checked.corruption.first().map(|part| part.repair.clone());
    checked.repair = match (done, advice) {
        (Some(done), Some(advice)) => Some(format!("{done}; {advice}")),
        (_, advice) => advice,
    };
    Ok((checked, false))
}

/// Checks everything except for the chain's genesis.json.
fn check_blocks<'a>(
    data: &Path,
    threads: usize,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    let mut checked = Checked { family: Some("ethereum"), data: data.into(), ..Checked::default() };
    let Some((store, mut corruption)) = checked.open(ANEW)? else {
        return Ok((checked, false));
    };
    // the bytes are read twice: against their sums, and against the hashes
    let watch = watch(store.bytes_to_check(Some(&PAGE_FORMAT)).saturating_mul(2));
    corruption.extend(store.check(Some(&PAGE_FORMAT), threads, &|bytes| watch.read(bytes))?);
    let blocks = check::check(&store, threads, &|bytes| watch.read(bytes))?;
    if store.tip().is_none() && store.parts_besides().is_empty() {
        // an import of any family begins with such a store
        checked.family = None;
    }
    checked.describe(&store, ("Ethereum", "blocks"), |tip| {
        ChainSpec::by_genesis_hash(&tip.chain).map(|spec| spec.name)
    });
    if store.parts_besides().contains(&ROCKSDB_PART) {
        checked.unread = Some("values and nodes of the state, which are in RocksDB".into());
    }
    checked.stopped = blocks.stopped;
    // report a corrupt part once
    let is_whole =
        corruption.iter().all(|corruption| corruption.mends_itself) && blocks.findings.is_empty();
    let state = match is_whole && !checked.stopped {
        true => check_state(data, &store, &mut checked, watch.cancel())?,
        false => None,
    };
    let plan = Plan::of(&store, &corruption, &blocks.findings, state.is_some());
    tell(&mut checked, &corruption, &blocks.findings, state.as_ref(), plan.as_ref());
    if !repair || checked.corruption.is_empty() || checked.stopped {
        return Ok((checked, false));
    }
    if checked.corruption.iter().all(|part| part.mends_itself) {
        drop(store);
        ChainStore::repair(data, None, None, |_| false, &[]).context("--repair")?;
        checked.repair = Some(REBUILT.into());
        return Ok((checked, true));
    }
    let Some(plan) = plan else { return Ok((checked, false)) };
    let Some(tip) = check::tip_at(&store, plan.last)? else { return Ok((checked, false)) };
    drop(store);
    let after =
        executed_store::repair(data, &tip, plan.keeps_state, watch.cancel()).context("--repair")?;
    checked.went_back_to = plan.goes_back.then_some(plan.last);
    checked.repair = Some(plan.done(after));
    Ok((checked, true))
}

/// What `--repair` does.
struct Plan {
    /// The last block then.
    last: u64,
    /// There are blocks after it.
    goes_back: bool,
    /// The state is rolled back with the blocks; otherwise it is removed, and rebuilt from them.
    keeps_state: bool,
}

impl Plan {
    /// `None` if nothing in place repairs the store.
    fn of(
        store: &ChainStore,
        corruption: &[Corruption],
        findings: &[Finding],
        is_other_state: bool,
    ) -> Option<Self> {
        let (first, tip) = (store.first()?, store.tip()?);
        let is_of_blocks =
            |corruption: &Corruption| !corruption.is_besides && !corruption.mends_itself;
        let goes_back = !findings.is_empty() || corruption.iter().any(is_of_blocks);
        let last = if goes_back {
            store.last_whole(corruption, findings.first().map(|it| it.block))?
        } else {
            tip.number
        };
        let mut parts = corruption
            .iter()
            .filter(|corruption| corruption.is_besides && !corruption.mends_itself);
        let is_whole = parts.clone().next().is_none() && !is_other_state;
        let keeps_state =
            is_whole && Facts::from_store(store).is_none_or(|facts| facts.reaches(last));
        let is_of_state =
            |corruption: &Corruption| corruption.part.as_deref().is_some_and(is_state_part);
        let is_made_again =
            first == 0 && tip.level >= Level::Bodies as u8 && parts.all(is_of_state);
        let goes_back = last < tip.number;
        (keeps_state || is_made_again).then_some(Self { last, goes_back, keeps_state })
    }

    /// What it will do, and what to do then.
    fn advice(&self) -> String {
        let Self { last, .. } = self;
        match (self.goes_back, self.keeps_state) {
            (_, true) => format!(
                "`blockmill check DATA --repair` goes back to block {last}, and importing the \
                 archive again continues there; or import it into a new folder"
            ),
            (true, false) => format!(
                "`blockmill check DATA --repair` goes back to block {last} and gives up the state, \
                 and importing the archive again executes the blocks of the store and goes on \
                 from there; or import it into a new folder"
            ),
            (false, false) => "the blocks are whole: `blockmill check DATA --repair` gives up the \
                state, and importing the archive again executes the blocks of the store; or \
                `blockmill import DATA --data NEW` imports them into a new folder"
                .into(),
        }
    }

    /// What was done, and what to do now.
    fn done(&self, after: StateAfter) -> String {
        let last = self.last;
        match (self.goes_back, after) {
            (_, StateAfter::Kept) => {
                format!("done: the store ends with block {last} now; import the rest again")
            }
            (true, StateAfter::GivenUp) => format!(
                "done: the store ends with block {last} now, without its state; import the archive \
                 again, which executes these blocks first"
            ),
            (false, StateAfter::GivenUp) => "done: the state was given up; import the archive \
                again, which executes the blocks of the store"
                .into(),
        }
    }
}

/// Compares the state with the root in the header of its block. Returns what is wrong, if anything.
fn check_state(
    data: &Path,
    store: &ChainStore,
    checked: &mut Checked,
    cancel: &Cancel,
) -> Result<Option<error::Error>> {
    let is_executed = store.tip().is_some_and(|tip| tip.level == Level::Execution as u8);
    let parts = store.parts_besides();
    let has_state = is_executed || parts.iter().any(|part| is_state_part(part));
    if !has_state || parts.contains(&ROCKSDB_PART) && !HAS_ROCKSDB {
        return Ok(None);
    }
    let damage_of = |error: error::Error| match error.status() {
        Status::Corrupt => Ok(Some(error)),
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

/// Tells what is corrupt, and what to do.
fn tell(
    checked: &mut Checked,
    corruption: &[Corruption],
    findings: &[Finding],
    state: Option<&error::Error>,
    plan: Option<&Plan>,
) {
    let back = plan.map_or_else(|| ANEW.to_string(), Plan::advice);
    checked.corruption.extend(state.map(|error| state_part(error, &back)));
    checked.add_corruption(corruption, findings, &back);
    checked.set_repair();
}

/// A state that is not the one after its block.
fn state_part(error: &error::Error, repair: &str) -> CorruptPart {
    match error {
        error::Error::Store(error) => CorruptPart::from_error(error, repair),
        error::Error::State(error) => CorruptPart::from_error(error.store(), repair),
        error => {
            let (what, repair) = (error.to_string(), repair.to_owned());
            CorruptPart { what, repair, ..CorruptPart::default() }
        }
    }
}
