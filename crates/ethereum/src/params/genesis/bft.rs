//! The settings `ibft2` and `qbft` of Besu's genesis.json.

use super::object::{Object, malformed};
use super::settings;
use crate::header::Header;
use crate::params::{Bft, SWITCHES, SpecError};
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{BftEngine, BftExtraData};

/// The engine of validators, if `config` names one for the chain with this first header.
pub(super) fn of_genesis(config: &Object<'_>, header: &Header) -> Result<Option<Bft>, SpecError> {
    let engines = [("ibft2", BftEngine::Ibft2), ("qbft", BftEngine::Qbft)];
    let mut found = engines.into_iter().filter(|(name, _)| config.has(name));
    let Some((name, engine)) = found.next() else { return Ok(None) };
    let others = ["qbft", "clique", "ethash"].into_iter().filter(|other| *other != name);
    // Besu takes them for a change of the engine, or for another engine than this one
    if let Some(other) = others.into_iter().find(|other| config.has(other)) {
        return Err(unsupported(format!("{name} next to {other}: more than one engine")));
    }
    let by_time = SWITCHES.iter().filter(|switch| switch.by_time()).map(|switch| switch.key);
    // Besu's blocks have not all fields of these forks, as no beacon chain gives them
    if let Some(key) =
        by_time.chain(["terminalTotalDifficulty"]).find(|setting| config.has(setting))
    {
        return Err(unsupported(format!("{key} under {name}: forks of proof of stake")));
    }
    let Some(object) = config.object(name)? else { return Ok(None) };
    settings::check(&object, &settings::BFT)?;
    let period = object.u64("blockPeriodSeconds")?.unwrap_or(Bft::DEFAULT_PERIOD);
    if period == 0 {
        return Err(malformed("blockPeriodSeconds", "a number from 1 on", "0"));
    }
    let is_there = object.has("miningBeneficiary");
    let beneficiary = is_there.then(|| object.fixed("miningBeneficiary")).transpose()?;
    let reward = object.u256("blockReward")?.unwrap_or_default();
    match BftExtraData::decode(&header.extra_data) {
        Ok(extra_data) if extra_data.engine == engine => {}
        Ok(_) => return Err(malformed("extraData", "that of the engine", "that of another one")),
        Err(error) => {
            let expected = "the list of the engine, with validators";
            return Err(malformed("extraData", expected, &error.to_string()));
        }
    }
    Ok(Some(Bft { engine, period, beneficiary, reward }))
}

fn unsupported(feature: String) -> SpecError {
    SpecError::Unsupported { feature: feature.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;
    use crate::params::{ChainSpec, Consensus};

    const QBFT: &str = "0xf83aa0000000000000000000000000000000000000000000000000000000000000\
        0000d594ef5880ec6b859b6949d88ddbd6ec18e96d0f14aac080c0";
    const IBFT2: &str = "0xf83ea0000000000000000000000000000000000000000000000000000000000000\
        0000d594c2ab482b506de561668e07f04547232a72897daf808400000000c0";

    fn consensus(config: &str, extra_data: &str) -> Result<Consensus, String> {
        let text = format!(
            r#"{{"config": {{"chainId": 7, "berlinBlock": 0, {config}}}, "difficulty": 1,
                "gasLimit": "0x47b760", "extraData": "{extra_data}", "alloc": {{}}}}"#
        );
        let spec = ChainSpec::from_genesis_json(&text).map_err(|error| error.to_string())?;
        Ok(spec.consensus)
    }

    #[test]
    fn the_settings_of_besu_are_read() {
        let config = r#""ibft2": {"blockperiodseconds": 2, "epochlength": 30000,
            "requesttimeoutseconds": 10}"#;
        let bft =
            Bft { engine: BftEngine::Ibft2, period: 2, beneficiary: None, reward: U256::ZERO };
        assert_eq!(consensus(config, IBFT2), Ok(Consensus::Bft(bft)));
        let config = r#""qbft": {"miningbeneficiary":
            "0x00000000000000000000000000000000000000ee", "blockreward": "0x10"}"#;
        let mut beneficiary = [0; 20];
        beneficiary[19] = 0xee;
        let (engine, beneficiary) = (BftEngine::Qbft, Some(beneficiary));
        let bft = Bft { engine, period: 1, beneficiary, reward: U256::from(16) };
        assert_eq!(consensus(config, QBFT), Ok(Consensus::Bft(bft)));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        for (config, extra_data, expected) in [
            ("\"qbft\": {\"blockperiodseconds\": 0}", QBFT, "from 1 on"),
            ("\"qbft\": {}", IBFT2, "extraData: expected that of the engine"),
            ("\"ibft2\": {}", QBFT, "extraData: expected that of the engine"),
            ("\"ibft2\": {}", "0x1234", "extraData: expected the list of the engine"),
            ("\"ibft2\": {}, \"qbft\": {}", IBFT2, "ibft2 next to qbft"),
            ("\"qbft\": {}, \"clique\": {}", QBFT, "qbft next to clique"),
            ("\"qbft\": {}, \"shanghaiTime\": 0", QBFT, "shanghaiTime under qbft"),
            (
                "\"qbft\": {}, \"terminalTotalDifficulty\": 5",
                QBFT,
                "terminalTotalDifficulty under qbft",
            ),
            (
                "\"qbft\": {\"validatorcontractaddress\":
                    \"0x00000000000000000000000000000000000000ee\"}",
                QBFT,
                "validatorContractAddress: validators that a contract names",
            ),
            ("\"qbft\": {\"startblock\": 5}", QBFT, "startBlock"),
            ("\"qbft\": {\"xblockperiodmilliseconds\": 100}", QBFT, "xBlockPeriodMilliseconds"),
            ("\"qbft\": {\"mystery\": 100}", QBFT, "mystery in ibft2 and qbft"),
            (
                "\"qbft\": {}, \"transitions\": {\"qbft\": [{\"block\": 5}]}",
                QBFT,
                "transitions: other rules from a block on",
            ),
        ] {
            let found = consensus(config, extra_data).unwrap_err();
            assert!(found.contains(expected), "{config}: {found}");
        }
    }
}
