//! Every setting of a genesis file that this program knows, and what it does with it: a setting
//! that is not in these tables is refused, since it may be a rule of the chain.
//!
//! `docs/genesis-settings.md` is written from these tables, and a test compares it with them.

pub(super) mod chainspec;

use super::object::{Object, number};
use crate::params::{SWITCHES, SpecError};

/// What is done with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is read, and obeyed or refused for its value.
    Obeyed,
    /// It changes no block and no state: passed over.
    Harmless,
    /// Another value than one of these is refused: they say what this program does anyway.
    Only(&'static [&'static str]),
}

/// A setting of a genesis file.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name; letters may be large or small.
    pub key: &'static str,
    /// What is done with it.
    pub usage: Use,
    /// What it means, and why it is used so.
    pub reason: &'static str,
}

/// Settings of one object of a file.
#[derive(Debug)]
pub(crate) struct Table {
    /// Which object it is.
    pub place: &'static str,
    /// The settings.
    pub settings: &'static [Setting],
}

const fn obeyed(key: &'static str, reason: &'static str) -> Setting {
    Setting { key, usage: Use::Obeyed, reason }
}

const fn harmless(key: &'static str, reason: &'static str) -> Setting {
    Setting { key, usage: Use::Harmless, reason }
}

const fn only(key: &'static str, values: &'static [&'static str], reason: &'static str) -> Setting {
    Setting { key, usage: Use::Only(values), reason }
}

const fn refused(key: &'static str, reason: &'static str) -> Setting {
    only(key, &[], reason)
}

/// The value of a flag that is not set.
const OFF: &[&str] = &["false"];

/// A genesis.json of geth, Besu, GoQuorum, Erigon or reth.
pub(super) static FILE: Table = Table {
    place: "the file",
    settings: &[
        obeyed("config", "rules of the chain"),
        obeyed("alloc", "first accounts"),
        obeyed("number", "header"),
        obeyed("timestamp", "header"),
        obeyed("parentHash", "header"),
        obeyed("coinbase", "header"),
        obeyed("difficulty", "header"),
        obeyed("gasLimit", "header"),
        obeyed("gasUsed", "header"),
        obeyed("extraData", "header"),
        obeyed("mixHash", "header"),
        obeyed("nonce", "header"),
        obeyed("baseFeePerGas", "header"),
        obeyed("excessBlobGas", "header"),
        obeyed("blobGasUsed", "header"),
        obeyed("slotNumber", "header"),
        only("parentBeaconBlockRoot", &["0x0"], "header: the genesis block has the root 0"),
        refused("stateHash", "Besu: a state root instead of accounts"),
        harmless("bootnodes", "peers"),
        harmless("comment", "text for people"),
        harmless("_comment", "text for people"),
    ],
};

/// The object `config` of a genesis.json, next to the forks of [`SWITCHES`].
pub(super) static CONFIG: Table = Table {
    place: "config",
    settings: &[
        obeyed("chainId", "chain id"),
        obeyed("daoForkSupport", "side in the DAO fork"),
        obeyed("terminalTotalDifficulty", "end of proof of work"),
        obeyed("depositContractAddress", "deposits (EIP-6110)"),
        obeyed("blobSchedule", "blob numbers (EIP-7840)"),
        obeyed("ethash", "proof of work"),
        obeyed("clique", "proof of authority (EIP-225); who may sign is not checked"),
        obeyed("ibft2", "Besu: blocks sealed by validators; who may be one is not checked"),
        obeyed("qbft", "Besu: blocks sealed by validators; who may be one is not checked"),
        obeyed("constantinopleFixBlock", "Besu's name of petersburgBlock"),
        obeyed("contractSizeLimit", "Besu: most bytes of a contract's code (EIP-170)"),
        harmless("terminalTotalDifficultyPassed", "how a node syncs; geth dropped it"),
        harmless("eip150Hash", "hash of a block, for sync; geth dropped it"),
        harmless("yolov1Block", "test fork that became Berlin; geth dropped it"),
        harmless("yolov2Block", "test fork that became Berlin; geth dropped it"),
        harmless("yolov3Block", "test fork that became Berlin; geth dropped it"),
        harmless("discovery", "Besu: peers"),
        harmless("checkpoint", "Besu: where a sync begins"),
        harmless("bootnodes", "peers"),
        harmless("chainName", "Erigon: a name"),
        harmless("networkName", "a name"),
        harmless("txnSizeLimit", "GoQuorum: what the transaction pool takes"),
        harmless("comment", "text for people"),
        harmless("_comment", "text for people"),
        only("consensus", &["ethash", "clique"], "Erigon: the engine of the seals"),
        refused("bogotaTime", "the fork after Amsterdam"),
        refused("ubtTime", "the binary state tree"),
        refused("verkleTime", "the verkle state tree"),
        only("enableUBTAtGenesis", OFF, "another state tree at genesis"),
        only("enableVerkleAtGenesis", OFF, "another state tree at genesis"),
        refused("futureEipsTime", "rules that are not decided"),
        refused("experimentalEipsTime", "rules that are not decided"),
        refused("classicForkBlock", "Ethereum Classic"),
        refused("ecip1015Block", "Ethereum Classic"),
        refused("ecip1017EraRounds", "Ethereum Classic"),
        refused("ecip1041Block", "Ethereum Classic"),
        refused("ecip1049Block", "Ethereum Classic"),
        refused("dieHardBlock", "Ethereum Classic"),
        refused("gothamBlock", "Ethereum Classic"),
        refused("atlantisBlock", "Ethereum Classic"),
        refused("aghartaBlock", "Ethereum Classic"),
        refused("phoenixBlock", "Ethereum Classic"),
        refused("thanosBlock", "Ethereum Classic"),
        refused("magnetoBlock", "Ethereum Classic"),
        refused("mystiqueBlock", "Ethereum Classic"),
        refused("spiralBlock", "Ethereum Classic"),
        refused("ibft", "blocks sealed by validators"),
        refused("istanbul", "blocks sealed by validators"),
        refused("aura", "blocks sealed by validators"),
        refused("bor", "blocks of Polygon"),
        refused("parlia", "blocks of the BNB chain"),
        only("transitions", &["{}", "[]"], "other rules from a block on"),
        only("zeroBaseFee", OFF, "blocks without a base fee"),
        only("fixedBaseFee", OFF, "a base fee that never changes"),
        only("evmStackSize", &["1024"], "Besu: another stack of the machine"),
        only("ecCurve", &["secp256k1"], "Besu: signatures of another curve"),
        only("isQuorum", OFF, "blocks of GoQuorum"),
        only("isMPS", OFF, "GoQuorum: private states"),
        only("hasPrivate", OFF, "GoQuorum: private states"),
        refused("qip714Block", "GoQuorum: permissions"),
        refused("maxCodeSize", "GoQuorum counts KiB; Besu's contractSizeLimit counts bytes"),
        refused("maxCodeSizeConfig", "GoQuorum: code sizes from blocks on"),
        refused("maxCodeSizeChangeBlock", "GoQuorum: a code size from a block on"),
        refused("privacyEnhancementsBlock", "GoQuorum: private states"),
        refused("privacyPrecompileBlock", "GoQuorum: private states"),
        refused("terminalBlockHash", "a last block of proof of work by its hash"),
        refused("terminalBlockNumber", "a last block of proof of work by its number"),
        only(
            "withdrawalRequestContractAddress",
            &["0x00000961ef480eb55e80d19ad83579a64c007002"],
            "Besu: another contract of EIP-7002",
        ),
        only(
            "consolidationRequestContractAddress",
            &["0x0000bbddc7ce488642fb579f8b00f3a590007251"],
            "Besu: another contract of EIP-7251",
        ),
        only(
            "builderDepositRequestContractAddress",
            &["0x0000bff46984e3725691fa540a8c7589300d8282"],
            "Besu: another contract of EIP-8282",
        ),
        only(
            "builderExitRequestContractAddress",
            &["0x000064d678505ad48f8ccb093bc65613800e8282"],
            "Besu: another contract of EIP-8282",
        ),
    ],
};

/// The object `ethash` of the object `config`.
pub(super) static ETHASH: Table = Table {
    place: "config.ethash",
    settings: &[obeyed("fixedDifficulty", "a difficulty that never changes")],
};

/// The object `clique` of a genesis.json, and `engine.clique.params` of a chainspec.
pub(super) static CLIQUE: Table = Table {
    place: "clique",
    settings: &[
        obeyed("period", "seconds between blocks"),
        obeyed("epoch", "blocks between checkpoints"),
        obeyed("blockPeriodSeconds", "Besu's name of period"),
        obeyed("epochLength", "Besu's name of epoch"),
        harmless("createEmptyBlocks", "Besu: when a node makes blocks"),
    ],
};

/// The objects `ibft2` and `qbft` of a genesis.json.
pub(super) static BFT: Table = Table {
    place: "ibft2 and qbft",
    settings: &[
        obeyed("blockPeriodSeconds", "seconds between blocks, 1 if left out"),
        obeyed("miningBeneficiary", "who gets fees and rewards"),
        obeyed("blockReward", "wei for each block"),
        harmless("epochLength", "blocks after which votes are forgotten; they are not checked"),
        harmless("requestTimeoutSeconds", "messages of validators"),
        harmless("gossipedHistoryLimit", "messages of validators"),
        harmless("messageQueueLimit", "messages of validators"),
        harmless("duplicateMessageLimit", "messages of validators"),
        harmless("futureMessagesLimit", "messages of validators"),
        harmless("futureMessagesMaxDistance", "messages of validators"),
        harmless("xEmptyBlockPeriodSeconds", "when a node makes blocks"),
        only("xBlockPeriodMilliseconds", &["0"], "blocks of less than a second"),
        refused("validatorContractAddress", "validators that a contract names"),
        refused("startBlock", "another engine before this block"),
    ],
};

/// An account of any genesis file.
pub(super) static ACCOUNT: Table = Table {
    place: "an account",
    settings: &[
        obeyed("balance", "wei"),
        obeyed("nonce", "transactions sent"),
        obeyed("code", "code"),
        obeyed("storage", "slots"),
        obeyed("constructor", "chainspec: code that makes code, refused"),
        harmless("builtin", "chainspec: a precompiled contract"),
        harmless("secretKey", "the key of the account"),
        harmless("privateKey", "the key of the account"),
        harmless("comment", "text for people"),
        harmless("_comment", "text for people"),
    ],
};

/// An entry of `blobSchedule`.
pub(super) static BLOBS: Table = Table {
    place: "blobSchedule",
    settings: &[
        obeyed("timestamp", "chainspec: when it begins"),
        obeyed("target", "blobs at which the price stays"),
        obeyed("max", "most blobs of a block"),
        obeyed("baseFeeUpdateFraction", "slowness of the price"),
    ],
};

/// Refuses what a table does not know, and values that this program does not have.
pub(super) fn check(object: &Object<'_>, table: &Table) -> Result<(), SpecError> {
    check_with(object, table, |_| false)
}

/// [`check`] for an object with settings besides those of the table.
pub(super) fn check_with(
    object: &Object<'_>,
    table: &Table,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), SpecError> {
    for (key, text) in object.all().filter(|(key, text)| *text != "null" && !is_known(key)) {
        let named = |known: &&Setting| known.key.eq_ignore_ascii_case(key);
        let Some(setting) = table.settings.iter().find(named) else {
            let (setting, place) = (key.chars().take(80).collect(), table.place);
            return Err(SpecError::UnknownSetting { setting, place });
        };
        if let Use::Only(values) = setting.usage
            && !values.iter().any(|value| is_same(value, text))
        {
            let feature = format!("{}: {}", setting.key, setting.reason);
            return Err(SpecError::Unsupported { feature: feature.into() });
        }
    }
    Ok(())
}

/// Whether a name is a fork in a genesis.json.
pub(super) fn is_fork(key: &str) -> bool {
    SWITCHES.iter().any(|switch| switch.key.eq_ignore_ascii_case(key))
}

/// Whether a value in a file is this one: a number in any form, or the same text.
fn is_same(value: &str, text: &str) -> bool {
    let bare = text.trim_matches('"');
    match (number(value), number(bare)) {
        (Some(value), Some(found)) => value == found,
        _ => bare.split_whitespace().collect::<String>().eq_ignore_ascii_case(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::ChainSpec;

    static TABLES: [&Table; 13] = [
        &FILE,
        &CONFIG,
        &ETHASH,
        &CLIQUE,
        &BFT,
        &ACCOUNT,
        &BLOBS,
        &chainspec::FILE,
        &chainspec::PARAMS,
        &chainspec::ENGINE,
        &chainspec::ETHASH,
        &chainspec::GENESIS,
        &chainspec::SEAL,
    ];

    /// The tables as the document has them.
    fn document() -> String {
        let mut text = String::new();
        for table in TABLES {
            text += &format!(
                "\n## In {}\n\n| setting | what is done | what it is |\n|---|---|---|\n",
                table.place
            );
            for setting in table.settings {
                let done = match setting.usage {
                    Use::Obeyed => "read".into(),
                    Use::Harmless => "passed over".into(),
                    Use::Only([]) => "refused".into(),
                    Use::Only(values) => format!("refused unless `{}`", values.join("` or `")),
                };
                text += &format!("| `{}` | {done} | {} |\n", setting.key, setting.reason);
            }
        }
        text
    }

    #[test]
    fn the_document_has_every_setting() {
        let written = include_str!("../../../../../docs/genesis-settings.md");
        let found = document();
        assert!(written.ends_with(&found), "docs/genesis-settings.md should end so:\n{found}");
    }

    fn refusal(config: &str) -> Option<String> {
        let text = format!(
            "{{\"config\": {{\"chainId\": 1, {config}}}, \"gasLimit\": 5000, \
             \"difficulty\": 1, \"alloc\": {{}}}}"
        );
        ChainSpec::from_genesis_json(&text).err().map(|error| error.to_string())
    }

    #[test]
    fn each_setting_of_a_genesis_json_is_obeyed_passed_over_or_refused_by_name() {
        let mut refused = 0;
        for setting in CONFIG.settings {
            let odd = format!("\"{}\": \"odd\"", setting.key.to_uppercase());
            let found = refusal(&odd);
            match setting.usage {
                // it is read: "odd" is no value of most
                Use::Obeyed => {}
                Use::Harmless => assert_eq!(found, None, "{odd}"),
                Use::Only(values) => {
                    refused += 1;
                    let expected = format!("not supported: {}: {}", setting.key, setting.reason);
                    assert_eq!(found, Some(expected), "{odd}");
                    for value in values {
                        let quoted = format!("\"{}\": \"{value}\"", setting.key);
                        assert_eq!(refusal(&quoted), None, "{quoted}");
                    }
                }
            }
        }
        assert!(refused > 40, "{refused}");
    }

    #[test]
    fn a_setting_that_nobody_knows_is_refused_by_name_in_every_object() {
        let known = refusal("\"homesteadBlock\": 0");
        assert_eq!(known, None);
        let found = refusal("\"mysteryBlock\": 0").unwrap();
        assert!(found.starts_with("not supported: mysteryBlock in config"), "{found}");
        assert_eq!(refusal("\"mysteryBlock\": null"), None);
        for (text, expected) in [
            (
                r#"{"config": {}, "alloc": {}, "difficulty": 1, "gasLimit": 1, "x": 1}"#,
                "x in the file",
            ),
            (
                r#"{"config": {}, "alloc": {"0x00000000000000000000000000000000000000aa":
                    {"balance": 1, "y": 2}}, "difficulty": 1, "gasLimit": 1}"#,
                "y in an account",
            ),
            (
                r#"{"engine": {"Ethash": {"params": {"z": 1}}}, "params": {"chainID": 1},
                    "genesis": {"difficulty": 1, "gasLimit": 5000}, "accounts": {}}"#,
                "z in engine.Ethash.params",
            ),
            (r#"{"engine": {"Ethash": {}}, "params": {"chainID": 1, "w": 1}}"#, "w in params"),
        ] {
            let found = ChainSpec::from_genesis_json(text).unwrap_err().to_string();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
