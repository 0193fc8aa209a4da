//! Reads configurations of neo-go: the section `ProtocolConfiguration` of its YAML files.
//!
//! As in neo-go, an unknown field is an error, and a missing one has the default of
//! `core.NewBlockchain`. The section `ApplicationConfiguration` is ignored.

use super::csharp;
use super::unique::Unique;
use super::values::{GAS, base64, fixed8, milliseconds};
use super::{GenesisSettings, GenesisTransaction, Hardfork, Hardforks, Protocol};
use crate::types::{MAX_SCRIPT, PublicKey};
use blockmill_signatures::is_p256_key;
use serde::Deserialize;

/// An invalid configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not YAML, or has another structure.
    #[error("{0}")]
    Form(String),
    /// A field with an invalid value.
    #[error("{field}: expected {expected}, found {found}")]
    Field {
        /// The field.
        field: &'static str,
        /// The valid values.
        expected: String,
        /// Its value.
        found: String,
    },
}

fn wrong(
    field: &'static str,
    expected: impl Into<String>,
    found: impl std::fmt::Display,
) -> ConfigError {
    let found = found.to_string().chars().take(100).collect();
    ConfigError::Field { field, expected: expected.into(), found }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    protocol_configuration: Section,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub(super) struct Section {
    committee_history: Unique<u32, u32>,
    genesis: Genesis,
    pub(super) magic: u32,
    mem_pool_size: serde::de::IgnoredAny,
    pub(super) hardforks: Option<Unique<String, u32>>,
    #[serde(rename = "InitialGASSupply")]
    pub(super) initial_gas_supply: Option<Scalar>,
    #[serde(rename = "P2PNotaryRequestPayloadPoolSize")]
    p2p_notary_request_payload_pool_size: serde::de::IgnoredAny,
    max_block_size: u32,
    max_block_system_fee: i64,
    pub(super) max_traceable_blocks: u32,
    pub(super) max_transactions_per_block: u16,
    pub(super) max_valid_until_block_increment: u32,
    #[serde(rename = "P2PSigExtensions")]
    p2p_sig_extensions: bool,
    #[serde(rename = "P2PStateExchangeExtensions")]
    p2p_state_exchange_extensions: serde::de::IgnoredAny,
    #[serde(rename = "NeoFSStateSyncExtensions")]
    neofs_state_sync_extensions: serde::de::IgnoredAny,
    reserved_attributes: bool,
    seed_list: serde::de::IgnoredAny,
    pub(super) standby_committee: Vec<String>,
    state_root_in_header: bool,
    state_sync_interval: serde::de::IgnoredAny,
    pub(super) time_per_block: Option<String>,
    max_time_per_block: serde::de::IgnoredAny,
    pub(super) validators_count: u32,
    validators_history: Unique<u32, u32>,
    verify_transactions: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
struct Genesis {
    max_traceable_blocks: u32,
    max_valid_until_block_increment: u32,
    roles: Unique<String, Vec<String>>,
    time_per_block: Option<String>,
    transaction: Option<Transaction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Transaction {
    script: String,
    #[serde(default)]
    system_fee: i64,
}

/// A number that may be quoted or have decimals.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Whole(i64),
    Decimal(f64),
    Text(String),
}

/// Default of `InitialGASSupply` (`DefaultInitialGAS`).
const INITIAL_GAS: i64 = 52_000_000 * GAS;
/// Milliseconds in a day.
const DAY: u32 = 24 * 60 * 60 * 1000;

/// `value`, or `default` for zero.
fn or<T: Default + PartialEq>(value: T, default: T) -> T {
    if value == T::default() { default } else { value }
}

impl Protocol {
    /// Reads a network from the text of a configuration file of neo-go.
    ///
    /// # Errors
    /// Returns [`ConfigError`] if the text is not YAML, has an unknown field, or has values that
    /// neo-go rejects (`ProtocolConfiguration.Validate`).
    pub fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        let file: File =
            serde_yaml_ng::from_str(text).map_err(|error| ConfigError::Form(error.to_string()))?;
        Self::from_section(&file.protocol_configuration)
    }

    /// Reads a network from the text of a configuration file of the C# node, `config.json`.
    ///
    /// # Errors
    /// Returns [`ConfigError`] as [`Protocol::from_yaml`] does.
    pub fn from_csharp(text: &str) -> Result<Self, ConfigError> {
        Self::from_section(&csharp::section(text)?)
    }

    fn from_section(section: &Section) -> Result<Self, ConfigError> {
        let standby_committee = keys("StandbyCommittee", &section.standby_committee)?;
        if standby_committee.is_empty() {
            return Err(wrong("StandbyCommittee", "one key or more", "none"));
        }
        let committee_sizes = committee_sizes(section, standby_committee.len())?;
        let validator_counts = validator_counts(section, &committee_sizes)?;
        let milliseconds = match section.time_per_block.as_deref() {
            None => 15_000,
            Some(text) => or(duration("TimePerBlock", text)?, 15_000),
        };
        let traceable = or(section.max_traceable_blocks, 2_102_400);
        let increment = or(section.max_valid_until_block_increment, DAY / milliseconds);
        let genesis = genesis(&section.genesis, (traceable, increment, milliseconds))?;
        Ok(Self {
            name: "custom",
            magic: section.magic,
            standby_committee,
            committee_sizes,
            validator_counts,
            hardforks: hardforks(section.hardforks.as_ref())?,
            initial_gas: initial_gas(section.initial_gas_supply.as_ref())?,
            max_block_size: or(section.max_block_size, Self::MAX_BLOCK_SIZE),
            max_block_system_fee: or(section.max_block_system_fee.max(0), 150_000_000_000),
            max_traceable_blocks: traceable,
            max_transactions_per_block: or(
                section.max_transactions_per_block,
                Self::MAX_TRANSACTIONS_PER_BLOCK,
            ),
            max_valid_until_block_increment: increment,
            milliseconds_per_block: milliseconds,
            state_root_in_header: section.state_root_in_header,
            verify_transactions: section.verify_transactions,
            p2p_sig_extensions: section.p2p_sig_extensions,
            reserved_attributes: section.reserved_attributes,
            genesis,
        })
    }
}

fn keys(field: &'static str, texts: &[String]) -> Result<Vec<PublicKey>, ConfigError> {
    let key = |text: &String| {
        let error = || wrong(field, "a compressed public key of P-256 in 66 hex digits", text);
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(error()) };
        let mut key = [0; 33];
        if pairs.len() != key.len() {
            return Err(error());
        }
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or_else(error);
            *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
        }
        if is_p256_key(&key) { Ok(key) } else { Err(error()) }
    };
    texts.iter().map(key).collect()
}

