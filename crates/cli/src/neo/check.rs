//! Checks a store of Neo blocks: its bytes, then its contents.

use super::network;
use crate::check::{Checked, CorruptPart, REBUILT, Watch};
use anyhow::{Context, Result};
use blockmill_neo::types::UInt256;
use blockmill_neo::{Error as NeoError, check, ledger};
use blockmill_store::{ChainStore, Corruption};
use blockmill_verdict::{Finding, Status};
use std::path::Path;

/// The repair of a store with missing data.
const ANEW: &str = "import the dumps again into a new folder";

/// Checks the store in `data` and repairs it on request. The second value is true if it was
/// repaired.
pub fn check<'a>(
    data: &Path,
    threads: usize,
    repair: bool,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<(Checked, bool)> {
    let mut checked = Checked { family: Some("neo"), data: data.into(), ..Checked::default() };
    let Some((store, mut corruption)) = checked.open(ANEW)? else { return Ok((checked, false)) };
    // the blocks are read twice: against checksums and against hashes
    let watch = watch(store.bytes_to_check(None).saturating_mul(2));
    corruption.extend(store.check(None, threads, &|bytes| watch.read(bytes))?);
    let blocks = check::check(&store, &mut |bytes| watch.read(bytes))?;
    checked.describe(&store, ("Neo", "heights"), |tip| {
        network::by_genesis(UInt256(tip.chain)).map(|protocol| protocol.name.into())
    });
    checked.stopped = blocks.stopped;
    // corrupt bytes of the state are reported by now
    let state = match corruption.is_empty() && !blocks.stopped {
        true => check::check_state(data)?,
        false => None,
    };
    let is_other_state = matches!(state, Some((_, Some(_))));
    let plan = Plan::of(data, &store, &corruption, (&blocks.findings, is_other_state))?;
    let advice = plan.as_ref().map_or_else(|| ANEW.into(), Plan::advice);
    checked.add_corruption(&corruption, &blocks.findings, &advice);
    if let Some((expected, found)) = state {
        match found {
            None => checked.holds.push(format!("contract storage with state root {expected}")),
            Some(found) => checked.corruption.push(CorruptPart {
                what: format!("state root: expected {expected}, found {found}"),
                repair: ANEW.into(),
                ..CorruptPart::default()
            }),
        }
    }
    checked.set_repair();
    drop(store);
    match plan.filter(|_| repair && !checked.corruption.is_empty() && !checked.stopped) {
        Some(plan) => plan.run(data, checked),
        None => Ok((checked, false)),
    }
}

/// The plan of `--repair`.
struct Plan {
    /// The last block after the repair.
    last: u64,
    /// Whether later blocks are removed.
    goes_back: bool,
    /// Whether the undo log is corrupt and discarded.
    gives_up_log: bool,
}

impl Plan {
    /// `None` if the store cannot be repaired in place.
    fn of(
        data: &Path,
        store: &ChainStore,
        corruption: &[Corruption],
        (findings, is_other_state): (&[Finding], bool),
    ) -> Result<Option<Self>> {
        let parts = || corruption.iter().filter(|corruption| !corruption.mends_itself);
        let goes_back = !findings.is_empty() || parts().any(|corruption| !corruption.is_besides);
        let gives_up_log = parts().any(|corruption| corruption.is_besides);
        let is_of_log =
            |corruption: &Corruption| corruption.part.as_deref().is_some_and(ledger::is_of_log);
        let is_in_tables =
            parts().any(|corruption| corruption.is_besides && !is_of_log(corruption));
        let last = match goes_back {
            true => store.last_whole(corruption, findings.first().map(|it| it.block)),
            false => store.tip().map(|tip| tip.number),
        };
        // an unwind needs the log, so blocks and log must not both be corrupt
        let Some(last) = last.filter(|_| !is_in_tables && !is_other_state) else { return Ok(None) };
        if goes_back && (gives_up_log || !goes_back_to(data, last)?) {
            return Ok(None);
        }
        Ok(Some(Self { last, goes_back, gives_up_log }))
    }

    /// What the repair does, and what to do afterwards.
    fn advice(&self) -> String {
        match self.goes_back {
            true => format!(
                "`blockmill check DATA --repair` goes back to block {}, and importing the dumps \
                 again continues from there; or import them into a new folder",
                self.last
            ),
            false => {
                "`blockmill check DATA --repair` gives up the undo log, so that the blocks of \
                now cannot be unwound; or import the dumps again into a new folder"
                    .into()
            }
        }
    }

    /// Runs the repair.
    fn run(&self, data: &Path, mut checked: Checked) -> Result<(Checked, bool)> {
        let Self { last, goes_back, gives_up_log } = *self;
        let done = match goes_back || gives_up_log {
            true => ledger::repair(data, last, gives_up_log),
            false => ChainStore::repair(data, None, None, |_| false, &[]).map_err(NeoError::Store),
        };
        match done {
            Ok(()) => {}
            Err(error) if is_in_the_way(&error) => {
                checked.repair = Some(format!("{error}: {ANEW}"));
                return Ok((checked, false));
            }
            Err(error) => return Err(error).context("--repair"),
        }
        checked.went_back_to = goes_back.then_some(last);
        checked.repair = Some(match (goes_back, gives_up_log) {
            (true, _) => {
                format!("done: the store ends with block {last} now; import the rest again")
            }
            (false, true) => {
                format!("done: the undo log was given up; unwind goes back to block {last} at most")
            }
            (false, false) => REBUILT.into(),
        });
        Ok((checked, true))
    }
}

/// Reports whether the undo log reaches block `to`.
fn goes_back_to(data: &Path, to: u64) -> Result<bool> {
    match ledger::goes_back_to(data, to) {
        Err(error) if error.status() == Status::Corrupt => Ok(false),
        goes_back => Ok(goes_back?),
    }
}

/// Reports whether an error means that the store cannot be repaired in place: needed data is
/// corrupt or was removed.
fn is_in_the_way(error: &NeoError) -> bool {
    error.status() == Status::Corrupt || matches!(error, NeoError::Unwind { .. })
}
