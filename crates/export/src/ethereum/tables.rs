//! The tables of Ethereum: names of ethereum-etl, and of cryo.

use super::changes;
use crate::schema::{Column, Kind, LARGE, Table};
use blockmill_ethereum::Level;

const HASH: Kind = Kind::Fixed(32);
const ADDRESS: Kind = Kind::Fixed(20);
const WORD: Kind = Kind::Fixed(32);

const BLOCK_NUMBER: Column =
    Column::new("block_number", Kind::Int, "Height of the block").or_none();
const BLOCK_HASH: Column = Column::new("block_hash", HASH, "Hash of the block's header");
const BLOCK_TIME: Column = Column::new("block_timestamp", Kind::Time, "When the block says it was")
    .cryo("timestamp")
    .or_none();
const TRANSACTION_INDEX: Column =
    Column::new("transaction_index", Kind::Int, "Place of the transaction in the block, from 0");
const TRANSACTION_HASH: Column =
    Column::new("transaction_hash", HASH, "Hash of the transaction").searched().random();

/// Every table, as users list them.
pub const ALL: [&Table; 11] = [
    &BLOCKS,
    &OMMERS,
    &TRANSACTIONS,
    &RECEIPTS,
    &LOGS,
    &WITHDRAWALS,
    &BLOCK_ACCESS_LIST,
    &BALANCE_DIFFS,
    &NONCE_DIFFS,
    &CODE_DIFFS,
    &STORAGE_DIFFS,
];

/// The tables that blocks verified at this level give; `receipts` says whether the archive has
/// receipts.
#[must_use]
pub fn of_level(level: Level, receipts: bool) -> Vec<&'static Table> {
    let given = |table: &&Table| match table.name {
        "blocks" => true,
        "receipts" | "logs" => level >= if receipts { Level::Bodies } else { Level::Execution },
        name if changes::TABLES.contains(&name) => level >= Level::Execution,
        _ => level >= Level::Bodies,
    };
    ALL.into_iter().filter(given).collect()
}

/// Headers, and what the body tells of itself.
pub static BLOCKS: Table = Table {
    name: "blocks",
    about: "A row is a block. `transaction_count` and `size` need level `bodies`.",
    sorted: &["number"],
    columns: &[
        Column::new("number", Kind::Int, "Height").cryo("block_number").or_none(),
        Column::new(
            "hash",
            HASH,
            "Keccak-256 of the header; without round and seals (IBFT 2.0, QBFT)",
        )
        .cryo("block_hash")
        .searched()
        .random(),
        Column::new("parent_hash", HASH, "Hash of the block before").random(),
        Column::new("nonce", Kind::Fixed(8), "Ethash nonce; 0 after the merge"),
        Column::new("sha3_uncles", HASH, "Keccak-256 of the list of ommers").cryo("uncles_hash"),
        Column::new("logs_bloom", Kind::Fixed(256), "Filter over all logs"),
        Column::new("transactions_root", HASH, "Root of the transactions trie").random(),
        Column::new("state_root", HASH, "Root of the state after the block").random(),
        Column::new("receipts_root", HASH, "Root of the receipts trie").random(),
        Column::new("miner", ADDRESS, "Who gets the fees").cryo("author").searched(),
        Column::new("difficulty", Kind::Wei, "Proof-of-work difficulty; 0 after the merge")
            .or_none(),
        Column::new("total_difficulty", Kind::Wei, "Sum up to this block, where it is known")
            .or_none(),
        Column::new("size", Kind::Int, "Bytes of the encoded block").filled_at(Level::Bodies),
        Column::new("extra_data", Kind::Bytes, "At most 32 free bytes"),
        Column::new("gas_limit", Kind::Int, "Most gas that the block may use").or_none(),
        Column::new("gas_used", Kind::Int, "Gas that it used").or_none(),
        Column::new("timestamp", Kind::Time, "When the block says it was").or_none(),
        Column::new("transaction_count", Kind::Int, "How many transactions")
            .filled_at(Level::Bodies),
        Column::new("base_fee_per_gas", Kind::Wei, "Wei, from London on").or_none(),
        Column::new("withdrawals_root", HASH, "Root of the withdrawals trie, from Shanghai on")
            .or_none(),
        Column::new("blob_gas_used", Kind::Int, "Blob gas, from Cancun on").or_none(),
        Column::new("excess_blob_gas", Kind::Int, "Running excess, from Cancun on").or_none(),
        Column::new("mix_hash", HASH, "Ethash mix; after the merge randomness").random(),
        Column::new("parent_beacon_block_root", HASH, "From Cancun on").or_none(),
        Column::new("requests_hash", HASH, "Hash of the requests, from Prague on").or_none(),
        Column::new("block_access_list_hash", HASH, "Hash of the access list, from Amsterdam on")
            .or_none(),
        Column::new("slot_number", Kind::Int, "Slot of the beacon chain, from Amsterdam on")
            .or_none(),
        LARGE,
    ],
};