fn committee_sizes(section: &Section, most: usize) -> Result<Vec<(u32, u32)>, ConfigError> {
    const FIELD: &str = "CommitteeHistory";
    if section.committee_history.is_empty() {
        return Ok(vec![(0, most as u32)]);
    }
    let sizes: Vec<(u32, u32)> = section.committee_history.iter().map(|(h, n)| (*h, *n)).collect();
    if sizes[0].0 != 0 {
        return Err(wrong(FIELD, "a size for height 0", format!("height {}", sizes[0].0)));
    }
    for (height, size) in &sizes {
        if *size == 0 || *size as usize > most {
            let expected = format!("1 to {most} members, as many as StandbyCommittee has");
            return Err(wrong(FIELD, expected, format!("{size} at height {height}")));
        }
    }
    for pair in sizes.windows(2) {
        let (before, (height, size)) = (pair[0].1, pair[1]);
        if height % size != 0 || height % before != 0 {
            let expected = "heights that are multiples of the size before and after";
            return Err(wrong(FIELD, expected, format!("{before} to {size} at {height}")));
        }
    }
    Ok(sizes)
}

fn validator_counts(
    section: &Section,
    committee_sizes: &[(u32, u32)],
) -> Result<Vec<(u32, u32)>, ConfigError> {
    const FIELD: &str = "ValidatorsHistory";
    let counts = match (section.validators_count, &section.validators_history) {
        (0, history) if !history.is_empty() => history.iter().map(|(h, n)| (*h, *n)).collect(),
        (count @ 1.., history) if history.is_empty() => {
            let most = section.standby_committee.len();
            if count as usize > most {
                let expected = format!("at most {most}, as many as StandbyCommittee has");
                return Err(wrong("ValidatorsCount", expected, count));
            }
            return Ok(vec![(0, count)]);
        }
        (count, history) => {
            let found = format!("{count} and {} entries", history.len());
            return Err(wrong(FIELD, "either this or ValidatorsCount", found));
        }
    };
    let counts: Vec<(u32, u32)> = counts;
    if counts[0].0 != 0 {
        return Err(wrong(FIELD, "a number for height 0", format!("height {}", counts[0].0)));
    }
    for (height, count) in &counts {
        let size = super::at_height(committee_sizes, *height) as u32;
        if *count == 0 || *count > size || height % size != 0 {
            let expected = format!("1 to {size} nodes from a multiple of the committee's size on");
            return Err(wrong(FIELD, expected, format!("{count} at height {height}")));
        }
    }
    Ok(counts)
}

