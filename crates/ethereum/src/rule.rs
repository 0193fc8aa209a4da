//! The rules of the chain, and the violation of one: the rule, what it asks for and what was found.

use std::fmt::{self, Display, Formatter};

/// The rules of this crate, one for each way in which a block can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The first block is the chain's genesis block.
    Genesis,
    /// The parent hash is the hash of the block before.
    ParentHash,
    /// The number is the parent's plus one.
    Number,
    /// The time is later than the parent's.
    Timestamp,
    /// Under proof of work, the time is not in the future.
    FutureTimestamp,
    /// At most 32 bytes of extra data.
    ExtraData,
    /// Extra data of the blocks that mark a chain's side in the DAO fork.
    DaoExtraData,
    /// The gas limit moves by less than 1/1024 of the parent's.
    GasLimitBound,
    /// The gas limit is 5,000 or more.
    GasLimitMinimum,
    /// The gas limit is below 2^63.
    GasLimitMaximum,
    /// The block used no more gas than its limit.
    GasUsed,
    /// The difficulty follows from the parent's.
    Difficulty,
    /// Proof of work before the merge, proof of stake after it.
    Merge,
    /// The total difficulty at the merge.
    TerminalTotalDifficulty,
    /// Nonce 0 under proof of stake.
    Nonce,
    /// No ommers under proof of stake.
    OmmersHash,
    /// The base fee follows from the parent's.
    BaseFee,
    /// A withdrawals root from Shanghai on, and not before.
    WithdrawalsRoot,
    /// The blob gas used, from Cancun on and not before: whole blobs, and not too many.
    BlobGasUsed,
    /// The excess blob gas, from Cancun on and not before, follows from the parent's.
    ExcessBlobGas,
    /// A parent beacon block root from Cancun on, and not before.
    ParentBeaconRoot,
    /// A requests hash from Prague on, and not before.
    RequestsHash,
    /// A block access list hash from Amsterdam on, and not before.
    BlockAccessListHash,
    /// A slot number from Amsterdam on, and not before.
    SlotNumber,
    /// At most two ommers in a block.
    OmmerCount,
    /// An ommer is rewarded once.
    OmmerDuplicate,
    /// An ommer is not an ancestor.
    OmmerIsAncestor,
    /// The parent of an ommer is one of the block's ancestors 2 to 7.
    OmmerParent,
    /// The fork of a block is one that this program knows, with a date on this network.
    UnknownFork,
    /// A header has the fields of a header, each of its size.
    HeaderEncoding,
    /// A body has the lists of a body, and their items the fields that they should.
    BodyEncoding,
    /// The mix hash of the seal is the one that ethash gives.
    SealMixHash,
    /// The seal's hash is at most 2^256 divided by the difficulty.
    SealBoundary,
    /// The block is of an epoch that caches are generated for.
    SealEpoch,
    /// The extra data of clique has a signature, and in checkpoints all signers.
    CliqueExtraData,
    /// A vote of clique is for or against a signer, and no checkpoint has one.
    CliqueVote,
    /// The mix hash is 0 under clique.
    CliqueMixHash,
    /// No ommers under clique.
    CliqueOmmers,
    /// The difficulty is 1 or 2 under clique.
    CliqueDifficulty,
    /// Under clique, a block is at least the period later than its parent.
    CliquePeriod,
    /// Some key made the signature of a block of clique.
    CliqueSignature,
    /// The extra data of IBFT 2.0 and QBFT is the list of the engine.
    BftExtraData,
    /// The validators of a block are in order, and one at least.
    BftValidators,
    /// The proposer of a block is one of its validators.
    BftProposer,
    /// The mix hash under IBFT 2.0 and QBFT.
    BftMixHash,
    /// No ommers under IBFT 2.0 and QBFT.
    BftOmmers,
    /// The difficulty is 1 under IBFT 2.0 and QBFT.
    BftDifficulty,
    /// Nonce 0 under IBFT 2.0 and QBFT.
    BftNonce,
    /// Under IBFT 2.0 and QBFT, a block is at least the period later than its parent.
    BftPeriod,
    /// A committed seal is the signature of a validator, which seals once.
    BftSeal,
    /// Two thirds of the validators have sealed a block.
    BftSeals,
    /// The archive has the body of each block.
    BodyMissing,
    /// The hash that an archive states for a header is the header's.
    StatedHash,
    /// A block met again is the block that is stored.
    KnownBlock,
    /// A block that comes again in an archive is equal to the one read before.
    RepeatedBlock,
    /// The total difficulty that an archive states is the sum of the difficulties.
    TotalDifficulty,
    /// The accumulator at the end of an era1 or ere file follows from its headers.
    Accumulator,
    /// No transaction of a type that a later fork brings.
    TransactionType,
    /// From Osaka on, an encoded block has at most 8 MiB.
    BlockSize,
    /// The transactions root follows from the body's transactions.
    TransactionsRoot,
    /// The ommers hash follows from the body's ommers.
    BodyOmmersHash,
    /// The withdrawals root follows from the body's withdrawals.
    BodyWithdrawalsRoot,
    /// The blob gas used follows from the transactions' blobs.
    BodyBlobGas,
    /// The block access list hash follows from the archive's access list.
    BodyAccessList,
    /// A block access list has the fields of one, each of its size.
    AccessListEncoding,
    /// Addresses, slots and indices of a block access list are in ascending order, each once.
    AccessListOrder,
    /// A slot in a block access list is written or only read.
    AccessListSlot,
    /// A written slot in a block access list has a change.
    AccessListEmpty,
    /// An index in a block access list is at most the number of transactions plus 1.
    AccessListIndex,
    /// Code in a block access list is no longer than the fork allows.
    AccessListCode,
    /// A block access list has no more addresses and slots than the gas limit allows.
    AccessListSize,
    /// One well-formed receipt for each transaction.
    ReceiptEncoding,
    /// The receipts root follows from the receipts.
    ReceiptsRoot,
    /// The logs bloom has the bits of all receipts.
    LogsBloom,
    /// The gas used is the last receipt's cumulative gas.
    ReceiptsGas,
    /// A transaction has the fields of its type, each of its size.
    TransactionEncoding,
    /// A transaction with blobs or code delegations has a receiver.
    Receiver,
    /// A blob transaction has blobs, whose hashes are of a known version.
    BlobHashes,
    /// The blob hashes of a call of the engine API are those of its payload's transactions.
    VersionedHashes,
    /// A set-code transaction has authorizations.
    Authorizations,
    /// `v` of a signature has a value that the fork allows.
    SignatureV,
    /// A transaction is signed for this chain, if for one only.
    SignatureChainId,
    /// `r` of a signature is a number of the group.
    SignatureR,
    /// `s` of a signature is a number of the group, from Homestead on a low one.
    SignatureS,
    /// Some key made the signature.
    SignatureKey,
    /// A transaction's nonce leaves one for the account's next.
    TransactionNonce,
    /// The miner's part of the fee is not more than all of it.
    PriorityFee,
    /// The most that gas and blobs of a transaction can cost has 256 bits.
    UpfrontCost,
    /// A transaction asks for no more gas than the fork allows.
    TransactionGasLimit,
    /// Creation code is no longer than the fork allows.
    InitcodeSize,
    /// A transaction's gas limit pays for what is due before execution.
    IntrinsicGas,
    /// A transaction has no more blobs than the fork allows.
    TransactionBlobs,
    /// A transaction asks for no more gas than the block has.
    BlockGasLimit,
    /// A transaction pays the block's base fee.
    MaxFee,
    /// A transaction pays the block's price of blobs.
    MaxBlobFee,
    /// A transaction's nonce is its sender's.
    SenderNonce,
    /// The sender owns the most that a transaction can cost.
    SenderBalance,
    /// The sender is no contract.
    SenderCode,
    /// The virtual machine takes the transaction.
    Transaction,
    /// The virtual machine knows the rules of the block.
    ExecutionRules,
    /// The contracts that collect requests are there and answer.
    SystemCall,
    /// The deposit contract writes events of one layout.
    DepositEvent,
    /// The requests hash follows from the requests.
    Requests,
    /// The block access list hash follows from what execution accessed and changed.
    AccessList,
    /// The state root is the root of the state after the block.
    StateRoot,
}

