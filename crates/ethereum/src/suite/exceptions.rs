//! What the tests expect of a refusal: the rules of this crate that each published exception names.
//!
//! A refusal is right only for one of these rules. Names are those of the Python specification
//! (`execution_testing/exceptions`), those of the older ethereum/tests, and words of the errors of
//! go-ethereum v1.17.10.

use super::SuiteError;
use crate::rule::Rule::{self, *};

/// A name, and the rules that it may be.
type Row = (&'static str, &'static [Rule]);

/// What is wrong with the encoding of a transaction in a body.
const ENCODING: &[Rule] = &[TransactionEncoding];
/// Header or body do not have the fields of their fork.
const FORMAT: &[Rule] = &[
    HeaderEncoding,
    BodyEncoding,
    BaseFee,
    WithdrawalsRoot,
    BodyWithdrawalsRoot,
    BlobGasUsed,
    ExcessBlobGas,
    ParentBeaconRoot,
    RequestsHash,
    BlockAccessListHash,
    SlotNumber,
    UnknownFork,
];
/// Rules of a block access list.
const ACCESS_LIST: &[Rule] = &[
    AccessList,
    BodyAccessList,
    AccessListEncoding,
    AccessListOrder,
    AccessListSlot,
    AccessListEmpty,
    AccessListIndex,
    AccessListCode,
    AccessListSize,
];

/// Exceptions of blocks (`BlockException`).
const BLOCK: &[Row] = &[
    ("TOO_MANY_UNCLES", &[OmmerCount]),
    ("UNCLE_IN_CHAIN", &[OmmerDuplicate, OmmerIsAncestor]),
    ("UNCLE_IS_ANCESTOR", &[OmmerIsAncestor]),
    ("UNCLE_IS_BROTHER", &[OmmerDuplicate, OmmerParent]),
    ("UNCLE_PARENT_INCORRECT", &[OmmerParent]),
    ("UNCLE_UNKNOWN_PARENT", &[OmmerParent]),
    ("EXTRA_DATA_TOO_BIG", &[ExtraData]),
    ("EXTRA_DATA_INVALID_DAO", &[DaoExtraData]),
    ("UNKNOWN_PARENT", &[ParentHash]),
    ("UNKNOWN_PARENT_ZERO", &[ParentHash]),
    ("GASLIMIT_TOO_BIG", &[GasLimitMaximum]),
    ("INVALID_BLOCK_NUMBER", &[Number]),
    ("INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT", &[Timestamp]),
    ("INVALID_DIFFICULTY", &[Difficulty]),
    ("INVALID_LOG_BLOOM", &[LogsBloom]),
    ("INVALID_STATE_ROOT", &[StateRoot]),
    ("INVALID_RECEIPTS_ROOT", &[ReceiptsRoot]),
    ("INVALID_TRANSACTIONS_ROOT", &[TransactionsRoot]),
    ("INVALID_UNCLES_HASH", &[OmmersHash, BodyOmmersHash]),
    ("GAS_USED_OVERFLOW", &[GasUsed, BlockGasLimit]),
    ("INVALID_GASLIMIT", &[GasLimitBound, GasLimitMinimum]),
    ("INVALID_BASEFEE_PER_GAS", &[BaseFee]),
    ("INVALID_GAS_USED", &[ReceiptsGas]),
    ("INVALID_GAS_USED_ABOVE_LIMIT", &[GasUsed]),
    ("INVALID_WITHDRAWALS_ROOT", &[BodyWithdrawalsRoot]),
    ("INCORRECT_BLOCK_FORMAT", FORMAT),
    ("BLOB_GAS_USED_ABOVE_LIMIT", &[BlobGasUsed]),
    ("INCORRECT_BLOB_GAS_USED", &[BlobGasUsed, BodyBlobGas]),
    ("INCORRECT_EXCESS_BLOB_GAS", &[ExcessBlobGas]),
    ("INVALID_VERSIONED_HASHES", &[VersionedHashes]),
    ("RLP_STRUCTURES_ENCODING", &[HeaderEncoding, BodyEncoding, TransactionEncoding]),
    ("RLP_WITHDRAWALS_NOT_READ", &[BodyEncoding, BodyWithdrawalsRoot]),
    ("RLP_INVALID_FIELD_OVERFLOW_64", &[HeaderEncoding, BodyEncoding]),
    ("RLP_INVALID_ADDRESS", &[HeaderEncoding, BodyEncoding]),
    ("RLP_BLOCK_LIMIT_EXCEEDED", &[BlockSize]),
    ("INVALID_REQUESTS", &[Requests]),
    ("IMPORT_IMPOSSIBLE_LEGACY", &[BaseFee]),
    ("IMPORT_IMPOSSIBLE_LEGACY_WRONG_PARENT", &[BaseFee]),
    ("IMPORT_IMPOSSIBLE_LONDON_WRONG_PARENT", &[BaseFee]),
    ("IMPORT_IMPOSSIBLE_PARIS_WRONG_POW", &[Merge, TerminalTotalDifficulty]),
    ("IMPORT_IMPOSSIBLE_PARIS_WRONG_POS", &[Merge, TerminalTotalDifficulty]),
    ("IMPORT_IMPOSSIBLE_LONDON_OVER_PARIS", &[Merge]),
    ("IMPORT_IMPOSSIBLE_PARIS_OVER_SHANGHAI", &[WithdrawalsRoot]),
    ("IMPORT_IMPOSSIBLE_SHANGHAI", &[WithdrawalsRoot]),
    ("IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS", &[OmmersHash]),
    ("IMPORT_IMPOSSIBLE_DIFFICULTY_OVER_PARIS", &[Merge]),
    ("SYSTEM_CONTRACT_EMPTY", &[SystemCall]),
    ("SYSTEM_CONTRACT_CALL_FAILED", &[SystemCall]),
    ("INVALID_BLOCK_HASH", &[StatedHash]),
    ("INVALID_DEPOSIT_EVENT_LAYOUT", &[DepositEvent]),
    ("INVALID_BLOCK_ACCESS_LIST", ACCESS_LIST),
    ("INVALID_BAL_HASH", &[AccessList, BodyAccessList]),
    ("BLOCK_ACCESS_LIST_GAS_LIMIT_EXCEEDED", &[AccessListSize]),
];

