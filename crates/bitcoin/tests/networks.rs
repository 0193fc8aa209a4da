//! The constants of the networks, against what Core asserts of them.

use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::datadir::network_flags;
use blockmill_bitcoin::header::rules::verify_work;
use blockmill_bitcoin::header::{Header, target};
use blockmill_bitcoin::params::{COIN, Params};
use blockmill_bitcoin::types::Amount;
use blockmill_verdict::Reversed;

const ROOT_OF_2009: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";

/// Name, magic, hash of the first block, its merkle root.
const KNOWN: [(&str, [u8; 4], &str, &str); 5] = [
    (
        "mainnet",
        [0xf9, 0xbe, 0xb4, 0xd9],
        "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
        ROOT_OF_2009,
    ),
    (
        "testnet3",
        [0x0b, 0x11, 0x09, 0x07],
        "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
        ROOT_OF_2009,
    ),
    (
        "testnet4",
        [0x1c, 0x16, 0x3f, 0x28],
        "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
        "7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e",
    ),
    (
        "signet",
        [0x0a, 0x03, 0xcf, 0x40],
        "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
        ROOT_OF_2009,
    ),
    (
        "regtest",
        [0xfa, 0xbf, 0xb5, 0xda],
        "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
        ROOT_OF_2009,
    ),
];

fn hash(text: &str) -> BlockHash {
    let byte = |at: usize| u8::from_str_radix(&text[62 - 2 * at..64 - 2 * at], 16).unwrap();
    BlockHash(std::array::from_fn(byte))
}

#[test]
fn core_is_started_with_the_flags_of_the_network() {
    for (name, flags) in [
        ("mainnet", ""),
        ("testnet3", " -chain=test"),
        ("testnet4", " -chain=testnet4"),
        ("signet", " -chain=signet"),
        ("regtest", " -chain=regtest"),
    ] {
        assert_eq!(network_flags(&Params::by_name(name).unwrap()), flags, "{name}");
    }
    let custom = network_flags(&Params::signet_with(vec![0x51]));
    assert_eq!(custom, " -chain=signet -signetchallenge=51");
}

#[test]
fn first_blocks_and_magics_are_the_known_ones() {
    for (name, magic, genesis, root) in KNOWN {
        let params = Params::by_name(name).unwrap();
        assert_eq!(params.name, name);
        assert_eq!(params.magic, magic, "{name}");
        assert_eq!(params.genesis_hash.to_string(), genesis);
        let header = Header(params.genesis.first_chunk().unwrap());
        assert_eq!(header.hash(), params.genesis_hash);
        assert_eq!(Reversed(&header.merkle_root()).to_string(), root);
        assert_eq!(header.previous(), BlockHash([0; 32]));
        // one transaction
        assert_eq!(params.genesis[80], 1);
        assert_eq!(blockmill_hashes::sha256d(&params.genesis[81..]), header.merkle_root());
        assert_eq!(verify_work(&params, header.bits(), &params.genesis_hash), Ok(()));
        assert!(target(header.bits()).unwrap() <= params.pow_limit);
        assert_eq!(Params::by_magic(magic), Some(params));
    }
    assert_eq!(Params::by_magic([0; 4]), None);
    assert_eq!(Params::by_name("litecoin"), None);
    for name in ["main", "test", "testnet"] {
        assert!(Params::by_name(name).is_some());
    }
}

#[test]
fn highest_targets_and_periods_are_the_known_ones() {
    let known = [0x1d00_ffff, 0x1d00_ffff, 0x1d00_ffff, 0x1e03_77ae, 0x207f_ffff];
    for (params, bits) in Params::all().iter().zip(known) {
        assert_eq!(params.limit_bits(), bits, "{}", params.name);
        assert_eq!(params.period(), if params.name == "regtest" { 144 } else { 2016 });
    }
}

#[test]
fn signet_with_another_challenge_has_another_magic() {
    let default = Params::signet();
    let challenge = default.signet_challenge.clone().unwrap();
    assert_eq!(challenge.len(), 71);
    assert_eq!(Params::signet_with(challenge).magic, default.magic);
    let other = Params::signet_with(vec![0x51]);
    assert_ne!(other.magic, default.magic);
    assert_eq!(other.genesis_hash, default.genesis_hash);
    assert_eq!(other.assume_valid, None);
    // OP_TRUE: the first bytes of SHA-256d(01 51)
    assert_eq!(other.magic, blockmill_hashes::sha256d(&[1, 0x51])[..4]);
    for length in [252_usize, 253, 65_535, 65_536] {
        let mut encoded = match length {
            252 => vec![252],
            253 | 65_535 => [&[0xfd][..], &(length as u16).to_le_bytes()].concat(),
            _ => [&[0xfe][..], &(length as u32).to_le_bytes()].concat(),
        };
        encoded.resize(encoded.len() + length, 7);
        let params = Params::signet_with(vec![7; length]);
        assert_eq!(params.magic, blockmill_hashes::sha256d(&encoded)[..4]);
    }
}

