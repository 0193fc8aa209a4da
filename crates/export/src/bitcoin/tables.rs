//! The tables of Bitcoin: names of bitcoin-etl, but for scripts, which are bytes here. Hashes are
//! in the order in which users know them, last byte first.

use crate::schema::{Column, Kind, Table};
use blockmill_bitcoin::Level;

const HASH: Kind = Kind::Fixed(32);

const BLOCK_HASH: Column = Column::new("block_hash", HASH, "Hash of the block's header");
const BLOCK_NUMBER: Column = Column::new("block_number", Kind::Int, "Height of the block");
const BLOCK_TIME: Column =
    Column::new("block_timestamp", Kind::Time, "When the block says it was").cryo("timestamp");
const TRANSACTION_HASH: Column =
    Column::new("transaction_hash", HASH, "Id of the transaction").searched().random();
const TRANSACTION_INDEX: Column =
    Column::new("transaction_index", Kind::Int, "Place of the transaction in the block, from 0");

/// Every table, as users list them.
pub const ALL: [&Table; 4] = [&BLOCKS, &TRANSACTIONS, &INPUTS, &OUTPUTS];

/// Headers, and what the body tells of itself.
pub static BLOCKS: Table = Table {
    name: "blocks",
    about: "A row is a block of the best chain. Needs level `bodies`.",
    sorted: &["number"],
    columns: &[
        Column::new("hash", HASH, "Hash of the header").cryo("block_hash").searched().random(),
        Column::new("size", Kind::Int, "Bytes"),
        Column::new("stripped_size", Kind::Int, "Bytes without witnesses"),
        Column::new("weight", Kind::Int, "Three times the one and once the other (BIP141)"),
        Column::new("number", Kind::Int, "Height").cryo("block_number"),
        Column::new("previous_block_hash", HASH, "Hash of the block before").random(),
        Column::new("version", Kind::Int, "Version, with a sign"),
        Column::new("merkle_root", HASH, "Root over the ids of the transactions").random(),
        Column::new("timestamp", Kind::Time, "When the block says it was"),
        Column::new("nonce", Kind::Int, "What the miner looked for"),
        Column::new("bits", Kind::Int, "The target, in its compact form"),
        Column::new("coinbase_param", Kind::Bytes, "Input script of the coinbase"),
        Column::new("transaction_count", Kind::Int, "How many transactions"),
    ],
};

/// Transactions without their inputs and outputs.
pub static TRANSACTIONS: Table = Table {
    name: "transactions",
    about: "A row is a transaction. Needs level `bodies`. `input_value` and `fee` need level \
            `execution`; the coinbase has neither.",
    sorted: &["block_number", "index"],
    columns: &[
        Column::new("hash", HASH, "Its id").cryo("transaction_hash").searched().random(),
        Column::new("size", Kind::Int, "Bytes"),
        Column::new("virtual_size", Kind::Int, "A quarter of the weight, rounded up (BIP141)"),
        Column::new("version", Kind::Int, "Version, with a sign"),
        Column::new("lock_time", Kind::Int, "Height or time before which it is not valid"),
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        Column::new("is_coinbase", Kind::Bool, "Is it the one that creates coins?"),
        Column::new("index", Kind::Int, "Place in the block, from 0").cryo("transaction_index"),
        Column::new("input_count", Kind::Int, "How many inputs"),
        Column::new("output_count", Kind::Int, "How many outputs"),
        Column::new("input_value", Kind::Int, "Satoshis that its inputs spend")
            .filled_at(Level::Execution),
        Column::new("output_value", Kind::Int, "Satoshis that its outputs have"),
        Column::new("fee", Kind::Int, "Satoshis that the miner gets").filled_at(Level::Execution),
        Column::new("has_witness", Kind::Bool, "Has it the marker and flag of BIP144?"),
    ],
};

/// Inputs.
pub static INPUTS: Table = Table {
    name: "inputs",
    about: "A row is an input. Needs level `bodies`; what the spent output has needs level \
            `execution`. The input of a coinbase spends nothing.",
    sorted: &["block_number", "transaction_index", "index"],
    columns: &[
        TRANSACTION_HASH,
        TRANSACTION_INDEX,
        BLOCK_HASH,
        BLOCK_NUMBER,
        BLOCK_TIME,
        Column::new("index", Kind::Int, "Place in the transaction, from 0").cryo("input_index"),
        Column::new("spent_transaction_hash", HASH, "Id of the transaction whose output it spends")
            .or_none()
            .searched()
            .random(),
        Column::new("spent_output_index", Kind::Int, "Which of its outputs").or_none(),
        Column::new("script", Kind::Bytes, "Input script"),
        Column::new("sequence", Kind::Int, "Sequence number"),
        Column::new("witness", Kind::Strings, "Items of the witness"),
        Column::new("value", Kind::Int, "Satoshis of the spent output").filled_at(Level::Execution),
        Column::new("spent_script", Kind::Bytes, "Script of the spent output")
            .filled_at(Level::Execution),
        Column::new("script_type", Kind::Text, "Type of the spent output's script")
            .filled_at(Level::Execution),
        Column::new("address", Kind::Text, "Address of the spent output, if it has one")
            .filled_at(Level::Execution)
            .searched(),
    ],
};

/// Outputs.
pub static OUTPUTS: Table = Table {
    name: "outputs",
    about: "A row is an output. Needs level `bodies`. Types of scripts are those of Bitcoin \
            Core's RPC (`pubkeyhash`, `witness_v1_taproot`, `nulldata`); a bare key and a script \
            of several signatures have no address.",
    sorted: &["block_number", "transaction_index", "index"],
    columns: &[
        TRANSACTION_HASH,
        TRANSACTION_INDEX,
        BLOCK_HASH,
        BLOCK_NUMBER,
        BLOCK_TIME,
        Column::new("index", Kind::Int, "Place in the transaction, from 0").cryo("output_index"),
        Column::new("script", Kind::Bytes, "Output script"),
        Column::new("value", Kind::Int, "Satoshis"),
        Column::new("script_type", Kind::Text, "Type of the script, as Bitcoin Core calls it"),
        Column::new("address", Kind::Text, "Address, if the script has one").or_none().searched(),
    ],
};
