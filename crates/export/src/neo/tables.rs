//! The tables of Neo. Hashes and accounts stand in the order in which users know them, last byte
//! first; an address is a text of its own.

use crate::schema::{Column, Kind, LARGE, Table};
use blockmill_neo::Level;

const HASH: Kind = Kind::Fixed(32);
const ACCOUNT: Kind = Kind::Fixed(20);

const BLOCK_HASH: Column = Column::new("block_hash", HASH, "Hash of the block");
const BLOCK_NUMBER: Column = Column::new("block_number", Kind::Int, "Height of the block");
const BLOCK_TIME: Column = Column::new("block_timestamp", Kind::Time, "When the block says it was")
    .cryo("timestamp")
    .or_none();
const TRANSACTION_HASH: Column =
    Column::new("transaction_hash", HASH, "Hash of the transaction; none before and after these")
        .or_none()
        .searched()
        .random();
const EXECUTION: Column = Column::new(
    "execution_index",
    Kind::Int,
    "0 for what comes before the transactions, then these from 1 on, then what comes after",
);

/// Every table, as users list them.
pub const ALL: [&Table; 4] = [&BLOCKS, &TRANSACTIONS, &NOTIFICATIONS, &TRANSFERS];

/// The tables that blocks verified at this level give.
#[must_use]
pub fn of_level(level: Level) -> Vec<&'static Table> {
    let is_of_bodies = |table: &&Table| matches!(table.name, "blocks" | "transactions");
    let given = |table: &&Table| level >= Level::Execution || is_of_bodies(table);
    ALL.into_iter().filter(given).collect()
}

/// Headers.
pub static BLOCKS: Table = Table {
    name: "blocks",
    about: "A row is a block. Needs level `bodies`.",
    sorted: &["number"],
    columns: &[
        Column::new("number", Kind::Int, "Height").cryo("block_number"),
        Column::new("hash", HASH, "SHA-256 of what is signed")
            .cryo("block_hash")
            .searched()
            .random(),
        Column::new("parent_hash", HASH, "Hash of the block before").random(),
        Column::new("version", Kind::Int, "0"),
        Column::new("merkle_root", HASH, "Root over the hashes of the transactions").random(),
        Column::new("timestamp", Kind::Time, "When the block says it was").or_none(),
        Column::new("nonce", Kind::Fixed(8), "A random number of the primary, as it is written"),
        Column::new("primary_index", Kind::Int, "Which of the nodes proposed the block"),
        Column::new("next_consensus", ACCOUNT, "The account of those who sign the next block"),
        Column::new(
            "previous_state_root",
            HASH,
            "State root of the block before, where it is there",
        )
        .or_none(),
        Column::new("invocation", Kind::Bytes, "First half of the witness"),
        Column::new("verification", Kind::Bytes, "Second half of the witness"),
        Column::new("size", Kind::Int, "Bytes"),
        Column::new("transaction_count", Kind::Int, "How many transactions"),
        LARGE,
    ],
};

/// Transactions, and how they ended.
pub static TRANSACTIONS: Table = Table {
    name: "transactions",
    about: "A row is a transaction. Needs level `bodies`; `vm_state`, `gas_consumed` and \
            `exception` need level `execution`.",
    sorted: &["block_number", "transaction_index"],
    columns: &[
        Column::new("hash", HASH, "SHA-256 of what is signed")
            .cryo("transaction_hash")
            .searched()
            .random(),
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        Column::new("transaction_index", Kind::Int, "Place in the block, from 0"),
        Column::new("nonce", Kind::Int, "A random number"),
        Column::new("sender", ACCOUNT, "Who pays").searched(),
        Column::new("sender_address", Kind::Text, "The same as an address"),
        Column::new("system_fee", Kind::Int, "10^-8 GAS for the execution"),
        Column::new("network_fee", Kind::Int, "10^-8 GAS for the consensus nodes"),
        Column::new("valid_until_block", Kind::Int, "The last block that may hold it"),
        Column::new("script", Kind::Bytes, "What is executed"),
        Column::new("raw", Kind::Bytes, "The whole transaction, with its witnesses"),
        Column::new("vm_state", Kind::Text, "HALT or FAULT").filled_at(Level::Execution),
        Column::new("gas_consumed", Kind::Int, "10^-8 GAS that the execution took")
            .filled_at(Level::Execution),
        Column::new("exception", Kind::Text, "Why it failed").filled_at(Level::Execution),
        LARGE,
    ],
};

/// Events of contracts.
pub static NOTIFICATIONS: Table = Table {
    name: "notifications",
    about: "A row is a notification, of executions that failed, too. Needs level `execution`.",
    sorted: &["block_number", "notification_index"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        EXECUTION,
        TRANSACTION_HASH,
        Column::new("notification_index", Kind::Int, "Place in the block, from 0"),
        Column::new("trigger", Kind::Text, "OnPersist, Application or PostPersist"),
        Column::new("vm_state", Kind::Text, "HALT or FAULT"),
        Column::new("contract", ACCOUNT, "The contract that sent it").searched(),
        Column::new("event_name", Kind::Text, "Its name"),
        Column::new("state", Kind::Text, "What it carries, as JSON with types").or_none(),
        Column::new("state_item", Kind::Bytes, "The same as a serialized stack item"),
        LARGE,
    ],
};

/// What moved from account to account.
pub static TRANSFERS: Table = Table {
    name: "transfers",
    about: "A row is a notification of an execution that did not fail, of the form of NEP-17 or \
            NEP-11. Needs level `execution`.",
    sorted: &["block_number", "notification_index"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        EXECUTION,
        TRANSACTION_HASH,
        Column::new("notification_index", Kind::Int, "Place among the block's notifications"),
        Column::new("contract", ACCOUNT, "The contract of the token").searched(),
        Column::new("standard", Kind::Int, "17 or 11"),
        Column::new("from_account", ACCOUNT, "Who had it; null if it is minted")
            .or_none()
            .searched(),
        Column::new("to_account", ACCOUNT, "Who gets it; null if it is burnt").or_none().searched(),
        Column::new("amount", Kind::Wei, "How much, where it has at most 38 digits").or_none(),
        Column::new("amount_bytes", Kind::Bytes, "How much, in little endian with a sign"),
        Column::new("token_id", Kind::Bytes, "Which token of NEP-11").or_none(),
        LARGE,
    ],
};