/// Exceptions of transactions (`TransactionException`).
const TRANSACTION: &[Row] = &[
    ("TYPE_NOT_SUPPORTED", &[TransactionType]),
    ("TYPE_1_TX_PRE_FORK", &[TransactionType]),
    ("TYPE_2_TX_PRE_FORK", &[TransactionType]),
    ("TYPE_3_TX_PRE_FORK", &[TransactionType]),
    ("TYPE_3_TX_ZERO_BLOBS_PRE_FORK", &[TransactionType]),
    ("TYPE_4_TX_PRE_FORK", &[TransactionType]),
    ("SENDER_NOT_EOA", &[SenderCode]),
    ("ADDRESS_TOO_SHORT", ENCODING),
    ("ADDRESS_TOO_LONG", ENCODING),
    ("NONCE_MISMATCH_TOO_HIGH", &[SenderNonce]),
    ("NONCE_MISMATCH_TOO_LOW", &[SenderNonce]),
    ("NONCE_TOO_BIG", &[TransactionNonce]),
    ("NONCE_IS_MAX", &[TransactionNonce]),
    ("NONCE_OVERFLOW", ENCODING),
    ("GASLIMIT_OVERFLOW", ENCODING),
    ("VALUE_OVERFLOW", ENCODING),
    ("GASPRICE_OVERFLOW", ENCODING),
    ("PRIORITY_OVERFLOW", ENCODING),
    ("GASLIMIT_PRICE_PRODUCT_OVERFLOW", &[UpfrontCost]),
    ("INVALID_SIGNATURE_VRS", &[SignatureV, SignatureR, SignatureS, TransactionEncoding]),
    // a v too small to name a chain is one of these, too
    ("INVALID_CHAINID", &[SignatureChainId, SignatureV]),
    ("EC_RECOVERY_FAIL", &[SignatureKey]),
    ("INSUFFICIENT_ACCOUNT_FUNDS", &[SenderBalance]),
    ("INSUFFICIENT_MAX_FEE_PER_GAS", &[MaxFee]),
    ("INSUFFICIENT_MAX_FEE_PER_BLOB_GAS", &[MaxBlobFee]),
    ("PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS", &[PriorityFee]),
    ("PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS_2", &[PriorityFee]),
    ("INTRINSIC_GAS_TOO_LOW", &[IntrinsicGas]),
    ("INTRINSIC_GAS_BELOW_FLOOR_GAS_COST", &[IntrinsicGas]),
    ("INITCODE_SIZE_EXCEEDED", &[InitcodeSize]),
    ("TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH", &[BlobHashes]),
    ("TYPE_3_TX_ZERO_BLOBS", &[BlobHashes]),
    ("TYPE_3_TX_WITH_FULL_BLOBS", ENCODING),
    ("TYPE_3_TX_BLOB_COUNT_EXCEEDED", &[TransactionBlobs, BlobGasUsed]),
    ("TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED", &[TransactionBlobs, BlobGasUsed]),
    ("TYPE_3_TX_CONTRACT_CREATION", &[Receiver]),
    ("TYPE_4_TX_CONTRACT_CREATION", &[Receiver]),
    ("TYPE_4_EMPTY_AUTHORIZATION_LIST", &[Authorizations]),
    ("TYPE_4_INVALID_AUTHORIZATION_FORMAT", ENCODING),
    ("GAS_ALLOWANCE_EXCEEDED", &[BlockGasLimit]),
    ("GAS_LIMIT_EXCEEDS_MAXIMUM", &[TransactionGasLimit, IntrinsicGas]),
];

