//! The state that a chain begins with, and when its rules change.

use crate::Failure;
use alloy_primitives::{Address, Bytes, U256, keccak256};
use revm::bytecode::Bytecode;
use revm::database::{CacheDB, EmptyDB};
use revm::primitives::hardfork::SpecId;
use revm::state::AccountInfo;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A state in memory.
pub type Memory = CacheDB<EmptyDB>;

#[derive(Deserialize)]
struct Genesis {
    config: BTreeMap<String, Value>,
    alloc: BTreeMap<Address, Account>,
}

#[derive(Deserialize)]
struct Account {
    balance: U256,
    #[serde(default)]
    nonce: Option<U256>,
    code: Option<Bytes>,
    #[serde(default)]
    storage: BTreeMap<U256, U256>,
}

/// When the rules of a chain change.
pub struct Schedule {
    /// The id of the chain.
    pub chain_id: u64,
    /// Forks with the time from which they hold, and the fraction of their blob fee; the newest
    /// first.
    forks: Vec<(u64, SpecId, u64)>,
}

impl Schedule {
    /// The rules of a block of this time, and the fraction of its blob fee.
    pub fn at(&self, timestamp: u64) -> (SpecId, u64) {
        let fork = self.forks.iter().find(|(time, ..)| *time <= timestamp);
        fork.map_or((SpecId::MERGE, 0), |(_, spec, fraction)| (*spec, *fraction))
    }
}

/// The state and the rules of a `genesis.json`.
pub fn read(path: &str) -> Result<(Memory, Schedule), Failure> {
    let genesis: Genesis = serde_json::from_slice(&std::fs::read(path)?)?;
    let schedule = schedule(&genesis.config)?;
    let mut state = Memory::new(EmptyDB::default());
    for (address, account) in genesis.alloc {
        let nonce = account.nonce.unwrap_or_default().try_into()?;
        let mut info = AccountInfo { balance: account.balance, nonce, ..AccountInfo::default() };
        if let Some(code) = account.code.filter(|code| !code.is_empty()) {
            info.code_hash = keccak256(&code);
            info.code = Some(Bytecode::new_raw(code));
        }
        state.insert_account_info(address, info);
        state.replace_account_storage(address, account.storage.into_iter().collect())?;
    }
    Ok((state, schedule))
}

fn schedule(config: &BTreeMap<String, Value>) -> Result<Schedule, Failure> {
    let number = |name: &str| config.get(name).and_then(Value::as_u64);
    if number("terminalTotalDifficulty") != Some(0) {
        return Err("the chain begins before Paris".into());
    }
    if config.keys().any(|name| name.starts_with("bpo")) {
        return Err("the chain has forks of blob parameters".into());
    }
    let blobs = config.get("blobSchedule").and_then(Value::as_object);
    let fraction_of = |fork: &str| blobs?.get(fork)?.get("baseFeeUpdateFraction")?.as_u64();
    let (mut forks, mut fraction) = (vec![], 0);
    for (name, spec) in [
        ("shanghai", SpecId::SHANGHAI),
        ("cancun", SpecId::CANCUN),
        ("prague", SpecId::PRAGUE),
        ("osaka", SpecId::OSAKA),
        ("amsterdam", SpecId::AMSTERDAM),
    ] {
        if let Some(time) = number(&format!("{name}Time")) {
            fraction = fraction_of(name).unwrap_or(fraction);
            forks.push((time, spec, fraction));
        }
    }
    forks.reverse();
    let chain_id = number("chainId").ok_or("no chainId")?;
    Ok(Schedule { chain_id, forks })
}
