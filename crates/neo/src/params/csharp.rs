//! Reads configurations of the C# node: the section `ProtocolConfiguration` of its `config.json`
//! (`ProtocolSettings.cs`). A missing field has the default of that node.

use super::unique::Unique;
use super::values::GAS;
use super::yaml::{ConfigError, Scalar, Section};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Begins the names of hardforks.
const PREFIX: &str = "HF_";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    protocol_configuration: Settings,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Settings {
    network: u32,
    #[serde(rename = "AddressVersion")]
    _address_version: Option<IgnoredAny>,
    standby_committee: Vec<String>,
    validators_count: u32,
    #[serde(rename = "SeedList")]
    _seed_list: Option<IgnoredAny>,
    milliseconds_per_block: Option<u32>,
    max_transactions_per_block: Option<u16>,
    max_valid_until_block_increment: Option<u32>,
    #[serde(rename = "MemoryPoolMaxTransactions")]
    _memory_pool_max_transactions: Option<IgnoredAny>,
    max_traceable_blocks: Option<u32>,
    hardforks: Option<Unique<String, u32>>,
    initial_gas_distribution: Option<i64>,
}

/// The settings of `text`, as neo-go has them.
pub(super) fn section(text: &str) -> Result<Section, ConfigError> {
    let file: File =
        serde_yaml_ng::from_str(text).map_err(|error| ConfigError::Form(error.to_string()))?;
    let settings = file.protocol_configuration;
    // without heights, every hardfork is active from the start
    let hardforks = settings.hardforks.filter(|hardforks| !hardforks.is_empty());
    let name = |name: &String| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let gas = |units: i64| Scalar::Text(format!("{}.{:08}", units / GAS, units % GAS));
    let mut section = Section::default();
    section.magic = settings.network;
    section.standby_committee = settings.standby_committee;
    section.validators_count = settings.validators_count;
    section.time_per_block = settings.milliseconds_per_block.map(|time| format!("{time}ms"));
    section.max_transactions_per_block = settings.max_transactions_per_block.unwrap_or(0);
    section.max_valid_until_block_increment = settings.max_valid_until_block_increment.unwrap_or(0);
    section.max_traceable_blocks = settings.max_traceable_blocks.unwrap_or(0);
    section.hardforks = hardforks.map(|all| all.iter().map(|(key, at)| (name(key), *at)).collect());
    section.initial_gas_supply = settings.initial_gas_distribution.map(gas);
    Ok(section)
}