#[test]
fn subsidy_is_halved_until_nothing_is_left() {
    let params = Params::mainnet();
    let at = |height| params.subsidy(height).to_sat();
    assert_eq!([at(0), at(209_999), at(210_000)], [50 * COIN, 50 * COIN, 25 * COIN]);
    assert_eq!([at(840_000), at(6_929_999), at(6_930_000)], [312_500_000, 1, 0]);
    assert_eq!([at(64 * 210_000), at(u32::MAX)], [0, 0]);
    let total: u64 = (0..34).map(|halving| at(halving * 210_000) * 210_000).sum();
    assert_eq!(total, 2_099_999_997_690_000);
    assert_eq!(Params::regtest().subsidy(150).to_sat(), 25 * COIN);
}

#[test]
fn rules_begin_at_their_heights() {
    let params = Params::mainnet();
    let rules = |height| params.rules(height, &BlockHash([1; 32]), params.bip34_hash.as_ref());
    let on = |height| {
        let rules = rules(height);
        [rules.bip34, rules.bip66, rules.bip65, rules.csv, rules.segwit]
    };
    for (count, height) in [227_931, 363_725, 388_381, 419_328, 481_824].into_iter().enumerate() {
        let expected = |on_now| std::array::from_fn(|at| at < on_now);
        assert_eq!(on(height - 1), expected(count));
        assert_eq!(on(height), expected(count + 1));
    }
    let early = rules(1);
    assert!(early.p2sh && early.witness && early.taproot && !early.segwit);
    assert_eq!(early.subsidy, Amount::from_sat(50 * COIN));
    let regtest = Params::regtest().rules(0, &BlockHash([1; 32]), None);
    assert!(regtest.segwit && !regtest.csv);
}

#[test]
fn exceptions_hold_for_one_block_each() {
    let mainnet = Params::mainnet();
    let scripts = |params: &Params, block: &str| {
        let rules = params.rules(1_000_000, &hash(block), None);
        (rules.p2sh, rules.witness, rules.taproot)
    };
    let p2sh = "00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22";
    let taproot = "0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad";
    let testnet3 = "00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105";
    assert_eq!(scripts(&mainnet, p2sh), (false, false, false));
    assert_eq!(scripts(&mainnet, taproot), (true, true, false));
    assert_eq!(scripts(&mainnet, testnet3), (true, true, true));
    assert_eq!(scripts(&Params::testnet3(), testnet3), (false, false, false));
    assert_eq!(scripts(&Params::testnet3(), p2sh), (true, true, true));
}

#[test]
fn bip30_is_off_for_two_blocks_and_where_bip34_proves_it() {
    let params = Params::mainnet();
    let proof = params.bip34_hash;
    let bip30 = |height, block: &BlockHash, bip34: Option<&BlockHash>| {
        params.rules(height, block, bip34).bip30
    };
    let repeat = hash("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec");
    let other = hash("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721");
    assert!(!bip30(91_842, &repeat, None));
    assert!(!bip30(91_880, &other, None));
    // the same blocks elsewhere, other blocks there
    assert!(bip30(91_880, &repeat, None));
    assert!(bip30(91_842, &BlockHash([1; 32]), None));
    assert!(bip30(227_931, &BlockHash([1; 32]), proof.as_ref()));
    assert!(!bip30(227_932, &BlockHash([1; 32]), proof.as_ref()));
    assert!(bip30(227_932, &BlockHash([1; 32]), Some(&BlockHash([2; 32]))));
    assert!(!bip30(1_983_701, &BlockHash([1; 32]), proof.as_ref()));
    assert!(bip30(1_983_702, &BlockHash([1; 32]), proof.as_ref()));
    // without a known block at that height it is always on
    for params in [Params::testnet4(), Params::signet(), Params::regtest()] {
        assert!(params.rules(100, &BlockHash([1; 32]), Some(&BlockHash([0; 32]))).bip30);
        assert!(params.rules(100, &BlockHash([1; 32]), None).bip30);
    }
}

#[test]
fn assumed_valid_blocks_are_those_of_core() {
    let shown = |params: &Params| params.assume_valid.as_ref().map(|hash| hash.to_string());
    let known = [
        Some("00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac"),
        Some("000000007a61e4230b28ac5cb6b5e5a0130de37ac1faf2f8987d2fa6505b67f4"),
        Some("0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a"),
        Some("00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329"),
        None,
    ];
    for (params, known) in Params::all().iter().zip(known) {
        assert_eq!(shown(params).as_deref(), known, "{}", params.name);
    }
}