/// Exceptions of ethereum/tests before they had the names of the Python specification.
const LEGACY: &[Row] = &[
    ("TR_TypeNotSupported", &[TransactionType]),
    ("TR_TypeNotSupportedBlob", &[TransactionType]),
    ("TR_NoFunds", &[SenderBalance]),
    ("TR_NoFundsX", &[SenderBalance, UpfrontCost]),
    ("TR_NoFundsOrGas", &[SenderBalance, IntrinsicGas]),
    ("TR_IntrinsicGas", &[IntrinsicGas]),
    ("IntrinsicGas", &[IntrinsicGas]),
    ("TR_GasLimitReached", &[BlockGasLimit]),
    ("TR_FeeCapLessThanBlocks", &[MaxFee]),
    ("TR_FeeCapLessThanBlocksORNoFunds", &[MaxFee, SenderBalance]),
    ("TR_FeeCapLessThanBlocksORGasLimitReached", &[MaxFee, BlockGasLimit]),
    ("TR_TipGtFeeCap", &[PriorityFee]),
    ("TR_NonceHasMaxValue", &[TransactionNonce]),
    ("TR_NonceTooLow", &[SenderNonce]),
    ("TR_NonceTooHigh", &[SenderNonce]),
    ("TR_InitCodeLimitExceeded", &[InitcodeSize]),
    ("TR_RLP_WRONGVALUE", ENCODING),
    ("TR_EMPTYBLOB", &[BlobHashes]),
    ("TR_BLOBVERSION_INVALID", &[BlobHashes]),
    ("TR_BLOBLIST_OVERSIZE", &[TransactionBlobs, BlobGasUsed]),
    ("TR_BLOBCREATE", &[Receiver]),
    ("SenderNotEOA", &[SenderCode]),
    ("SenderNotEOAorNoCASH", &[SenderCode, SenderBalance]),
];

/// Words of go-ethereum's errors, for tests that it wrote.
const GO_ETHEREUM: &[Row] = &[
    ("intrinsic gas too low", &[IntrinsicGas]),
    ("insufficient gas for floor data gas cost", &[IntrinsicGas]),
    ("insufficient funds", &[SenderBalance]),
    ("gas limit reached", &[BlockGasLimit]),
    // a limit of the transaction under Osaka, of what is due before execution under Amsterdam
    ("transaction gas limit too high", &[TransactionGasLimit, IntrinsicGas]),
    ("sender not an eoa", &[SenderCode]),
    ("nonce too low", &[SenderNonce]),
    ("nonce too high", &[SenderNonce]),
    ("nonce has max value", &[TransactionNonce]),
    ("max initcode size exceeded", &[InitcodeSize]),
    ("max fee per gas less than block base fee", &[MaxFee]),
    ("max fee per blob gas less than", &[MaxBlobFee]),
    ("max priority fee per gas higher", &[PriorityFee]),
    ("has invalid hash version", &[BlobHashes]),
    ("blob gas used", &[BlobGasUsed, BodyBlobGas]),
    ("block access list exceeds size constraint", &[AccessListSize]),
    ("transaction type not supported", &[TransactionType]),
    ("blob transaction missing blob hashes", &[BlobHashes]),
    ("EIP-7702 transaction with empty auth list", &[Authorizations]),
    ("of type create", &[Receiver]),
];

/// Whether one of the `expected` exceptions, separated by `|`, is the broken rule.
///
/// # Errors
/// [`SuiteError::Exception`] if it is none of those that are known, and others are named.
pub(super) fn allows(expected: &str, rule: Rule) -> Result<bool, SuiteError> {
    let mut unknown = None;
    for name in expected.split('|').map(str::trim) {
        match rules(name) {
            Some(rules) if rules.contains(&rule) => return Ok(true),
            Some(_) => {}
            None => unknown = Some(name),
        }
    }
    match unknown {
        Some(name) => Err(SuiteError::Exception { name: name.into() }),
        None => Ok(false),
    }
}

/// The rules of an exception.
fn rules(name: &str) -> Option<&'static [Rule]> {
    if let Some(text) = name.strip_prefix("geth: ") {
        let row = GO_ETHEREUM.iter().find(|(words, _)| text.contains(words));
        return row.map(|(_, rules)| *rules);
    }
    let (rows, name) = match name.split_once('.') {
        Some(("BlockException", name)) => (BLOCK, name),
        Some(("TransactionException", name)) => (TRANSACTION, name),
        Some(_) => return None,
        None => (LEGACY, name),
    };
    let of_encoding = rows.as_ptr() == TRANSACTION.as_ptr() && name.starts_with("RLP_");
    let row = rows.iter().find(|(known, _)| *known == name);
    row.map(|(_, rules)| *rules).or(of_encoding.then_some(ENCODING))
}