/// The checks of `Validate` and the defaults of `NewBlockchain`: without the section all stable
/// hardforks are active from the start, and so are hardforks older than the named ones.
fn hardforks(given: Option<&Unique<String, u32>>) -> Result<Hardforks, ConfigError> {
    const FIELD: &str = "Hardforks";
    let Some(given) = given else { return Ok(Hardforks::all_stable()) };
    let mut hardforks = Hardforks::default();
    for (name, height) in given.iter() {
        let hardfork = Hardfork::named(name).ok_or_else(|| {
            let names = Hardfork::ALL.map(Hardfork::name).join(", ");
            wrong(FIELD, format!("one of {names}"), name)
        })?;
        hardforks.set(hardfork, *height);
    }
    let (mut before, mut ended) = (0, false);
    for hardfork in Hardfork::ALL {
        let height = hardforks.height(hardfork).unwrap_or(0);
        if height != 0 && (ended || height < before) {
            let expected = format!("{hardfork} after all before it, none left out");
            return Err(wrong(FIELD, expected, format!("height {height}")));
        }
        ended |= height == 0 && before != 0;
        before = before.max(height);
    }
    if !given.is_empty() {
        let older = Hardfork::ALL.into_iter();
        for hardfork in older.take_while(|each| !given.contains_key(each.name())) {
            hardforks.set(hardfork, 0);
        }
    }
    Ok(hardforks)
}

fn duration(field: &'static str, text: &str) -> Result<u32, ConfigError> {
    let error = || wrong(field, "whole milliseconds as in 15s, 1m30s or 500ms", text);
    milliseconds(text).ok_or_else(error)
}

fn initial_gas(given: Option<&Scalar>) -> Result<i64, ConfigError> {
    let error = |found: &dyn std::fmt::Display| {
        wrong("InitialGASSupply", "a number of GAS with at most 8 decimals", found)
    };
    let gas = match given {
        None => 0,
        Some(Scalar::Whole(gas)) => gas.checked_mul(GAS).ok_or_else(|| error(gas))?,
        Some(Scalar::Decimal(gas)) => fixed8(&gas.to_string()).ok_or_else(|| error(gas))?,
        Some(Scalar::Text(text)) => fixed8(text).ok_or_else(|| error(text))?,
    };
    Ok(if gas <= 0 { INITIAL_GAS } else { gas })
}

fn genesis(
    given: &Genesis,
    (traceable, increment, time): (u32, u32, u32),
) -> Result<GenesisSettings, ConfigError> {
    let mut roles = Vec::new();
    for (name, nodes) in given.roles.iter() {
        let role = match name.as_str() {
            "StateValidator" => 4,
            "Oracle" => 8,
            "NeoFSAlphabet" => 16,
            "P2PNotary" => 32,
            _ => {
                let expected = "StateValidator, Oracle, NeoFSAlphabet or P2PNotary";
                return Err(wrong("Genesis.Roles", expected, name));
            }
        };
        roles.push((role, keys("Genesis.Roles", nodes)?));
    }
    roles.sort();
    let own = match given.time_per_block.as_deref() {
        None => 0,
        Some(text) => duration("Genesis.TimePerBlock", text)?,
    };
    let transaction = given.transaction.as_ref().map(transaction).transpose()?;
    Ok(GenesisSettings {
        max_traceable_blocks: or(given.max_traceable_blocks, traceable),
        max_valid_until_block_increment: or(given.max_valid_until_block_increment, increment),
        milliseconds_per_block: or(own, time),
        roles,
        transaction,
    })
}

fn transaction(given: &Transaction) -> Result<GenesisTransaction, ConfigError> {
    let script = base64(&given.script)
        .filter(|script| (1..=MAX_SCRIPT as usize).contains(&script.len()))
        .ok_or_else(|| wrong("Genesis.Transaction", "a script in base64", &given.script))?;
    if given.system_fee < 0 {
        return Err(wrong("Genesis.Transaction", "no negative fee", given.system_fee));
    }
    Ok(GenesisTransaction { script, system_fee: given.system_fee })
}
