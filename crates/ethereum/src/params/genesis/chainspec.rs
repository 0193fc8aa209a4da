//! Reads a chainspec: the file of Nethermind, and of Parity before it. It names each EIP with the
//! block or the time from which it holds, where others name forks.

mod work;

use super::json::{self, account, accounts};
use super::object::{Object, malformed, missing};
use super::{Alloc, settings};
use crate::header::Header;
use crate::params::{BlobParams, CodeSize, Config, SpecError};
use serde_json::value::RawValue;

/// The EIPs by which a chainspec says when a fork begins. The EIPs of one fork must agree: this
/// program knows forks only.
const FORKS: [(&str, &[&str]); 13] = [
    ("eip150Block", &["eip150Transition"]),
    ("eip155Block", &["eip155Transition"]),
    ("eip158Block", &["eip160Transition", "eip161abcTransition", "eip161dTransition"]),
    (
        "byzantiumBlock",
        &["eip140Transition", "eip211Transition", "eip214Transition", "eip658Transition"],
    ),
    ("constantinopleBlock", &["eip145Transition", "eip1014Transition", "eip1052Transition"]),
    (
        "istanbulBlock",
        &[
            "eip152Transition",
            "eip1108Transition",
            "eip1283ReenableTransition",
            "eip1344Transition",
            "eip1706Transition",
            "eip1884Transition",
            "eip2028Transition",
            "eip2200Transition",
        ],
    ),
    ("berlinBlock", &["eip2565Transition", "eip2929Transition", "eip2930Transition"]),
    (
        "londonBlock",
        &["eip1559Transition", "eip3198Transition", "eip3529Transition", "eip3541Transition"],
    ),
    (
        "shanghaiTime",
        &[
            "eip3651TransitionTimestamp",
            "eip3855TransitionTimestamp",
            "eip3860TransitionTimestamp",
            "eip4895TransitionTimestamp",
        ],
    ),
    (
        "cancunTime",
        &[
            "eip1153TransitionTimestamp",
            "eip4788TransitionTimestamp",
            "eip4844TransitionTimestamp",
            "eip5656TransitionTimestamp",
            "eip6780TransitionTimestamp",
        ],
    ),
    (
        "pragueTime",
        &[
            "eip2537TransitionTimestamp",
            "eip2935TransitionTimestamp",
            "eip6110TransitionTimestamp",
            "eip7002TransitionTimestamp",
            "eip7251TransitionTimestamp",
            "eip7623TransitionTimestamp",
            "eip7702TransitionTimestamp",
        ],
    ),
    (
        "osakaTime",
        &[
            "eip7594TransitionTimestamp",
            "eip7823TransitionTimestamp",
            "eip7825TransitionTimestamp",
            "eip7883TransitionTimestamp",
            "eip7918TransitionTimestamp",
            "eip7934TransitionTimestamp",
            "eip7939TransitionTimestamp",
            "eip7951TransitionTimestamp",
        ],
    ),
    (
        "amsterdamTime",
        &[
            "eip2780TransitionTimestamp",
            "eip7708TransitionTimestamp",
            "eip7778TransitionTimestamp",
            "eip7843TransitionTimestamp",
            "eip7928TransitionTimestamp",
            "eip7954TransitionTimestamp",
            "eip7976TransitionTimestamp",
            "eip7981TransitionTimestamp",
            "eip8024TransitionTimestamp",
            "eip8037TransitionTimestamp",
            "eip8038TransitionTimestamp",
            "eip8246TransitionTimestamp",
            "eip8282TransitionTimestamp",
        ],
    ),
];

/// A block that never comes.
const NEVER: u64 = u64::MAX;

/// Is the file a chainspec?
pub(super) fn is_one(file: &Object<'_>) -> bool {
    file.has("engine") && file.has("params")
}