/// Blocks outside of the chain that are named in it.
pub static OMMERS: Table = Table {
    name: "ommers",
    about: "A row is an ommer: the header of a block off the chain that a block of the chain \
            names, until the merge. Needs level `bodies`. With `blocks`, `transactions` and \
            `withdrawals`, all of a block is there.",
    sorted: &["block_number", "ommer_index"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        Column::new("ommer_index", Kind::Int, "Place of the ommer in the block, from 0"),
        Column::new("hash", HASH, "Keccak-256 of the ommer").searched().random(),
        Column::new("number", Kind::Int, "Height of the ommer").or_none(),
        Column::new("parent_hash", HASH, "Hash of the block before it").random(),
        Column::new("miner", ADDRESS, "Who gets the reward").cryo("author").searched(),
        Column::new("difficulty", Kind::Wei, "Proof-of-work difficulty").or_none(),
        Column::new("timestamp", Kind::Time, "When the ommer says it was")
            .cryo("ommer_timestamp")
            .or_none(),
        Column::new("gas_limit", Kind::Int, "Most gas that it could use").or_none(),
        Column::new("gas_used", Kind::Int, "Gas that it used").or_none(),
        Column::new("extra_data", Kind::Bytes, "At most 32 free bytes"),
        Column::new("header", Kind::Bytes, "The whole header in RLP"),
        LARGE,
    ],
};

/// Transactions with their senders.
pub static TRANSACTIONS: Table = Table {
    name: "transactions",
    about: "A row is a transaction. Needs level `bodies`. `gas_price` is what a unit of gas cost: \
            from London on, where the transaction names a limit, the base fee and what the \
            transaction adds.",
    sorted: &["block_number", "transaction_index"],
    columns: &[
        Column::new("hash", HASH, "Keccak-256 of the transaction")
            .cryo("transaction_hash")
            .searched()
            .random(),
        Column::new("nonce", Kind::Int, "Transactions that the sender sent before").or_none(),
        BLOCK_HASH,
        BLOCK_NUMBER,
        TRANSACTION_INDEX,
        Column::new("from_address", ADDRESS, "Who signed it").searched(),
        Column::new("to_address", ADDRESS, "Receiver; none for a new contract")
            .or_none()
            .searched(),
        Column::new("value", Kind::Wei, "Wei that are moved").or_none(),
        Column::new("gas", Kind::Int, "Most gas that it may use").cryo("gas_limit").or_none(),
        Column::new("gas_price", Kind::Wei, "Wei for each unit of gas").or_none(),
        Column::new("input", Kind::Bytes, "What the receiver is called with"),
        BLOCK_TIME,
        Column::new("max_fee_per_gas", Kind::Wei, "From type 2 on").or_none(),
        Column::new("max_priority_fee_per_gas", Kind::Wei, "From type 2 on").or_none(),
        Column::new("transaction_type", Kind::Int, "0 to 4 (EIP-2718)"),
        Column::new("max_fee_per_blob_gas", Kind::Wei, "Type 3").or_none(),
        Column::new("blob_versioned_hashes", Kind::Fixeds(32), "Type 3").or_none(),
        Column::new("chain_id", Kind::Int, "What is signed for; none for any chain").or_none(),
        Column::new("v", Kind::Wei, "Parity of the signature, in legacy ones with the chain")
            .or_none(),
        Column::new("r", WORD, "First half of the signature").random(),
        Column::new("s", WORD, "Second half of the signature").random(),
        Column::new("access_list", Kind::Structs(&ACCESS), "From type 1 on (EIP-2930)").or_none(),
        Column::new("authorization_list", Kind::Structs(&AUTHORIZATION), "Type 4 (EIP-7702)")
            .or_none(),
        LARGE,
    ],
};

