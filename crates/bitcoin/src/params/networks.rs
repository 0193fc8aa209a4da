//! The constants of each network.

use super::genesis::{Genesis, SATOSHI, TIMES};
use super::{Exception, Params, Repeat};
use crate::BlockHash;
use ruint::aliases::U256;

const TWO_WEEKS: u32 = 14 * 24 * 60 * 60;
const TEN_MINUTES: u32 = 10 * 60;
const SIGNET_CHALLENGE: &str = "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e08\
     6be430210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";

const MAINNET_EXCEPTIONS: &[Exception] = &[
    // 170,060 spends a script hash without its script
    Exception {
        hash: id("00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22"),
        p2sh: false,
        witness: false,
        taproot: false,
    },
    // 692,261 spends a taproot output against BIP341
    Exception {
        hash: id("0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad"),
        p2sh: true,
        witness: true,
        taproot: false,
    },
];

const TESTNET3_EXCEPTIONS: &[Exception] = &[Exception {
    hash: id("00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105"),
    p2sh: false,
    witness: false,
    taproot: false,
}];

const BIP30_REPEATS: &[Repeat] = &[
    Repeat {
        height: 91_842,
        hash: id("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"),
        first: 91_812,
    },
    Repeat {
        height: 91_880,
        hash: id("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"),
        first: 91_722,
    },
];

impl Params {
    /// The network of this name: ours, or the one that Core's `-chain=` takes.
    pub fn by_name(name: &str) -> Option<Params> {
        Some(match name {
            "mainnet" | "main" => Params::mainnet(),
            "testnet3" | "testnet" | "test" => Params::testnet3(),
            "testnet4" => Params::testnet4(),
            "signet" => Params::signet(),
            "regtest" => Params::regtest(),
            _ => return None,
        })
    }

    /// The network that begins with this block.
    pub fn by_genesis(hash: &BlockHash) -> Option<Params> {
        Params::all().into_iter().find(|params| params.genesis_hash == *hash)
    }

    /// The network with these four bytes before its blocks. A signet with its own challenge
    /// cannot be found like this: see [`signet_with`](Self::signet_with).
    pub fn by_magic(magic: [u8; 4]) -> Option<Params> {
        Params::all().into_iter().find(|params| params.magic == magic)
    }

    /// Every network, main network first.
    pub fn all() -> [Params; 5] {
        let test = [Params::testnet3(), Params::testnet4(), Params::signet(), Params::regtest()];
        let [testnet3, testnet4, signet, regtest] = test;
        [Params::mainnet(), testnet3, testnet4, signet, regtest]
    }

    /// The main network.
    pub fn mainnet() -> Params {
        let genesis = classic(1_231_006_505, 0x1d00_ffff, 2_083_236_893);
        Params {
            name: "mainnet",
            magic: [0xf9, 0xbe, 0xb4, 0xd9],
            bip34_height: 227_931,
            bip34_hash: Some(id(
                "000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8",
            )),
            bip65_height: 388_381,
            bip66_height: 363_725,
            csv_height: 419_328,
            segwit_height: 481_824,
            exceptions: MAINNET_EXCEPTIONS,
            bip30_repeats: BIP30_REPEATS,
            // height 938,343
            assume_valid: Some(id(
                "00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac",
            )),
            known_work: Some(0x0001_1287_50f8_2f4c_3661_53a3_a030),
            ..with_new_rules(&genesis)
        }
    }

    /// The third test network.
    pub fn testnet3() -> Params {
        let genesis = classic(1_296_688_602, 0x1d00_ffff, 414_098_458);
        Params {
            name: "testnet3",
            magic: [0x0b, 0x11, 0x09, 0x07],
            min_difficulty: true,
            bip34_height: 21_111,
            bip34_hash: Some(id(
                "0000000023b3a96d3484e5abb3755c413e7d41500f8e2a5c3f0dd01299cd8ef8",
            )),
            bip65_height: 581_885,
            bip66_height: 330_776,
            csv_height: 770_112,
            segwit_height: 834_624,
            exceptions: TESTNET3_EXCEPTIONS,
            // height 4,842,348
            assume_valid: Some(id(
                "000000007a61e4230b28ac5cb6b5e5a0130de37ac1faf2f8987d2fa6505b67f4",
            )),
            known_work: Some(0x17dd_e1c6_49f3_708d_14b6),
            ..with_new_rules(&genesis)
        }
    }