/// The chain's configuration, its first header and its first accounts.
pub(super) fn read(file: &Object<'_>) -> Result<(Config, Header, Alloc), SpecError> {
    settings::check(file, &settings::chainspec::FILE)?;
    let params = file.object("params")?.ok_or(missing("params"))?;
    settings::check_with(&params, &settings::chainspec::PARAMS, is_eip)?;
    let engine = file.object("engine")?.ok_or(missing("engine"))?;
    let genesis = file.object("genesis")?.ok_or(missing("genesis"))?;
    settings::check(&genesis, &settings::chainspec::GENESIS)?;
    let header = header(&genesis)?;
    let config = config(&params, &engine, file, &header)?;
    let list = file.object("accounts")?.ok_or(missing("accounts"))?;
    let read = |address: &str, object: &Object<'_>| {
        if object.has("constructor") {
            let feature = "accounts.constructor: code that makes code";
            return Err(SpecError::Unsupported { feature: feature.into() });
        }
        // what is only said of a precompiled contract is no account
        if object.has("builtin") && !object.has("balance") {
            return Ok(None);
        }
        account(address, object).map(Some)
    };
    Ok((config, header, accounts(&list, read)?))
}

fn config(
    params: &Object<'_>,
    engine: &Object<'_>,
    file: &Object<'_>,
    header: &Header,
) -> Result<Config, SpecError> {
    let chain_id = params.u256("chainID")?.or(params.u256("networkID")?);
    let mut config = Config::frontier(chain_id.ok_or(missing("chainID"))?);
    config.terminal_total_difficulty = params.u256("terminalTotalDifficulty")?;
    config.set("homesteadBlock", 0);
    for (fork, eips) in FORKS {
        if let Some(at) = together(params, fork, eips)? {
            config.set(fork, at);
        }
    }
    if let Some(at) = petersburg(params, &config)? {
        config.set("petersburgBlock", at);
    }
    if let Some(at) = params.u64("mergeForkIdTransition")? {
        config.set("mergeNetsplitBlock", at);
    }
    // what Parity takes for granted
    for fork in ["eip150Block", "eip155Block", "eip158Block"] {
        if config.get(fork).is_none() {
            config.set(fork, 0);
        }
    }
    config.deposit_contract = params.fixed("depositContractAddress")?;
    if !engine.has("clique") {
        config.merge_from_genesis(header.difficulty, header.timestamp);
    }
    work::seals(engine, &mut config)?;
    config.code_size = code_size(params)?;
    config.imply();
    blobs(params, file, &mut config)?;
    refuse_others(params)?;
    Ok(config)
}

/// Whether a name is an EIP of a fork.
fn is_eip(key: &str) -> bool {
    FORKS.iter().any(|(_, eips)| eips.iter().any(|eip| eip.eq_ignore_ascii_case(key)))
}

