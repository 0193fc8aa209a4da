//! The built-in networks.
//!
//! Sources: go-ethereum v1.17.10 (`params/chainspecs`, `core/genesis.go`), for holesky v1.16.7,
//! one of the last releases that know it. The merge blocks of mainnet and sepolia are from the
//! chains themselves.

use super::{BlobParams, ChainSpec, Config};
use crate::header::Header;
use crate::params::genesis::Alloc;
use crate::{Address, Hash, U256};

/// A network as constants; [`Network::spec`] makes the chain of it.
pub(super) struct Network {
    pub name: &'static str,
    chain_id: u64,
    dao_fork_support: bool,
    terminal_total_difficulty: U256,
    /// The first block under proof of stake.
    merge_block: u64,
    deposit_contract: Address,
    switches: &'static [(&'static str, u64)],
    genesis: GenesisHeader,
    /// State root of the accounts, recomputed by a test.
    state_root: Hash,
    /// Accounts in the format of `genesis/README.md`.
    accounts: &'static [u8],
}

/// What the genesis headers of the networks do not share.
struct GenesisHeader {
    nonce: u64,
    timestamp: u64,
    extra_data: &'static [u8],
    gas_limit: u64,
    difficulty: u64,
}

impl Network {
    /// The chain.
    pub fn spec(&self) -> ChainSpec {
        let header = &self.genesis;
        let fields = Header {
            nonce: header.nonce.to_be_bytes(),
            timestamp: header.timestamp,
            extra_data: header.extra_data.to_vec(),
            gas_limit: header.gas_limit,
            difficulty: U256::from(header.difficulty),
            ..Header::default()
        };
        let alloc = Alloc::BuiltIn { accounts: self.accounts, state_root: self.state_root };
        ChainSpec::unchecked(self.name, &self.config(), &fields, alloc)
    }

    fn config(&self) -> Config {
        let mut config = Config::frontier(U256::from(self.chain_id));
        config.dao_fork_support = self.dao_fork_support;
        config.terminal_total_difficulty = Some(self.terminal_total_difficulty);
        config.merge_block = Some(self.merge_block);
        config.deposit_contract = self.deposit_contract;
        for (key, at) in self.switches {
            config.set(key, *at);
        }
        for (fork, blobs) in BLOBS {
            config.set_blobs(fork, *blobs);
        }
        config
    }
}

/// The blob-parameter forks of 2025 and 2026, the same on each network.
const BLOBS: &[(&str, BlobParams)] = &[
    ("bpo1", BlobParams { target: 10, max: 15, base_fee_update_fraction: 8_346_193 }),
    ("bpo2", BlobParams { target: 14, max: 21, base_fee_update_fraction: 11_684_671 }),
];

/// The deposit contract of mainnet and of hoodi.
const DEPOSIT_CONTRACT: Address = [
    0x00, 0x00, 0x00, 0x00, 0x21, 0x9a, 0xb5, 0x40, 0x35, 0x6c, 0xbb, 0x83, 0x9c, 0xbe, 0x05, 0x30,
    0x3d, 0x77, 0x05, 0xfa,
];