/// An account, and slots of it, that a transaction names beforehand (EIP-2930).
static ACCESS: Table = Table {
    name: "access_list",
    about: "An account and slots of its storage.",
    sorted: &[],
    columns: &[
        Column::new("address", ADDRESS, "The account"),
        Column::new("storage_keys", Kind::Fixeds(32), "Its slots"),
    ],
};

/// A delegation that an account signed (EIP-7702). Chain and nonce may be any number, and one that
/// is none of the account's makes the delegation void, not the transaction.
static AUTHORIZATION: Table = Table {
    name: "authorization_list",
    about: "A delegation that an account signed.",
    sorted: &[],
    columns: &[
        Column::new("chain_id", WORD, "What is signed for; 0 for any chain"),
        Column::new("address", ADDRESS, "Whose code the account shall run"),
        Column::new("nonce", Kind::Wei, "Transactions that the account sent before"),
        Column::new("y_parity", Kind::Int, "Parity of the signature"),
        Column::new("r", WORD, "First half of the signature").random(),
        Column::new("s", WORD, "Second half of the signature").random(),
    ],
};

/// What transactions led to.
pub static RECEIPTS: Table = Table {
    name: "receipts",
    about: "A row is a receipt. Needs level `bodies` and an archive with receipts, or level \
            `execution`.",
    sorted: &["block_number", "transaction_index"],
    columns: &[
        TRANSACTION_HASH,
        TRANSACTION_INDEX,
        BLOCK_HASH,
        BLOCK_NUMBER,
        BLOCK_TIME,
        Column::new("cumulative_gas_used", Kind::Int, "Gas up to and with this transaction")
            .or_none(),
        Column::new("gas_used", Kind::Int, "Gas that it used").or_none(),
        Column::new("contract_address", ADDRESS, "The contract that it created")
            .or_none()
            .searched(),
        Column::new("root", HASH, "State root after it, before Byzantium").or_none(),
        Column::new("status", Kind::Int, "1 for success, 0 for failure, from Byzantium on")
            .or_none(),
        Column::new("effective_gas_price", Kind::Wei, "Wei that a unit of gas cost").or_none(),
        Column::new("logs_count", Kind::Int, "How many logs"),
        LARGE,
    ],
};

/// What contracts left.
pub static LOGS: Table = Table {
    name: "logs",
    about: "A row is a log. Needs what `receipts` needs.",
    sorted: &["block_number", "log_index"],
    columns: &[
        Column::new("log_index", Kind::Int, "Place in the block, from 0"),
        TRANSACTION_HASH,
        TRANSACTION_INDEX,
        BLOCK_HASH,
        BLOCK_NUMBER,
        BLOCK_TIME,
        Column::new("address", ADDRESS, "The contract that wrote it").searched(),
        Column::new("topic0", WORD, "For Solidity the event").or_none().searched(),
        Column::new("topic1", WORD, "Second word to search for").or_none(),
        Column::new("topic2", WORD, "Third word to search for").or_none(),
        Column::new("topic3", WORD, "Fourth word to search for").or_none(),
        Column::new("data", Kind::Bytes, "Free bytes"),
        LARGE,
    ],
};

