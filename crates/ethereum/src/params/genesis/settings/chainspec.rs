//! The settings of a chainspec, the file of Nethermind and of Parity before it.

use super::{Setting, Table, harmless, obeyed, only, refused};

/// The file.
pub(in crate::params::genesis) static FILE: Table = Table {
    place: "a chainspec",
    settings: &[
        obeyed("engine", "seals"),
        obeyed("params", "rules of the chain"),
        obeyed("genesis", "header"),
        obeyed("accounts", "first accounts"),
        obeyed("blobSchedule", "blob numbers, in the place of params.blobSchedule"),
        harmless("name", "a name"),
        harmless("dataDir", "a folder"),
        harmless("nodes", "peers"),
        harmless("bootnodes", "peers"),
        harmless("hardcodedSync", "where a sync begins"),
        harmless("comment", "text for people"),
        harmless("_comment", "text for people"),
    ],
};

/// The object `genesis`.
pub(in crate::params::genesis) static GENESIS: Table = Table {
    place: "genesis of a chainspec",
    settings: &[
        obeyed("seal", "nonce and mix hash"),
        obeyed("difficulty", "header"),
        obeyed("author", "header"),
        obeyed("timestamp", "header"),
        obeyed("parentHash", "header"),
        obeyed("extraData", "header"),
        obeyed("gasLimit", "header"),
        obeyed("gasUsed", "header"),
        obeyed("baseFeePerGas", "header"),
        obeyed("excessBlobGas", "header"),
        obeyed("blobGasUsed", "header"),
        obeyed("slotNumber", "header"),
        only("parentBeaconBlockRoot", &["0x0"], "the genesis block has the root 0"),
        refused("stateRoot", "a state root next to the accounts"),
        only("stateUnavailable", &["false"], "a state that is not in the file"),
    ],
};

/// The object `seal` of the object `genesis`.
pub(in crate::params::genesis) static SEAL: Table = Table {
    place: "genesis.seal of a chainspec",
    settings: &[
        obeyed("ethereum", "nonce and mix hash"),
        refused("authorityRound", "headers of another form"),
    ],
};

/// The object `engine`.
pub(in crate::params::genesis) static ENGINE: Table = Table {
    place: "engine of a chainspec",
    settings: &[
        obeyed("Ethash", "proof of work"),
        obeyed("clique", "proof of authority (EIP-225); who may sign is not checked"),
        refused("authorityRound", "headers of another form"),
    ],
};

/// The object `engine.Ethash.params`.
pub(in crate::params::genesis) static ETHASH: Table = Table {
    place: "engine.Ethash.params of a chainspec",
    settings: &[
        obeyed("fixedDifficulty", "a difficulty that never changes"),
        obeyed("homesteadTransition", "fork"),
        obeyed("daoHardforkTransition", "DAO fork"),
        obeyed("eip100bTransition", "difficulty formula of Byzantium"),
        obeyed("difficultyBombDelays", "bomb delays"),
        obeyed("minimumDifficulty", "another value than 0x20000 is refused"),
        obeyed("difficultyBoundDivisor", "another value than 0x800 is refused"),
        obeyed("durationLimit", "another value than 13 is refused"),
        obeyed("blockReward", "another reward than Ethereum's is refused"),
        only(
            "daoHardforkBeneficiary",
            &["0xbf4ed7b27f1d666546e30d74d50d173d20bca754"],
            "another contract for the DAO's ether",
        ),
        obeyed("daoHardforkAccounts", "other accounts than those of EIP-779 are refused"),
    ],
};

/// The object `params`, next to the EIPs of forks.
pub(in crate::params::genesis) static PARAMS: Table =
    Table { place: "params of a chainspec", settings: PARAMETERS };

const PARAMETERS: &[Setting] = &[
    obeyed("chainID", "chain id"),
    obeyed("networkID", "chain id, where chainID is missing"),
    obeyed("terminalTotalDifficulty", "end of proof of work"),
    obeyed("mergeForkIdTransition", "a block by which the merge has happened"),
    obeyed("eip1283Transition", "gas of SSTORE under Constantinople"),
    obeyed("eip1283DisableTransition", "Petersburg"),
    obeyed(
        "maxCodeSize",
        "most bytes of code (EIP-170), twice as many of creation code (EIP-3860), until Amsterdam",
    ),
    obeyed("maxCodeSizeTransition", "first block of maxCodeSize"),
    obeyed("maxCodeSizeTransitionTimestamp", "first time of maxCodeSize"),
    obeyed("depositContractAddress", "deposits (EIP-6110)"),
    obeyed("blobSchedule", "blob numbers (EIP-7840)"),
    obeyed("eip1559BaseFeeInitialValue", "another value than 1 gwei is refused"),
    obeyed("eip1559ElasticityMultiplier", "another value than 2 is refused"),
    obeyed("eip1559BaseFeeMaxChangeDenominator", "another value than 8 is refused"),
    obeyed("eip1559BaseFeeMinValueTransition", "refused: another formula of the base fee"),
    obeyed("gasLimitBoundDivisor", "another value than 1024 is refused"),
    obeyed("minGasLimit", "another value than 5000 is refused"),
    only("maximumExtraDataSize", &["32"], "another size of the extra data"),
    only("accountStartNonce", &["0"], "another first nonce of accounts"),
    only("eip7Transition", &["0"], "EIP-7 apart from Homestead"),
    only("eip3607Transition", &["0"], "senders with code (EIP-3607)"),
    only("validateChainIdTransition", &["0"], "signatures for other chains"),
    only(
        "eip4788ContractAddress",
        &["0x000f3df6d732807ef1319fb7b8bb8522d0beac02"],
        "another contract of EIP-4788",
    ),
    only(
        "eip2935ContractAddress",
        &["0x0000f90827f1c53a10cb7a02335b175320002935"],
        "another contract of EIP-2935",
    ),
    only(
        "eip7002ContractAddress",
        &["0x00000961ef480eb55e80d19ad83579a64c007002"],
        "another contract of EIP-7002",
    ),
    only(
        "eip7251ContractAddress",
        &["0x0000bbddc7ce488642fb579f8b00f3a590007251"],
        "another contract of EIP-7251",
    ),
    only("eip4844BlobGasPriceUpdateFraction", &["0x32f0ed"], "another price of blobs"),
    only("eip4844MaxBlobGasPerBlock", &["0xc0000"], "another number of blobs"),
    only("eip4844TargetBlobGasPerBlock", &["0x60000"], "another number of blobs"),
    only("eip4844MinBlobGasPrice", &["1"], "another least price of blobs"),
    only("eip7934MaxRlpBlockSize", &["0x800000"], "another size of blocks"),
    harmless("registrar", "a contract of names"),
    harmless("minHistoryRetentionEpochs", "what a node keeps"),
    harmless("forkBlock", "a block that peers are asked for"),
    harmless("forkCanonHash", "a block that peers are asked for"),
    harmless("validateReceiptsTransition", "whether receipts before Byzantium are compared"),
    harmless("terminalPoWBlockNumber", "the last block of proof of work, as it happened"),
    harmless("beaconChainGenesisTimestamp", "time of the beacon chain"),
    harmless("comment", "text for people"),
    harmless("_comment", "text for people"),
];
