//! A flat snapshot that is verified: how many leaves of tries a second, and a second of CPU time.

use super::{Workload, data};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed, setting};
use anyhow::{Context, Result, bail, ensure};
use blockmill_ethereum::U256;
use blockmill_ethereum::execute::Code;
use blockmill_ethereum::snapshot::{Head, verify, write};
use blockmill_ethereum::state::{Account, State};
use blockmill_pipeline::record::RunRecord;
use blockmill_pipeline::{Cancel, RunClock};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The setting that has the file.
const FILE: &str = "file";
/// Slots of a contract where there are many.
const SLOTS: u64 = 100;

/// Snapshots.
pub struct Snapshots;

impl Workload for Snapshots {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let leaves: u64 = parsed(settings, "leaves")?;
        ensure!(leaves >= 1_000, "leaves: expected at least 1000, found {leaves}");
        let slots = match setting(settings, "contracts")? {
            "one" => leaves,
            "many" => SLOTS,
            "none" => 0,
            other => bail!("contracts = '{other}'; available: one, many, none"),
        };
        let of = format!("{leaves} leaves, {slots} slots in a contract");
        let cached = data::cached(folder, "snapshot", &of, progress, |path| {
            make(path, &state(leaves, slots)?).map(Some)
        })?;
        settings.insert(FILE.into(), cached.path.display().to_string());
        settings.insert("root".into(), cached.tip.context("a snapshot without a root")?);
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let path = PathBuf::from(job.setting(FILE)?);
        let clock = RunClock::start();
        let found = verify(&path, job.parsed("threads")?, &Cancel::default(), |_| ())?;
        let (wall_s, cpu) = (clock.wall_s(), clock.cpu());
        let leaves = found.counts.accounts + found.counts.slots;
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        record.took(wall_s);
        record.facts.count("leaves", leaves);
        record.facts.count("file_bytes", found.bytes);
        record.facts.set("leaves_per_s", leaves as f64 / wall_s);
        record.facts.set("core_leaves_per_s", leaves as f64 / cpu.total_s());
        record
            .answer
            .insert("root".into(), blockmill_verdict::Hex(&found.head.state_root).to_string());
        let root = job.setting("root")?;
        ensure!(record.answer["root"] == root, "expected the root {root}, found another");
        record.take_usage(cpu);
        Ok(record)
    }

    fn inputs(&self, settings: &Settings) -> Vec<PathBuf> {
        settings.get(FILE).map(PathBuf::from).into_iter().collect()
    }
}

/// A state of so many leaves: contracts with so many slots each and as many accounts without any,
/// or accounts alone. Keys of slots are hashes, as in mappings.
fn state(leaves: u64, slots: u64) -> Result<State> {
    let mut state = State::default();
    let code = Code::new(vec![0x60, 0x00]);
    let (hash, mut left, mut number) = (code.hash(), leaves, 0u64);
    state.restore_code(code);
    while left > 0 {
        number += 1;
        let seed = blockmill_hashes::keccak256(&number.to_be_bytes());
        let [address @ .., _, _, _, _, _, _, _, _, _, _, _, _] = seed;
        let balance = U256::from(number).pow(U256::from(number % 7));
        let plain = Account { nonce: number % 50, balance, ..Account::default() };
        let is_contract = slots > 0 && (number % 2 == 1 || slots == leaves);
        let account = if is_contract { Account { code_hash: hash, ..plain } } else { plain };
        let id = state.restore_account(&address, Some(account))?;
        left -= 1;
        if !is_contract {
            continue;
        }
        for slot in 0..slots.min(left) {
            let key = blockmill_hashes::keccak256(&[&seed[..], &slot.to_be_bytes()].concat());
            let value = match slot % 3 {
                0 => U256::from(slot + 1),
                1 => U256::from_be_bytes(key) >> 96usize,
                _ => U256::from_be_bytes(key),
            };
            state.restore_slot(id, U256::from_be_bytes(key), value);
            left -= 1;
        }
    }
    Ok(state)
}

/// Writes a snapshot; its state root.
fn make(path: &Path, state: &State) -> Result<String> {
    let cancel = Cancel::default();
    let mut head =
        Head { chain_id: 1, genesis: [0; 32], number: 0, hash: [0; 32], state_root: [0; 32] };
    let expected = "a snapshot";
    head.state_root = write(state, &head, &mut io::sink(), &cancel)?.context(expected)?.state_root;
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    write(state, &head, &mut out, &cancel)?.context(expected)?;
    out.flush().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(blockmill_verdict::Hex(&head.state_root).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_have_the_leaves_that_were_asked_for() {
        for (leaves, slots, contracts) in [(1_000, 1_000, 1), (1_000, 0, 0), (1_010, 100, 10)] {
            let state = state(leaves, slots).unwrap();
            let all: Vec<_> = state.accounts().map(|(id, ..)| state.slots(id).count()).collect();
            assert_eq!((all.len() + all.iter().sum::<usize>()) as u64, leaves);
            assert_eq!(all.iter().filter(|slots| **slots > 0).count(), contracts);
        }
    }
}