// Sources of most rules.
const HEADER: &str = "Yellow Paper 4.3.4";
const OMMERS: &str = "Yellow Paper 11.1";
const BODY: &str = "Yellow Paper 4.3.2";
const ACCESS_LIST: &str = "EIP-7928";
const TRANSACTION: &str = "Yellow Paper 6.2";
const CLIQUE: &str = "EIP-225";
const BFT: &str = "Hyperledger Besu";

impl Rule {
    /// The rule in a few words.
    pub fn name(self) -> &'static str {
        self.text().0
    }

    /// Where the rule is written down.
    pub fn source(self) -> &'static str {
        self.text().1
    }

    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Genesis => ("genesis hash", "Yellow Paper, appendix I"),
            Self::ParentHash => ("parent hash", HEADER),
            Self::Number => ("number", HEADER),
            Self::Timestamp => ("timestamp later than the parent's", HEADER),
            Self::FutureTimestamp => ("timestamp not in the future", "go-ethereum, ethash"),
            Self::ExtraData => ("extra data size", HEADER),
            Self::DaoExtraData => ("DAO extra data", "EIP-779"),
            Self::GasLimitBound => ("gas limit bound", HEADER),
            Self::GasLimitMinimum => ("gas limit minimum", HEADER),
            Self::GasLimitMaximum => ("gas limit maximum", "EIP-1985"),
            Self::GasUsed => ("gas used within the limit", HEADER),
            Self::Difficulty => ("difficulty", "Yellow Paper 4.3.4, EIP-2, EIP-100, bomb delays"),
            Self::Merge => ("proof of stake after the merge", "EIP-3675"),
            Self::TerminalTotalDifficulty => ("terminal total difficulty", "EIP-3675"),
            Self::Nonce => ("nonce 0 after the merge", "EIP-3675"),
            Self::OmmersHash => ("no ommers after the merge", "EIP-3675"),
            Self::BaseFee => ("base fee", "EIP-1559"),
            Self::WithdrawalsRoot => ("withdrawals root present", "EIP-4895"),
            Self::BlobGasUsed => ("blob gas used", "EIP-4844, EIP-7840"),
            Self::ExcessBlobGas => ("excess blob gas", "EIP-4844, EIP-7918"),
            Self::ParentBeaconRoot => ("parent beacon root present", "EIP-4788"),
            Self::RequestsHash => ("requests hash present", "EIP-7685"),
            Self::BlockAccessListHash => ("block access list hash present", "EIP-7928"),
            Self::SlotNumber => ("slot number present", "EIP-7843"),
            Self::OmmerCount => ("at most two ommers", OMMERS),
            Self::OmmerDuplicate => ("ommer included once", OMMERS),
            Self::OmmerIsAncestor => ("ommer is not an ancestor", OMMERS),
            Self::OmmerParent => ("ommer's parent is a recent ancestor", OMMERS),
            Self::UnknownFork => ("fork that is known", "this version"),
            Self::HeaderEncoding => ("header encoding", "Yellow Paper 4.3.3"),
            Self::BodyEncoding => ("body encoding", "Yellow Paper 4.3, EIP-4895"),
            Self::SealMixHash => ("seal: mix hash", "Yellow Paper 11.5"),
            Self::SealBoundary => ("seal: proof of work", "Yellow Paper 11.5"),
            Self::SealEpoch => ("seal: block number", "go-ethereum, ethash"),
            Self::CliqueExtraData => ("extra data of clique", CLIQUE),
            Self::CliqueVote => ("vote of clique", CLIQUE),
            Self::CliqueMixHash => ("mix hash 0 under clique", CLIQUE),
            Self::CliqueOmmers => ("no ommers under clique", CLIQUE),
            Self::CliqueDifficulty => ("difficulty under clique", CLIQUE),
            Self::CliquePeriod => ("period of clique", CLIQUE),
            Self::CliqueSignature => ("signature of clique", CLIQUE),
            Self::BodyMissing => ("body present", "level bodies"),
            Self::StatedHash => ("hash stated by the archive", "ancient table of hashes"),
            Self::KnownBlock => ("block already stored", "this store"),
            Self::RepeatedBlock => ("one block of each number", "this archive"),
            Self::TotalDifficulty => ("total difficulty stated by the archive", "era1, ere"),
            Self::Accumulator => ("accumulator", "era1, ere"),
            Self::TransactionType => ("type of a transaction", "EIP-2718"),
            Self::BlockSize => ("block size", "EIP-7934"),
            Self::TransactionsRoot => ("transactions root", BODY),
            Self::BodyOmmersHash => ("ommers hash", BODY),
            Self::BodyWithdrawalsRoot => ("withdrawals root", "EIP-4895"),
            Self::BodyBlobGas => ("blob gas of the transactions", "EIP-4844"),
            Self::BodyAccessList => ("block access list", ACCESS_LIST),
            Self::AccessListEncoding => ("encoding of the block access list", ACCESS_LIST),
            Self::AccessListOrder => ("order of the block access list", ACCESS_LIST),
            Self::AccessListSlot => ("slot read or written, not both", ACCESS_LIST),
            Self::AccessListEmpty => ("change of a written slot", ACCESS_LIST),
            Self::AccessListIndex => ("index in the block access list", ACCESS_LIST),
            Self::AccessListCode => ("code in the block access list", "EIP-7928, EIP-7954"),
            Self::AccessListSize => ("size of the block access list", ACCESS_LIST),
            Self::ReceiptEncoding => ("encoding of the receipts", "Yellow Paper 4.3.1, EIP-2718"),
            Self::ReceiptsRoot => ("receipts root", BODY),
            Self::LogsBloom => ("logs bloom", BODY),
            Self::ReceiptsGas => ("gas used by the receipts", BODY),
            rule => rule.text_of_validators(),
        }
    }

    /// The rules of blocks that validators agree on.
    const fn text_of_validators(self) -> (&'static str, &'static str) {
        match self {
            Self::BftExtraData => ("extra data of validators", BFT),
            Self::BftValidators => ("validators of the block", BFT),
            Self::BftProposer => ("proposer of the block", BFT),
            Self::BftMixHash => ("mix hash of validators", BFT),
            Self::BftOmmers => ("no ommers under validators", BFT),
            Self::BftDifficulty => ("difficulty 1 under validators", BFT),
            Self::BftNonce => ("nonce 0 under validators", BFT),
            Self::BftPeriod => ("period of the blocks", BFT),
            Self::BftSeal => ("committed seal", BFT),
            Self::BftSeals => ("seals of two thirds of the validators", BFT),
            rule => rule.text_of_transaction(),
        }
    }

    /// The rules of transactions that need no state.
    const fn text_of_transaction(self) -> (&'static str, &'static str) {
        match self {
            Self::TransactionEncoding => {
                ("encoding of the transaction", "Yellow Paper 4.2, EIP-2718")
            }
            Self::Receiver => ("receiver of the transaction", "EIP-4844, EIP-7702"),
            Self::BlobHashes => ("blob hashes of the transaction", "EIP-4844"),
            Self::VersionedHashes => ("blob hashes of the payload", "engine API, Cancun"),
            Self::Authorizations => ("authorization list", "EIP-7702"),
            Self::SignatureV => ("v of the signature", "Yellow Paper, appendix F, EIP-155"),
            Self::SignatureChainId => ("chain of the signature", "EIP-155, EIP-2718"),
            Self::SignatureR => ("r of the signature", "Yellow Paper, appendix F"),
            Self::SignatureS => ("s of the signature", "Yellow Paper, appendix F, EIP-2"),
            Self::SignatureKey => ("key of the signature", "Yellow Paper, appendix F"),
            Self::TransactionNonce => ("nonce of the transaction", "EIP-2681"),
            Self::PriorityFee => ("priority fee", "EIP-1559"),
            Self::UpfrontCost => ("cost of gas and blobs", TRANSACTION),
            Self::TransactionGasLimit => ("gas limit of the transaction", "EIP-7825"),
            Self::InitcodeSize => ("size of creation code", "EIP-3860"),
            Self::IntrinsicGas => ("gas due before execution", "Yellow Paper 6.2, EIP-7623"),
            Self::TransactionBlobs => ("blobs of the transaction", "EIP-7594"),
            Self::BlockGasLimit => ("gas limit of the transaction in its block", TRANSACTION),
            Self::MaxFee => ("fee of the transaction", "EIP-1559"),
            Self::MaxBlobFee => ("blob fee of the transaction", "EIP-4844"),
            rule => rule.text_of_execution(),
        }
    }

    /// The rules that only execution can check.
    const fn text_of_execution(self) -> (&'static str, &'static str) {
        match self {
            Self::SenderNonce => ("nonce of the sender", TRANSACTION),
            Self::SenderBalance => ("balance of the sender", TRANSACTION),
            Self::SenderCode => ("sender without code", "EIP-3607, EIP-7702"),
            Self::Transaction => ("transaction as the virtual machine takes it", TRANSACTION),
            Self::ExecutionRules => ("rules that can be executed", "revm"),
            Self::SystemCall => ("system contracts", "EIP-7002, EIP-7251, EIP-8282"),
            Self::DepositEvent => ("deposit event", "EIP-6110"),
            Self::Requests => ("requests", "EIP-7685"),
            Self::AccessList => ("block access list of the execution", "EIP-7928"),
            Self::StateRoot => ("state root", "Yellow Paper 4.3.2"),
            // all others are in `text`
            _ => ("rule", "Yellow Paper"),
        }
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, source) = self.text();
        write!(f, "{name} ({source})")
    }
}

/// A broken rule of this chain.
pub type Violation = blockmill_verdict::Violation<Rule>;
