//! Reads a genesis.json as geth and most clients have it, or as Besu has it, with names of its own.
//! Nethermind has a format of its own: see [`chainspec`].

use super::object::{Object, bytes, malformed, missing, word};
use super::{Alloc, GenesisAccount, bft, chainspec, settings};
use crate::Address;
use crate::header::Header;
use crate::params::{BlobParams, Clique, CodeSize, Config, Consensus, SWITCHES, SpecError};

/// The chain's configuration, its first header and its first accounts.
pub(crate) fn from_json(text: &str) -> Result<(Config, Header, Alloc), SpecError> {
    let file = Object::parse("genesis.json", text)?;
    if chainspec::is_one(&file) {
        return chainspec::read(&file);
    }
    settings::check(&file, &settings::FILE)?;
    let object = file.object("config")?.ok_or(missing("config"))?;
    let header = super::header(&file)?;
    let config = config(&object, &header)?;
    let alloc = file.object("alloc")?.ok_or(missing("alloc"))?;
    let read = |address: &str, account: &Object<'_>| self::account(address, account).map(Some);
    Ok((config, header, accounts(&alloc, read)?))
}

/// Each account through `read`, which passes some over, ordered by address.
pub(super) fn accounts(
    alloc: &Object<'_>,
    read: impl Fn(&str, &Object<'_>) -> Result<Option<GenesisAccount>, SpecError>,
) -> Result<Alloc, SpecError> {
    let mut accounts = Vec::with_capacity(alloc.all().len());
    for (address, account) in alloc.all() {
        accounts.extend(read(address, &Object::parse(address, account)?)?);
    }
    accounts.sort_by_key(|account| account.address);
    if let Some(pair) = accounts.windows(2).find(|pair| pair[0].address == pair[1].address) {
        let found = blockmill_verdict::Hex(&pair[0].address).to_string();
        return Err(malformed("alloc", "each account once", &found));
    }
    Ok(Alloc::Given(accounts))
}

fn config(object: &Object<'_>, header: &Header) -> Result<Config, SpecError> {
    settings::check_with(object, &settings::CONFIG, settings::is_fork)?;
    let mut config = Config::frontier(object.u256("chainId")?.unwrap_or_default());
    config.dao_fork_support = object.flag("daoForkSupport")?;
    config.terminal_total_difficulty = object.u256("terminalTotalDifficulty")?;
    config.deposit_contract = object.fixed("depositContractAddress")?;
    for switch in &SWITCHES {
        if let Some(at) = object.u64(switch.key)? {
            config.set(switch.key, at);
        }
    }
    besu(object, &mut config)?;
    let bft = bft::of_genesis(object, header)?;
    if bft.is_none() && !object.has("clique") {
        config.merge_from_genesis(header.difficulty, header.timestamp);
    }
    config.imply();
    if let Some(limit) = object.u64("contractSizeLimit")? {
        config.code_size = CodeSize::besu(limit);
    }
    if let Some(schedule) = object.object("blobSchedule")? {
        let known = |name: &str| SWITCHES.iter().any(|switch| switch.blob_key() == Some(name));
        if let Some((odd, _)) = schedule.all().find(|(name, _)| !known(name)) {
            return Err(malformed("blobSchedule", "forks with blobs", odd));
        }
        for fork in SWITCHES.iter().filter_map(|switch| switch.blob_key()) {
            if let Some(entry) = schedule.object(fork)? {
                config.set_blobs(fork, blobs(&entry)?);
            }
        }
    }
    config.consensus = match bft {
        Some(bft) => Consensus::Bft(bft),
        None => consensus(object, &config)?,
    };
    Ok(config)
}

/// What Besu calls otherwise than geth.
fn besu(object: &Object<'_>, config: &mut Config) -> Result<(), SpecError> {
    let fix = object.u64("constantinopleFixBlock")?;
    if let Some(fix) = fix {
        if object.has("petersburgBlock") {
            let found = "petersburgBlock too";
            return Err(malformed("constantinopleFixBlock", "one name of this fork", found));
        }
        config.set("petersburgBlock", fix);
    }
    // Besu has one switch for both halves of Spurious Dragon, and takes the fork of the DAO for
    // granted where it is set
    if fix.is_some() || (object.has("eip158Block") && !object.has("eip155Block")) {
        config.dao_fork_support |= !object.has("daoForkSupport");
    }
    Ok(())
}

/// How the blocks before the merge are made.
fn consensus(object: &Object<'_>, config: &Config) -> Result<Consensus, SpecError> {
    // a chain that starts under proof of stake never uses the settings of what came before
    if config.terminal_total_difficulty.is_some_and(|total| total.is_zero()) {
        return Ok(Consensus::Work);
    }
    if let Some(clique) = object.object("clique")? {
        return clique_of(&clique);
    }
    let Some(ethash) = object.object("ethash")? else { return Ok(Consensus::Work) };
    settings::check(&ethash, &settings::ETHASH)?;
    fixed_difficulty(&ethash)
}

/// Clique with the names of geth and Nethermind, or with Besu's.
pub(super) fn clique_of(clique: &Object<'_>) -> Result<Consensus, SpecError> {
    settings::check(clique, &settings::CLIQUE)?;
    let either = |name, of_besu| Ok::<_, SpecError>(clique.u64(name)?.or(clique.u64(of_besu)?));
    let period = either("period", "blockPeriodSeconds")?.unwrap_or(Clique::DEFAULT.period);
    let epoch = either("epoch", "epochLength")?.filter(|epoch| *epoch > 0);
    let epoch = epoch.unwrap_or(Clique::DEFAULT.epoch);
    Ok(Consensus::Clique(Clique { period, epoch }))
}

/// The setting `fixedDifficulty` of proof of work.
pub(super) fn fixed_difficulty(ethash: &Object<'_>) -> Result<Consensus, SpecError> {
    let Some(fixed) = ethash.u256("fixedDifficulty")? else { return Ok(Consensus::Work) };
    if fixed.is_zero() {
        return Err(malformed("fixedDifficulty", "a number from 1 on", "0"));
    }
    Ok(Consensus::FixedDifficulty(fixed))
}

pub(super) fn blobs(entry: &Object<'_>) -> Result<BlobParams, SpecError> {
    settings::check(entry, &settings::BLOBS)?;
    Ok(BlobParams {
        target: entry.u64("target")?.unwrap_or(0),
        max: entry.u64("max")?.unwrap_or(0),
        base_fee_update_fraction: entry.u64("baseFeeUpdateFraction")?.unwrap_or(0),
    })
}

pub(super) fn account(address: &str, object: &Object<'_>) -> Result<GenesisAccount, SpecError> {
    settings::check(object, &settings::ACCOUNT)?;
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let parsed: Option<Address> = bytes(digits).and_then(|bytes| bytes.try_into().ok());
    let mut storage = Vec::new();
    if let Some(slots) = object.object("storage")? {
        storage.reserve_exact(slots.all().len());
        for (key, _) in slots.all() {
            let name = word(key).ok_or_else(|| malformed(address, "a storage key", key))?;
            let value = slots.read(key, "a storage value of at most 32 bytes", word)?;
            // a slot that holds 0 is no slot
            storage.extend(value.filter(|value| *value != [0; 32]).map(|value| (name, value)));
        }
    }
    Ok(GenesisAccount {
        address: parsed.ok_or_else(|| malformed("alloc", "an address of 20 bytes", address))?,
        balance: object.u256("balance")?.ok_or_else(|| malformed(address, "a balance", "none"))?,
        nonce: object.u64("nonce")?.unwrap_or(0),
        code: object.bytes("code")?,
        storage,
    })
}

#[cfg(test)]
mod tests {
    use super::super::object::number;
    use super::*;
    use crate::U256;
    use crate::params::{ChainSpec, Fork};

    const CONFIG: &str = r#""chainId": 7, "homesteadBlock": 0"#;

    fn spec(config: &str, rest: &str) -> Result<ChainSpec, SpecError> {
        let text = format!(
            r#"{{"config": {{{config}}}, "gasLimit": "0x1388", "difficulty": 131072 {rest}}}"#
        );
        ChainSpec::from_genesis_json(&text)
    }

    fn refusal(config: &str, rest: &str) -> String {
        spec(config, rest).map(|spec| spec.name).unwrap_err().to_string()
    }

    #[test]
    fn reads_numbers_in_every_form_that_geth_takes() {
        for (text, expected) in [
            ("17", Some(17)),
            ("0x11", Some(17)),
            ("0X11", Some(17)),
            ("", Some(0)),
            ("007", Some(7)),
        ] {
            assert_eq!(number(text), expected.map(U256::from), "{text}");
        }
        for text in ["0x", "-1", "1e3", "1_000", "0xg", "1.0", "nine"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number(&format!("0x1{}", "0".repeat(64))), None);
    }

    #[test]
    fn a_small_file_gives_header_state_and_rules() {
        let config = r#""chainId": "0x7", "homesteadBlock": 3, "ethash": {}, "yolov2Block": 1"#;
        let alloc = r#", "nonce": "0x42", "timestamp": 5, "alloc": {
            "0x00000000000000000000000000000000000000aa": {"balance": "0x10", "nonce": 1,
                "code": "0x00", "storage": {"0x01": "0x02", "03": "0x00"}},
            "00000000000000000000000000000000000000bb": {"balance": "20"}}"#;
        let spec = spec(config, alloc).unwrap();
        assert_eq!((spec.chain_id, spec.rules_at(3, 0).fork), (U256::from(7), Fork::Homestead));
        let header = &spec.genesis.header;
        assert_eq!((header.gas_limit, header.timestamp), (5_000, 5));
        assert_eq!(header.nonce, 0x42u64.to_be_bytes());
        let accounts = spec.genesis.accounts().unwrap();
        assert_eq!(accounts.len(), 2);
        assert_eq!(accounts[0].balance, U256::from(16));
        assert_eq!(accounts[0].storage.len(), 1, "a slot that holds 0 is no slot");
        assert_eq!(accounts[1].balance, U256::from(20));
    }

    #[test]
    fn later_fields_begin_with_their_forks() {
        let forks = "homesteadBlock eip150Block eip155Block eip158Block byzantiumBlock \
            constantinopleBlock petersburgBlock istanbulBlock berlinBlock londonBlock \
            shanghaiTime cancunTime pragueTime osakaTime amsterdamTime terminalTotalDifficulty";
        let zero = |fork| format!("\"{fork}\": 0");
        let config: Vec<_> = forks.split_whitespace().map(zero).collect();
        let spec = spec(&config.join(","), r#", "alloc": {}"#).unwrap();
        let header = &spec.genesis.header;
        assert_eq!(header.base_fee, Some(U256::from(1_000_000_000)));
        assert!(header.requests_hash.is_some() && header.slot_number == Some(0));
    }

    #[test]
    fn says_what_is_wrong_with_a_file() {
        let alloc = r#", "alloc": {}"#;
        assert!(refusal(CONFIG, "").contains("alloc is missing"));
        let late = r#""londonBlock": 9, "berlinBlock": 12"#;
        assert!(refusal(late, alloc).contains("berlinBlock"));
        assert!(refusal(r#""shanghaiTime": 1"#, alloc).contains("shanghaiTime is set"));
        let sealed = r#""shanghaiTime": 0, "clique": {"period": 15}"#;
        assert!(refusal(sealed, alloc).contains("shanghaiTime"));
        assert!(refusal(r#""homesteadBlock": "x""#, alloc).contains("homesteadBlock in config"));
        assert!(refusal(r#""clique": {"epochs": 15}"#, alloc).contains("epochs"));
        assert!(refusal(r#""ethash": {"fixedDifficulty": 0}"#, alloc).contains("from 1 on"));
        assert!(refusal(r#""bogotaTime": 1"#, alloc).contains("not supported: bogotaTime"));
        assert!(refusal(CONFIG, r#", "alloc": {"12": {"balance": "1"}}"#).contains("20 bytes"));
        assert!(refusal(CONFIG, r#", "alloc": []"#).starts_with("alloc: "));
        assert!(ChainSpec::from_genesis_json("{").is_err());
        let twice = r#", "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": 1},
            "00000000000000000000000000000000000000aa": {"balance": 2}}"#;
        assert!(refusal(CONFIG, twice).contains("each account once"));
    }

    #[test]
    fn clique_settings_do_not_matter_under_proof_of_stake() {
        let config = r#""clique": {"period": 5}, "terminalTotalDifficulty": 0"#;
        let spec = spec(config, r#", "alloc": {}"#).unwrap();
        assert_eq!(spec.consensus, Consensus::Work);
    }

    #[test]
    fn clique_and_a_fixed_difficulty_have_the_names_of_every_client() {
        let consensus = |config: &str| spec(config, r#", "alloc": {}"#).unwrap().consensus;
        let clique = |period, epoch| Consensus::Clique(Clique { period, epoch });
        assert_eq!(consensus(r#""clique": {"period": 5, "epoch": 7}"#), clique(5, 7));
        // geth takes 30,000 for an epoch of 0
        assert_eq!(consensus(r#""clique": {"period": 0, "epoch": 0}"#), clique(0, 30_000));
        let of_besu = r#""clique": {"blockperiodseconds": 2, "epochlength": 9}"#;
        assert_eq!(consensus(of_besu), clique(2, 9));
        let fixed = Consensus::FixedDifficulty(U256::from(100));
        assert_eq!(consensus(r#""ethash": {"fixeddifficulty": 100}"#), fixed);
        assert_eq!(consensus(r#""ethash": {}"#), Consensus::Work);
    }

    #[test]
    fn shanghai_at_genesis_means_proof_of_stake_from_genesis() {
        let config = r#""chainId": 7, "shanghaiTime": 0, "cancunTime": 9"#;
        let found = spec(config, r#", "alloc": {}"#).unwrap();
        let merge = found.merge.unwrap();
        assert_eq!((merge.terminal_total_difficulty, merge.latest), (U256::ZERO, 0));
        assert_eq!(
            (found.rules_at(0, 0).fork, found.rules_at(1, 9).fork),
            (Fork::Shanghai, Fork::Cancun)
        );
        // later, where the first block has no difficulty
        let config = r#""chainId": 7, "shanghaiTime": 5"#;
        let text = format!(
            r#"{{"config": {{{config}}}, "gasLimit": 5000, "difficulty": 0, "alloc": {{}}}}"#
        );
        let found = ChainSpec::from_genesis_json(&text).unwrap();
        assert_eq!(
            (found.rules_at(1, 4).fork, found.rules_at(1, 5).fork),
            (Fork::Paris, Fork::Shanghai)
        );
    }

    #[test]
    fn chain_ids_have_up_to_256_bits() {
        let config = r#""chainId": 58750000000000000000000"#;
        let found = spec(config, r#", "alloc": {}"#).unwrap();
        assert_eq!(found.chain_id.to_string(), "58750000000000000000000");
    }

    #[test]
    fn big_numbers_without_quotes_stay_exact() {
        let config = r#""terminalTotalDifficulty": 58750000000000000000000"#;
        let merge = spec(config, r#", "alloc": {}"#).unwrap().merge.unwrap();
        assert_eq!(merge.terminal_total_difficulty.to_string(), "58750000000000000000000");
    }
}
