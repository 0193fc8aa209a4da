//! Reads a genesis.json as geth does: numbers as decimal or 0x text, quoted or not; unknown
//! fields are passed over.

use super::{Alloc, Fields, GenesisAccount};
use crate::error::SpecError;
use crate::params::{BlobParams, Config, SWITCHES};
use crate::{Address, Hash, U256};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A JSON object whose values are not looked at yet.
struct Object<'a> {
    /// Where it stands in the file.
    name: &'a str,
    fields: BTreeMap<String, &'a RawValue>,
}

/// The chain's configuration, its first header and its first accounts.
pub(crate) fn from_json(text: &str) -> Result<(Config, Fields, Alloc), SpecError> {
    let file = Object::parse("genesis.json", text)?;
    let config = config(&file.object("config")?.ok_or(missing("config"))?)?;
    let fields = fields(&file)?;
    let alloc = file.object("alloc")?.ok_or(missing("alloc"))?;
    let mut accounts = Vec::with_capacity(alloc.fields.len());
    for (address, account) in &alloc.fields {
        accounts.push(self::account(address, &Object::parse(address, account.get())?)?);
    }
    accounts.sort_by_key(|account| account.address);
    if let Some(pair) = accounts.windows(2).find(|pair| pair[0].address == pair[1].address) {
        let found = crate::error::Hex(&pair[0].address).to_string();
        return Err(malformed("alloc", "each account once", &found));
    }
    Ok((config, fields, Alloc::Given(accounts)))
}

fn missing(field: &'static str) -> SpecError {
    SpecError::Missing { field }
}

fn malformed(field: &str, expected: &'static str, found: &str) -> SpecError {
    SpecError::Field { field: field.into(), expected, found: found.chars().take(80).collect() }
}

impl<'a> Object<'a> {
    fn parse(name: &'a str, text: &'a str) -> Result<Self, SpecError> {
        match serde_json::from_str(text) {
            Ok(fields) => Ok(Self { name, fields }),
            Err(problem) => {
                Err(SpecError::Json { field: name.into(), problem: problem.to_string() })
            }
        }
    }

    /// The text of a field, unless it is missing or null.
    fn text(&self, field: &str) -> Option<&'a str> {
        self.fields.get(field).map(|value| value.get()).filter(|text| *text != "null")
    }

    fn object(&self, field: &'a str) -> Result<Option<Object<'a>>, SpecError> {
        self.text(field).map(|text| Object::parse(field, text)).transpose()
    }

    /// A field through `read`, which gets its text without quotes.
    fn read<T>(
        &self,
        field: &str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, SpecError> {
        let Some(text) = self.text(field) else { return Ok(None) };
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let name = || format!("{} in {}", field, self.name);
        read(bare).map(Some).ok_or_else(|| malformed(&name(), expected, text))
    }

    fn u256(&self, field: &str) -> Result<Option<U256>, SpecError> {
        self.read(field, "a number of at most 256 bits", number)
    }

    fn u64(&self, field: &str) -> Result<Option<u64>, SpecError> {
        let read = |text: &str| number(text).and_then(|number| u64::try_from(number).ok());
        self.read(field, "a number of at most 64 bits", read)
    }

    fn flag(&self, field: &str) -> Result<bool, SpecError> {
        let flag = self.read(field, "true or false", |text| text.parse().ok())?;
        Ok(flag.unwrap_or(false))
    }

    /// Bytes of a fixed length, 0 when the field is missing.
    fn fixed<const N: usize>(&self, field: &str) -> Result<[u8; N], SpecError> {
        let read = |text: &str| bytes(text.strip_prefix("0x")?)?.try_into().ok();
        let expected = "0x and the right number of hexadecimal digits";
        Ok(self.read(field, expected, read)?.unwrap_or([0; N]))
    }

    /// Bytes of any length, none when the field is missing.
    fn bytes(&self, field: &str) -> Result<Vec<u8>, SpecError> {
        let read = |text: &str| if text.is_empty() { Some(vec![]) } else { prefixed(text) };
        Ok(self.read(field, "0x and hexadecimal digits", read)?.unwrap_or_default())
    }
}

/// A number as geth writes it: decimal, or 0x and hexadecimal; nothing is 0.
fn number(text: &str) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.is_empty() => return Some(U256::ZERO),
        None => (text, 10),
    };
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    valid.then(|| U256::from_str_radix(digits, u64::from(radix)).ok()).flatten()
}

fn prefixed(text: &str) -> Option<Vec<u8>> {
    bytes(text.strip_prefix("0x")?)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// Up to 32 bytes, filled with zeros from the left, as geth takes storage keys and values.
fn word(text: &str) -> Option<Hash> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let bytes = bytes(digits)?;
    let mut word = [0; 32];
    word.get_mut(32usize.checked_sub(bytes.len())?..)?.copy_from_slice(&bytes);
    Some(word)
}

