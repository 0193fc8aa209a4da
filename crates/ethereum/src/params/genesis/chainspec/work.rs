//! The part of a chainspec about proof of work.

use crate::params::genesis::object::{Object, bytes, malformed, missing, number};
use crate::params::genesis::{json, settings};
use crate::params::{Config, Fork, SpecError};
use crate::{Address, U256, execute};

/// Forks that only delay the difficulty bomb, by the blocks of delay that they lead to.
const GLACIERS: [(u64, &str); 3] = [
    (9_000_000, "muirGlacierBlock"),
    (10_700_000, "arrowGlacierBlock"),
    (11_400_000, "grayGlacierBlock"),
];

/// The settings of proof of work; other engines only where they are never used.
pub(super) fn seals(engine: &Object<'_>, config: &mut Config) -> Result<(), SpecError> {
    settings::check(engine, &settings::chainspec::ENGINE)?;
    let from_genesis = config.terminal_total_difficulty.is_some_and(|total| total.is_zero());
    if from_genesis && !engine.has("Ethash") {
        return Ok(());
    }
    if let Some(clique) = engine.object("clique")? {
        let params = clique.object("params")?.ok_or(missing("engine.clique.params"))?;
        config.consensus = json::clique_of(&params)?;
        return Ok(());
    }
    let Some(ethash) = engine.object("Ethash")? else {
        let feature = "engine: another one than Ethash and clique";
        return Err(SpecError::Unsupported { feature: feature.into() });
    };
    let Some(params) = ethash.object("params")? else { return Ok(()) };
    settings::check(&params, &settings::chainspec::ETHASH)?;
    if let Some(at) = params.u64("homesteadTransition")? {
        config.set("homesteadBlock", at);
    }
    if let Some(at) = params.u64("daoHardforkTransition")? {
        config.set("daoForkBlock", at);
        config.dao_fork_support = true;
    }
    dao_accounts(&params)?;
    if from_genesis {
        return Ok(());
    }
    config.consensus = json::fixed_difficulty(&params)?;
    for (key, usual) in
        [("minimumDifficulty", 0x20000), ("difficultyBoundDivisor", 0x800), ("durationLimit", 13)]
    {
        if params.u64(key)?.is_some_and(|value| value != usual) {
            let feature = "engine.Ethash: another formula of the difficulty";
            return Err(SpecError::Unsupported { feature: feature.into() });
        }
    }
    let uncles = params.u64("eip100bTransition")?;
    if let Some(at) = uncles.filter(|at| Some(*at) != config.get("byzantiumBlock")) {
        let found = format!("eip100bTransition {at}");
        return Err(malformed("byzantiumBlock", "all EIPs of a fork at once", &found));
    }
    rewards(&params, config)?;
    bombs(&params, config)
}

/// Refuses a list of accounts other than the one of EIP-779.
fn dao_accounts(params: &Object<'_>) -> Result<(), SpecError> {
    let Some(text) = params.text("daoHardforkAccounts") else { return Ok(()) };
    let list: Vec<&str> = serde_json::from_str(text).map_err(|problem| SpecError::Json {
        field: "daoHardforkAccounts".into(),
        problem: problem.to_string(),
    })?;
    let address = |text: &&str| bytes(text.trim_start_matches("0x"))?.try_into().ok();
    let mut accounts: Vec<Option<Address>> = list.iter().map(address).collect();
    accounts.sort_unstable();
    let mut usual: Vec<_> = execute::DAO_ACCOUNTS.map(Some).to_vec();
    usual.sort_unstable();
    if accounts == usual {
        return Ok(());
    }
    let feature = "daoHardforkAccounts: other accounts than those of EIP-779";
    Err(SpecError::Unsupported { feature: feature.into() })
}

/// Refuses other rewards of mining than Ethereum's: a number, or one from each of some blocks on.
fn rewards(params: &Object<'_>, config: &Config) -> Result<(), SpecError> {
    let Some(text) = params.text("blockReward") else { return Ok(()) };
    let mut given = vec![];
    if text.starts_with('{') {
        let list = Object::parse("blockReward", text)?;
        for (key, _) in list.all() {
            let at = number(key).and_then(|at| u64::try_from(at).ok());
            let at = at.ok_or_else(|| malformed("blockReward", "a block", key))?;
            given.push((at, list.u256(key)?.unwrap_or_default()));
        }
        given.sort_unstable();
    } else {
        given.push((0, params.u256("blockReward")?.unwrap_or_default()));
    }
    let forks = [
        (Some(0), Fork::Frontier),
        (config.get("byzantiumBlock"), Fork::Byzantium),
        (config.get("constantinopleBlock"), Fork::Constantinople),
    ];
    let usual: Vec<(u64, U256)> = forks
        .into_iter()
        .filter_map(|(at, fork)| Some((at?, execute::block_reward(fork))))
        .collect();
    let reward = |list: &[(u64, U256)], block: u64| {
        list.iter().rev().find(|(at, _)| *at <= block).map(|(_, reward)| *reward)
    };
    // a block is after its last fork
    let same = |(at, _): &(u64, U256)| reward(&given, *at) == reward(&usual, *at);
    if given.iter().all(same) && usual.iter().all(same) {
        return Ok(());
    }
    let feature = "engine.Ethash.blockReward: another reward of mining";
    Err(SpecError::Unsupported { feature: feature.into() })
}

/// The delays of the bomb, each on top of those before it.
fn bombs(params: &Object<'_>, config: &mut Config) -> Result<(), SpecError> {
    let mut delays = vec![];
    if let Some(list) = params.object("difficultyBombDelays")? {
        for (key, _) in list.all() {
            let at = number(key).and_then(|at| u64::try_from(at).ok());
            let at = at.ok_or_else(|| malformed("difficultyBombDelays", "a block", key))?;
            delays.push((at, list.u64(key)?.unwrap_or(0)));
        }
    }
    delays.sort_unstable();
    let mut total = 0u64;
    for (at, delay) in &mut delays {
        total = total.saturating_add(*delay);
        *delay = total;
        if let Some((_, fork)) = GLACIERS.iter().find(|(blocks, _)| *blocks == total) {
            config.set(fork, *at);
        }
    }
    config.bomb_delays = Some(delays);
    Ok(())
}