/// The one block or time at which all these begin that are there.
fn together(
    params: &Object<'_>,
    fork: &'static str,
    eips: &[&'static str],
) -> Result<Option<u64>, SpecError> {
    let mut first: Option<(&str, u64)> = None;
    for eip in eips {
        let Some(at) = params.u64(eip)? else { continue };
        match first {
            Some((before, other)) if other != at => {
                let found = format!("{before} {other}, {eip} {at}");
                return Err(malformed(fork, "all EIPs of a fork at once", &found));
            }
            _ => first = Some((eip, at)),
        }
    }
    Ok(first.map(|(_, at)| at))
}

/// Where Petersburg begins. EIP-1283 came with Constantinople, went with Petersburg, and came again
/// with Istanbul as EIP-2200.
fn petersburg(params: &Object<'_>, config: &Config) -> Result<Option<u64>, SpecError> {
    let constantinople = config.get("constantinopleBlock");
    let disabled = params.u64("eip1283DisableTransition")?;
    match params.u64("eip1283Transition")? {
        // it never came, so that there is nothing to take back
        None => Ok(constantinople),
        Some(at) if disabled == Some(at) => Ok(disabled),
        Some(at) if Some(at) == constantinople => {
            Ok(disabled.or(config.get("istanbulBlock")).or(Some(NEVER)))
        }
        Some(at) => {
            let found = format!("eip1283Transition {at}");
            Err(malformed("constantinopleBlock", "all EIPs of a fork at once", &found))
        }
    }
}

/// The most bytes of a contract's code. Without the setting there is no limit.
fn code_size(params: &Object<'_>) -> Result<CodeSize, SpecError> {
    let since_time = params.u64("maxCodeSizeTransitionTimestamp")?;
    let since = params.u64("maxCodeSizeTransition")?;
    let since = since.unwrap_or(if since_time.is_some() { u64::MAX } else { 0 });
    Ok(CodeSize::nethermind(params.u64("maxCodeSize")?, since, since_time))
}

/// One entry of the schedule of blobs.
struct Entry {
    time: u64,
    blobs: BlobParams,
}

/// The blob parameters: each entry begins at a time, either of a fork or of its own.
fn blobs(params: &Object<'_>, file: &Object<'_>, config: &mut Config) -> Result<(), SpecError> {
    let list = params.text("blobSchedule").or(file.text("blobSchedule"));
    let Some(list) = list else { return Ok(()) };
    let json = |problem: serde_json::Error| SpecError::Json {
        field: "blobSchedule".into(),
        problem: problem.to_string(),
    };
    let list: Vec<&RawValue> = serde_json::from_str(list).map_err(json)?;
    let mut entries = vec![];
    for entry in list {
        let entry = Object::parse("blobSchedule", entry.get())?;
        let time = entry.u64("timestamp")?.ok_or(missing("blobSchedule.timestamp"))?;
        entries.push(Entry { time, blobs: json::blobs(&entry)? });
    }
    entries.sort_by_key(|entry| entry.time);
    let mut own = ["bpo1", "bpo2", "bpo3", "bpo4", "bpo5"].into_iter().peekable();
    for Entry { time, blobs } in entries {
        let forks = ["cancun", "prague", "osaka", "amsterdam"];
        let fork = forks.into_iter().find(|fork| config.get(&format!("{fork}Time")) == Some(time));
        if config.get("amsterdamTime").is_some_and(|amsterdam| amsterdam < time) {
            // the first two come before Amsterdam
            while own.next_if(|name| ["bpo1", "bpo2"].contains(name)).is_some() {}
        }
        let fork = fork.or_else(|| own.next()).ok_or_else(|| {
            malformed("blobSchedule", "at most 5 entries next to those of forks", "more")
        })?;
        config.set(&format!("{fork}Time"), time);
        config.set_blobs(fork, blobs);
    }
    Ok(())
}

/// Settings that change what a header must be.
fn refuse_others(params: &Object<'_>) -> Result<(), SpecError> {
    let refuse = |feature: &'static str| Err(SpecError::Unsupported { feature: feature.into() });
    let others = |key: &str, usual: u64| {
        Ok::<_, SpecError>(params.u64(key)?.is_some_and(|value| value != usual))
    };
    if others("eip1559BaseFeeInitialValue", 1_000_000_000)?
        || others("eip1559ElasticityMultiplier", 2)?
        || others("eip1559BaseFeeMaxChangeDenominator", 8)?
        || params.has("eip1559BaseFeeMinValueTransition")
    {
        return refuse("params.eip1559...: another formula of the base fee");
    }
    if others("gasLimitBoundDivisor", 1024)? || others("minGasLimit", 5000)? {
        return refuse("params: other bounds of the gas limit");
    }
    Ok(())
}

fn header(genesis: &Object<'_>) -> Result<Header, SpecError> {
    let seal = genesis.object("seal")?;
    let seal = match &seal {
        Some(seal) => {
            settings::check(seal, &settings::chainspec::SEAL)?;
            seal.object("ethereum")?
        }
        None => None,
    };
    let (mut nonce, mut mix_hash) = (0, [0; 32]);
    if let Some(seal) = &seal {
        nonce = seal.u64("nonce")?.unwrap_or(0);
        mix_hash = seal.fixed("mixHash")?;
    }
    Ok(Header {
        timestamp: genesis.u64("timestamp")?.unwrap_or(0),
        parent_hash: genesis.fixed("parentHash")?,
        beneficiary: genesis.fixed("author")?,
        difficulty: genesis.u256("difficulty")?.ok_or(missing("genesis.difficulty"))?,
        gas_limit: genesis.u64("gasLimit")?.ok_or(missing("genesis.gasLimit"))?,
        gas_used: genesis.u64("gasUsed")?.unwrap_or(0),
        extra_data: genesis.bytes("extraData")?,
        mix_hash,
        nonce: nonce.to_be_bytes(),
        base_fee: genesis.u256("baseFeePerGas")?,
        excess_blob_gas: genesis.u64("excessBlobGas")?,
        blob_gas_used: genesis.u64("blobGasUsed")?,
        slot_number: genesis.u64("slotNumber")?,
        ..Header::default()
    })
}