/// What came from the beacon chain.
pub static WITHDRAWALS: Table = Table {
    name: "withdrawals",
    about: "A row is a withdrawal (EIP-4895). Needs level `bodies`.",
    sorted: &["block_number", "index"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        Column::new("index", Kind::Int, "Running number over all blocks")
            .cryo("withdrawal_index")
            .or_none(),
        Column::new("validator_index", Kind::Int, "Validator on the beacon chain").or_none(),
        Column::new("address", ADDRESS, "Receiver").searched(),
        Column::new("amount", Kind::Int, "Gwei").or_none(),
        LARGE,
    ],
};

const CHANGED: Column = Column::new("address", ADDRESS, "The account").searched();

/// What blocks access and change, as their access lists say.
pub static BLOCK_ACCESS_LIST: Table = Table {
    name: "block_access_list",
    about: "A row is an entry of a block access list (EIP-7928), in the order of the list, from \
            Amsterdam on. Needs level `bodies` and an archive with the lists.",
    sorted: &["block_number", "address"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        Column::new(
            "access_index",
            Kind::Int,
            "When it changed, as the list says: 0 before the \
                    first transaction, 1 by it; none for what was only accessed",
        )
        .or_none(),
        Column::new(
            "transaction_index",
            Kind::Int,
            "The transaction that changed it, from 0; \
                    none for what comes before the first one or after the last one",
        )
        .or_none(),
        CHANGED,
        Column::new(
            "kind",
            Kind::Text,
            "`account`, `storage`, `storage_read`, `balance`, \
                    `nonce` or `code`",
        ),
        Column::new("slot", WORD, "The slot of `storage` and `storage_read`").or_none(),
        Column::new(
            "value",
            Kind::Bytes,
            "What is there after it. `storage`, `balance` (wei): \
                    32 bytes, big endian; `nonce`: 8; `code`: the code",
        )
        .or_none(),
        LARGE,
    ],
};

/// What accounts own.
pub static BALANCE_DIFFS: Table = Table {
    name: "balance_diffs",
    about: "A row is an account whose balance a block changed, or that it created or removed, all \
            of the block together. Needs level `execution`. What the chain begins with is in its \
            genesis, not here.",
    sorted: &["block_number", "address"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        CHANGED,
        Column::new("from_value", Kind::Wei, "Wei before the block; none: it was not there")
            .or_none(),
        Column::new("to_value", Kind::Wei, "Wei after it; none: it is not there any more")
            .or_none(),
        LARGE,
    ],
};

/// How much accounts sent.
pub static NONCE_DIFFS: Table = Table {
    name: "nonce_diffs",
    about: "A row is an account whose nonce a block changed; an account that is not there has 0. \
            Needs level `execution`.",
    sorted: &["block_number", "address"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        CHANGED,
        Column::new("from_value", Kind::Int, "Before the block").or_none(),
        Column::new("to_value", Kind::Int, "After it").or_none(),
        LARGE,
    ],
};

/// Which code accounts have.
pub static CODE_DIFFS: Table = Table {
    name: "code_diffs",
    about: "A row is an account whose code a block changed: a contract that was created or \
            removed, or a delegation (EIP-7702). Needs level `execution`.",
    sorted: &["block_number", "address"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        CHANGED,
        Column::new("from_code_hash", HASH, "Keccak-256 of the code before the block"),
        Column::new("to_code_hash", HASH, "Keccak-256 of the code after it").searched(),
        Column::new("to_code", Kind::Bytes, "That code, where no account had it before").or_none(),
        LARGE,
    ],
};

/// What contracts keep.
pub static STORAGE_DIFFS: Table = Table {
    name: "storage_diffs",
    about: "A row is a slot whose value a block changed, all of the block together. Needs level \
            `execution`.",
    sorted: &["block_number", "address", "slot"],
    columns: &[
        BLOCK_NUMBER,
        BLOCK_HASH,
        BLOCK_TIME,
        CHANGED,
        Column::new("slot", WORD, "Which"),
        Column::new("from_value", WORD, "Before the block; 0 is nothing"),
        Column::new("to_value", WORD, "After it"),
        LARGE,
    ],
};