fn config(object: &Object<'_>) -> Result<Config, SpecError> {
    let mut config = Config::frontier(object.u64("chainId")?.unwrap_or(0));
    config.dao_fork_support = object.flag("daoForkSupport")?;
    config.terminal_total_difficulty = object.u256("terminalTotalDifficulty")?;
    for switch in &SWITCHES {
        if let Some(at) = object.u64(switch.key)? {
            config.set(switch.key, at);
        }
    }
    if let Some(schedule) = object.object("blobSchedule")? {
        for fork in SWITCHES.iter().filter_map(|switch| switch.blob_key()) {
            if let Some(entry) = schedule.object(fork)? {
                config.set_blobs(fork, blobs(&entry)?);
            }
        }
    }
    unsupported(object, &config)?;
    Ok(config)
}

/// Refuses a chain that stands on something this program does not have.
fn unsupported(object: &Object<'_>, config: &Config) -> Result<(), SpecError> {
    for (key, feature) in [
        ("bogotaTime", "bogotaTime: the fork after Amsterdam"),
        ("ubtTime", "ubtTime: the binary state tree"),
        ("verkleTime", "verkleTime: the verkle state tree"),
    ] {
        if object.text(key).is_some() {
            return Err(SpecError::Unsupported { feature });
        }
    }
    for key in ["enableUBTAtGenesis", "enableVerkleAtGenesis"] {
        if object.flag(key)? {
            let feature = "another state tree at genesis";
            return Err(SpecError::Unsupported { feature });
        }
    }
    // a chain that starts under proof of stake never uses its clique settings
    let from_genesis = config.terminal_total_difficulty.is_some_and(|total| total.is_zero());
    if object.text("clique").is_some() && !from_genesis {
        let feature = "clique: proof-of-authority seals";
        return Err(SpecError::Unsupported { feature });
    }
    Ok(())
}

fn blobs(entry: &Object<'_>) -> Result<BlobParams, SpecError> {
    Ok(BlobParams {
        target: entry.u64("target")?.unwrap_or(0),
        max: entry.u64("max")?.unwrap_or(0),
        base_fee_update_fraction: entry.u64("baseFeeUpdateFraction")?.unwrap_or(0),
    })
}

fn fields(file: &Object<'_>) -> Result<Fields, SpecError> {
    Ok(Fields {
        number: file.u64("number")?.unwrap_or(0),
        timestamp: file.u64("timestamp")?.unwrap_or(0),
        parent_hash: file.fixed("parentHash")?,
        coinbase: file.fixed("coinbase")?,
        difficulty: file.u256("difficulty")?.ok_or(missing("difficulty"))?,
        gas_limit: file.u64("gasLimit")?.ok_or(missing("gasLimit"))?,
        gas_used: file.u64("gasUsed")?.unwrap_or(0),
        extra_data: file.bytes("extraData")?,
        mix_hash: file.fixed(if file.text("mixHash").is_some() { "mixHash" } else { "mixhash" })?,
        nonce: file.u64("nonce")?.unwrap_or(0),
        base_fee: file.u256("baseFeePerGas")?,
        excess_blob_gas: file.u64("excessBlobGas")?,
        blob_gas_used: file.u64("blobGasUsed")?,
        slot_number: file.u64("slotNumber")?,
    })
}

fn account(address: &str, object: &Object<'_>) -> Result<GenesisAccount, SpecError> {
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let parsed: Option<Address> = bytes(digits).and_then(|bytes| bytes.try_into().ok());
    let mut storage = Vec::new();
    if let Some(slots) = object.object("storage")? {
        for key in slots.fields.keys() {
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
    use super::*;
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
        assert_eq!((spec.chain_id, spec.fork_at(3, 0)), (7, Fork::Homestead));
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
        assert!(refusal(r#""londonBlock": 1"#, alloc).contains("londonBlock is set"));
        assert!(refusal(r#""homesteadBlock": "x""#, alloc).contains("homesteadBlock in config"));
        assert!(refusal(r#""clique": {"period": 15}"#, alloc).contains("clique"));
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
        assert!(spec(config, r#", "alloc": {}"#).is_ok());
    }

    #[test]
    fn big_numbers_without_quotes_stay_exact() {
        let config = r#""terminalTotalDifficulty": 58750000000000000000000"#;
        let merge = spec(config, r#", "alloc": {}"#).unwrap().merge.unwrap();
        assert_eq!(merge.terminal_total_difficulty.to_string(), "58750000000000000000000");
    }
}
