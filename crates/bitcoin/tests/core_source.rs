//! Constants and known values of Bitcoin Core's source, read when the test runs.
//! `BLOCKMILL_CORE_SOURCE` is its folder `src`.

use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::header::{compact, target};
use blockmill_bitcoin::params::{Params, Repeat};
use ruint::aliases::U256;

/// The part of `text` from `start` up to `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find(end)?])
}

fn field(class: &str, name: &str) -> String {
    let value = between(class, &format!("consensus.{name} = "), ";");
    value.unwrap_or_else(|| panic!("{name}")).to_string()
}

/// The 64 digits of `uint256{"..."}`; `None` of `uint256{}` and `uint256()`.
fn digits(value: &str) -> Option<String> {
    between(value, "\"", "\"").map(str::to_string)
}

fn number(value: &str) -> u64 {
    value.split('*').map(|factor| factor.trim().parse::<u64>().unwrap()).product()
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn networks_have_the_constants_of_core() {
    let folder = blockmill_testkit::path_of("core_source");
    let text = std::fs::read_to_string(folder.join("kernel/chainparams.cpp")).unwrap();
    let classes = [
        ("mainnet", "class CMainParams"),
        ("testnet3", "class CTestNetParams"),
        ("testnet4", "class CTestNet4Params"),
        ("signet", "class SigNetParams"),
        ("regtest", "class CRegTestParams"),
    ];
    for (name, class) in classes {
        let class = between(&text, class, "\n};").unwrap();
        check_network(&Params::by_name(name).unwrap(), class);
    }
    let validation = std::fs::read_to_string(folder.join("validation.cpp")).unwrap();
    let repeats = between(&validation, "bool IsBIP30Repeat", "\n}").unwrap();
    for Repeat { height, hash, .. } in Params::mainnet().bip30_repeats {
        assert!(repeats.contains(&format!("nHeight=={height} ")), "{height}");
        assert!(repeats.contains(&hash.to_string()), "{height}");
    }
    assert_eq!(repeats.matches("nHeight==").count(), Params::mainnet().bip30_repeats.len());
}

fn check_network(params: &Params, class: &str) {
    let name = params.name;
    let shown = BlockHash::to_string;
    let heights = [
        ("BIP34Height", params.bip34_height),
        ("BIP65Height", params.bip65_height),
        ("BIP66Height", params.bip66_height),
        ("CSVHeight", params.csv_height),
        ("SegwitHeight", params.segwit_height),
        ("nSubsidyHalvingInterval", params.halving),
        ("nPowTargetTimespan", params.period_seconds),
        ("nPowTargetSpacing", params.block_seconds),
    ];
    for (field_name, ours) in heights {
        assert_eq!(number(&field(class, field_name)), u64::from(ours), "{name} {field_name}");
    }
    let flags = [
        ("fPowAllowMinDifficultyBlocks", params.min_difficulty),
        ("fPowNoRetargeting", params.no_retarget),
        ("enforce_BIP94", params.bip94),
    ];
    for (field_name, ours) in flags {
        // regtest's depends on an option that is off
        let core = field(class, field_name) == "true";
        assert_eq!(core, ours, "{name} {field_name}");
    }
    let limit = digits(&field(class, "powLimit")).unwrap();
    assert_eq!(format!("{:064x}", params.pow_limit), limit, "{name}");
    let hash = digits(&field(class, "BIP34Hash"));
    assert_eq!(params.bip34_hash.as_ref().map(shown), hash, "{name}");
    let assumed = digits(&field(class, "defaultAssumeValid"));
    assert_eq!(params.assume_valid.as_ref().map(shown), assumed, "{name}");
    let genesis = between(class, "hashGenesisBlock == uint256{\"", "\"").unwrap();
    assert_eq!(shown(&params.genesis_hash), genesis, "{name}");
    if params.signet_challenge.is_none() {
        for (at, byte) in params.magic.iter().enumerate() {
            assert!(class.contains(&format!("pchMessageStart[{at}] = 0x{byte:02x};")), "{name}");
        }
    }
    let exceptions: Vec<&str> = class.split("script_flag_exceptions.emplace(").skip(1).collect();
    assert_eq!(exceptions.len(), params.exceptions.len(), "{name}");
    for (core, ours) in exceptions.iter().zip(params.exceptions) {
        assert_eq!(digits(core).unwrap(), shown(&ours.hash), "{name}");
        let flags = between(core, "}, ", ");").unwrap();
        let has = |flag| flags.contains(flag);
        assert_eq!(
            [ours.p2sh, ours.witness, ours.taproot],
            [has("P2SH"), has("WITNESS"), has("TAPROOT")],
            "{name}"
        );
    }
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn compact_numbers_are_those_of_core() {
    let folder = blockmill_testkit::path_of("core_source");
    let text = std::fs::read_to_string(folder.join("test/arith_uint256_tests.cpp")).unwrap();
    let text = between(&text, "bignum_SetCompact)", "\n}").unwrap();
    let mut count = 0;
    for case in text.split("num.SetCompact(").skip(1) {
        let bits = case.split(',').next().unwrap();
        let bits = u32::from_str_radix(bits.trim_start_matches("0x"), 16).unwrap();
        let has = |name| case.contains(&format!("{name}, true"));
        let hex = between(case, "GetHex(), \"", "\"");
        let value = hex.map(|hex| U256::from_str_radix(hex, 16).unwrap());
        let wanted = value.filter(|value| !has("fNegative") && !value.is_zero());
        let wanted = wanted.filter(|_| !has("fOverflow"));
        assert_eq!(target(bits), wanted, "{bits:08x}");
        if let Some(value) = wanted {
            let again = between(case, "GetCompact(), 0x", "U").unwrap();
            assert_eq!(compact(value), u32::from_str_radix(again, 16).unwrap(), "{bits:08x}");
        }
        count += 1;
    }
    assert!(count > 15, "{count} cases");
}