/// Every network that is part of the program.
pub(super) const ALL: [Network; 4] = [
    Network {
        name: "mainnet",
        chain_id: 1,
        dao_fork_support: true,
        // 58,750,000,000,000,000,000,000
        terminal_total_difficulty: U256::from_limbs([0xd808a128d7380000, 0xc70, 0, 0]),
        merge_block: 15_537_394,
        deposit_contract: DEPOSIT_CONTRACT,
        switches: &[
            ("homesteadBlock", 1_150_000),
            ("daoForkBlock", 1_920_000),
            ("eip150Block", 2_463_000),
            ("eip155Block", 2_675_000),
            ("eip158Block", 2_675_000),
            ("byzantiumBlock", 4_370_000),
            ("constantinopleBlock", 7_280_000),
            ("petersburgBlock", 7_280_000),
            ("istanbulBlock", 9_069_000),
            ("muirGlacierBlock", 9_200_000),
            ("berlinBlock", 12_244_000),
            ("londonBlock", 12_965_000),
            ("arrowGlacierBlock", 13_773_000),
            ("grayGlacierBlock", 15_050_000),
            ("shanghaiTime", 1_681_338_455),
            ("cancunTime", 1_710_338_135),
            ("pragueTime", 1_746_612_311),
            ("osakaTime", 1_764_798_551),
            ("bpo1Time", 1_765_290_071),
            ("bpo2Time", 1_767_747_671),
        ],
        genesis: GenesisHeader {
            nonce: 66,
            timestamp: 0,
            extra_data: &[
                0x11, 0xbb, 0xe8, 0xdb, 0x4e, 0x34, 0x7b, 0x4e, 0x8c, 0x93, 0x7c, 0x1c, 0x83, 0x70,
                0xe4, 0xb5, 0xed, 0x33, 0xad, 0xb3, 0xdb, 0x69, 0xcb, 0xdb, 0x7a, 0x38, 0xe1, 0xe5,
                0x0b, 0x1b, 0x82, 0xfa,
            ],
            gas_limit: 5_000,
            difficulty: 17_179_869_184,
        },
        state_root: [
            0xd7, 0xf8, 0x97, 0x4f, 0xb5, 0xac, 0x78, 0xd9, 0xac, 0x09, 0x9b, 0x9a, 0xd5, 0x01,
            0x8b, 0xed, 0xc2, 0xce, 0x0a, 0x72, 0xda, 0xd1, 0x82, 0x7a, 0x17, 0x09, 0xda, 0x30,
            0x58, 0x0f, 0x05, 0x44,
        ],
        accounts: include_bytes!("../../genesis/mainnet.rlp"),
    },
    Network {
        name: "sepolia",
        chain_id: 11_155_111,
        dao_fork_support: true,
        // 17,000,000,000,000,000
        terminal_total_difficulty: U256::from_limbs([17_000_000_000_000_000, 0, 0, 0]),
        merge_block: 1_450_409,
        deposit_contract: [
            0x7f, 0x02, 0xc3, 0xe3, 0xc9, 0x8b, 0x13, 0x30, 0x55, 0xb8, 0xb3, 0x48, 0xb2, 0xac,
            0x62, 0x56, 0x69, 0xed, 0x29, 0x5d,
        ],
        switches: &[
            ("homesteadBlock", 0),
            ("eip150Block", 0),
            ("eip155Block", 0),
            ("eip158Block", 0),
            ("byzantiumBlock", 0),
            ("constantinopleBlock", 0),
            ("petersburgBlock", 0),
            ("istanbulBlock", 0),
            ("muirGlacierBlock", 0),
            ("berlinBlock", 0),
            ("londonBlock", 0),
            ("mergeNetsplitBlock", 1_735_371),
            ("shanghaiTime", 1_677_557_088),
            ("cancunTime", 1_706_655_072),
            ("pragueTime", 1_741_159_776),
            ("osakaTime", 1_760_427_360),
            ("bpo1Time", 1_761_017_184),
            ("bpo2Time", 1_761_607_008),
            ("amsterdamTime", 1_791_294_816),
        ],
        genesis: GenesisHeader {
            nonce: 0,
            timestamp: 1_633_267_481,
            extra_data: b"Sepolia, Athens, Attica, Greece!",
            gas_limit: 30_000_000,
            difficulty: 131_072,
        },
        state_root: [
            0x5e, 0xb6, 0xe3, 0x71, 0xa6, 0x98, 0xb8, 0xd6, 0x8f, 0x66, 0x51, 0x92, 0x35, 0x0f,
            0xfc, 0xec, 0xbb, 0xbf, 0x32, 0x29, 0x16, 0xf4, 0xb5, 0x1b, 0xd7, 0x9b, 0xb6, 0x88,
            0x7d, 0xa3, 0xf4, 0x94,
        ],
        accounts: include_bytes!("../../genesis/sepolia.rlp"),
    },
    Network {
        name: "holesky",
        chain_id: 17_000,
        dao_fork_support: true,
        terminal_total_difficulty: U256::ZERO,
        merge_block: 0,
        deposit_contract: [0x42; 20],
        switches: &[
            ("homesteadBlock", 0),
            ("eip150Block", 0),
            ("eip155Block", 0),
            ("eip158Block", 0),
            ("byzantiumBlock", 0),
            ("constantinopleBlock", 0),
            ("petersburgBlock", 0),
            ("istanbulBlock", 0),
            ("berlinBlock", 0),
            ("londonBlock", 0),
            ("shanghaiTime", 1_696_000_704),
            ("cancunTime", 1_707_305_664),
            ("pragueTime", 1_740_434_112),
            ("osakaTime", 1_759_308_480),
            ("bpo1Time", 1_759_800_000),
            ("bpo2Time", 1_760_389_824),
        ],
        genesis: GenesisHeader {
            nonce: 0x1234,
            timestamp: 1_695_902_100,
            extra_data: &[],
            gas_limit: 25_000_000,
            difficulty: 1,
        },
        state_root: [
            0x69, 0xd8, 0xc9, 0xd7, 0x2f, 0x6f, 0xa4, 0xad, 0x42, 0xd4, 0x70, 0x2b, 0x43, 0x37,
            0x07, 0x21, 0x2f, 0x90, 0xdb, 0x39, 0x5e, 0xb5, 0x4d, 0xc2, 0x0b, 0xc8, 0x5d, 0xe2,
            0x53, 0x78, 0x87, 0x83,
        ],
        accounts: include_bytes!("../../genesis/holesky.rlp"),
    },
    Network {
        name: "hoodi",
        chain_id: 560_048,
        dao_fork_support: true,
        terminal_total_difficulty: U256::ZERO,
        merge_block: 0,
        deposit_contract: DEPOSIT_CONTRACT,
        switches: &[
            ("homesteadBlock", 0),
            ("eip150Block", 0),
            ("eip155Block", 0),
            ("eip158Block", 0),
            ("byzantiumBlock", 0),
            ("constantinopleBlock", 0),
            ("petersburgBlock", 0),
            ("istanbulBlock", 0),
            ("muirGlacierBlock", 0),
            ("berlinBlock", 0),
            ("londonBlock", 0),
            ("mergeNetsplitBlock", 0),
            ("shanghaiTime", 0),
            ("cancunTime", 0),
            ("pragueTime", 1_742_999_832),
            ("osakaTime", 1_761_677_592),
            ("bpo1Time", 1_762_365_720),
            ("bpo2Time", 1_762_955_544),
            // epoch 132,352 of the beacon chain
            ("amsterdamTime", 1_793_036_568),
        ],
        genesis: GenesisHeader {
            nonce: 0x1234,
            timestamp: 1_742_212_800,
            extra_data: &[],
            gas_limit: 36_000_000,
            difficulty: 1,
        },
        state_root: [
            0xda, 0x87, 0xd7, 0xf5, 0xf9, 0x1c, 0x51, 0x50, 0x87, 0x91, 0xbb, 0xcb, 0xd4, 0xaa,
            0x5b, 0xaf, 0x04, 0x91, 0x78, 0x30, 0xb8, 0x69, 0x85, 0xee, 0xb9, 0xad, 0x3d, 0x5b,
            0xfb, 0x65, 0x75, 0x76,
        ],
        accounts: include_bytes!("../../genesis/hoodi.rlp"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(hex: &str) -> Hash {
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        std::array::from_fn(byte)
    }

    #[test]
    fn genesis_hashes_are_those_that_the_networks_have() {
        for (name, expected) in [
            ("mainnet", "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"),
            ("sepolia", "25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"),
            ("holesky", "b5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"),
            ("hoodi", "bbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"),
        ] {
            let spec = ChainSpec::by_name(name).unwrap();
            assert_eq!(spec.genesis.hash, hash(expected), "{name}");
            assert_eq!(ChainSpec::by_genesis_hash(&hash(expected)).unwrap().name, name);
        }
        assert!(ChainSpec::by_genesis_hash(&[0; 32]).is_none());
    }

    #[test]
    fn genesis_state_roots_follow_from_the_accounts() {
        for network in &ALL {
            let accounts = network.spec().genesis.accounts().unwrap().into_owned();
            assert_eq!(
                crate::params::genesis::state_root(&accounts),
                network.state_root,
                "{}",
                network.name
            );
        }
    }

    #[test]
    fn every_switch_is_known_and_in_order() {
        for network in &ALL {
            let mut config = Config::frontier(U256::from(network.chain_id));
            for (key, at) in network.switches {
                assert!(config.set(key, *at), "{key}");
            }
            network.config().check().unwrap();
            assert_eq!(ChainSpec::NETWORKS.iter().filter(|name| **name == network.name).count(), 1);
        }
        for (fork, blobs) in BLOBS {
            assert!(Config::frontier(U256::ONE).set_blobs(fork, *blobs), "{fork}");
        }
    }

    #[test]
    fn terminal_total_difficulty_of_mainnet_is_58750_times_10_to_18() {
        let merge = ChainSpec::by_name("mainnet").unwrap().merge.unwrap();
        let expected = U256::from(58_750u64) * U256::from(10u64).pow(U256::from(18u64));
        assert_eq!(merge.terminal_total_difficulty, expected);
    }
}