    /// The fourth test network (BIP94).
    pub fn testnet4() -> Params {
        let genesis = Genesis {
            text: b"03/May/2024 \
                000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e",
            key: &[0; 33],
            time: 1_714_777_860,
            bits: 0x1d00_ffff,
            nonce: 393_743_547,
        };
        Params {
            name: "testnet4",
            magic: [0x1c, 0x16, 0x3f, 0x28],
            min_difficulty: true,
            bip94: true,
            // height 123,613
            assume_valid: Some(id(
                "0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a",
            )),
            known_work: Some(0x09a0_fe15_d017_7d08_6304),
            ..with_new_rules(&genesis)
        }
    }

    /// The public signet (BIP325).
    pub fn signet() -> Params {
        Params {
            // height 293,175
            assume_valid: Some(id(
                "00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329",
            )),
            known_work: Some(0x0b46_3ea0_a4b8),
            ..Params::signet_with(bytes(SIGNET_CHALLENGE))
        }
    }

    /// A signet whose blocks are signed for `challenge`, an output script.
    pub fn signet_with(challenge: Vec<u8>) -> Params {
        let genesis = classic(1_598_918_400, 0x1e03_77ae, 52_613_770);
        Params {
            name: "signet",
            magic: signet_magic(&challenge),
            pow_limit: U256::from(0x0003_77ae_u32) << 216,
            signet_challenge: Some(challenge),
            ..with_new_rules(&genesis)
        }
    }

    /// The network of regression tests: any block is found at once.
    pub fn regtest() -> Params {
        let genesis = classic(1_296_688_602, 0x207f_ffff, 2);
        Params {
            name: "regtest",
            magic: [0xfa, 0xbf, 0xb5, 0xda],
            pow_limit: U256::MAX >> 1,
            period_seconds: 24 * 60 * 60,
            min_difficulty: true,
            no_retarget: true,
            segwit_height: 0,
            halving: 150,
            ..with_new_rules(&genesis)
        }
    }
}

/// A network where the rules of today hold from the first block on.
fn with_new_rules(genesis: &Genesis) -> Params {
    let (genesis, genesis_hash) = genesis.build();
    Params {
        name: "",
        magic: [0; 4],
        genesis,
        genesis_hash,
        pow_limit: U256::MAX >> 32,
        period_seconds: TWO_WEEKS,
        block_seconds: TEN_MINUTES,
        min_difficulty: false,
        no_retarget: false,
        bip94: false,
        bip34_height: 1,
        bip34_hash: None,
        bip65_height: 1,
        bip66_height: 1,
        csv_height: 1,
        segwit_height: 1,
        exceptions: &[],
        bip30_repeats: &[],
        halving: 210_000,
        assume_valid: None,
        known_work: None,
        signet_challenge: None,
    }
}

/// A first block with the text and the key of 2009.
fn classic(time: u32, bits: u32, nonce: u32) -> Genesis {
    Genesis { text: TIMES, key: SATOSHI, time, bits, nonce }
}

/// The first four bytes of the hash of the challenge with its length before it (BIP325).
fn signet_magic(challenge: &[u8]) -> [u8; 4] {
    let mut encoded = Vec::with_capacity(challenge.len() + 5);
    match challenge.len() {
        length @ 0..0xfd => encoded.push(length as u8),
        length @ 0xfd..=0xffff => {
            encoded.push(0xfd);
            encoded.extend((length as u16).to_le_bytes());
        }
        // scripts above 10,000 bytes cannot be satisfied
        length => {
            encoded.push(0xfe);
            encoded.extend((length as u32).to_le_bytes());
        }
    }
    encoded.extend(challenge);
    let [a, b, c, d, ..] = blockmill_hashes::sha256d(&encoded);
    [a, b, c, d]
}

/// A hash from the form that block explorers show; checked when this is compiled.
const fn id(text: &str) -> BlockHash {
    let text = text.as_bytes();
    let mut hash = [0; 32];
    let mut at = 0;
    while at < 32 {
        hash[31 - at] = digit(text[2 * at]) << 4 | digit(text[2 * at + 1]);
        at += 1;
    }
    BlockHash(hash)
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

const fn digit(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        _ => letter - b'a' + 10,
    }
}
