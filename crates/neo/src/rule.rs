//! The rules of blocks, and violations: rule, expected and found.

use std::fmt::{self, Display, Formatter};

/// The rules of blocks, one for each reason for which neo-go rejects a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The genesis block follows from the configuration.
    Genesis,
    /// The header names its parent.
    PreviousHash,
    /// The height is the parent's plus one.
    Index,
    /// The time is later than the parent's.
    Timestamp,
    /// The primary is one of the consensus nodes.
    PrimaryIndex,
    /// The witness belongs to the account that the parent names.
    BlockAccount,
    /// The consensus nodes signed the block.
    BlockWitness,
    /// The header's merkle root is that of the transactions.
    MerkleRoot,
    /// There is one block of each height.
    KnownBlock,
    /// No transaction is in a block twice.
    RepeatedTransaction,
    /// A transaction has at most 102,400 bytes.
    TransactionSize,
    /// The last height of a transaction has not passed.
    Expired,
    /// A transaction is not in a block before the height that it names.
    NotValidBefore,
    /// No transaction names another one twice as conflicting.
    RepeatedConflict,
    /// Attribute types are valid in the network at this height.
    AttributeType,
    /// A notary-assisted transaction is signed by the Notary contract.
    NotaryAssisted,
    /// The signers of an oracle response have no scopes.
    OracleScopes,
    /// A witness belongs to its signer's account.
    WitnessAccount,
    /// A witness is satisfied.
    Witness,
    /// A header has the state root after its parent.
    StateRoot,
    /// A transaction's script consists of valid instructions.
    Script,
    /// The last height of a transaction is not too far ahead.
    ValidUntilIncrement,
    /// No signer is blocked by Policy.
    BlockedAccount,
    /// The network fee pays for bytes and attributes.
    NetworkFee,
    /// The rest of the network fee pays for witnesses.
    WitnessFee,
    /// A transaction is not in the chain yet.
    StoredTransaction,
    /// A transaction does not conflict with one in the chain.
    Conflict,
    /// A transaction that conflicts with others of its block pays more.
    ConflictInBlock,
    /// The committee signs for high priority.
    HighPriority,
    /// An oracle response belongs to a request.
    OracleResponse,
    /// OnPersist and PostPersist of native contracts succeed.
    System,
    /// The payer can pay the fees of all its transactions in the block.
    Funds,
}

impl Rule {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().0
    }

    /// Name, and the source of the rule: the function of neo-go, or the file of the C# node.
    fn text(self) -> (&'static str, &'static str) {
        const HEADER: &str = "Blockchain.verifyHeader";
        const ADD: &str = "Blockchain.verifyAndPoolTx";
        const ATTRIBUTES: &str = "Blockchain.verifyTxAttributes";
        match self {
            Self::Genesis => ("genesis block", "core.CreateGenesisBlock"),
            Self::PreviousHash => ("hash of the block before", HEADER),
            Self::Index => ("height", HEADER),
            Self::Timestamp => ("time", HEADER),
            Self::PrimaryIndex => ("primary index", "Header.Verify of neo"),
            Self::BlockAccount => ("account of the block's witness", "InitVerificationContext"),
            Self::BlockWitness => ("block witness", "Blockchain.verifyHeaderWitnesses"),
            Self::MerkleRoot => ("merkle root", "Blockchain.AddBlock"),
            Self::KnownBlock => ("block of a known height", "one block for each height"),
            Self::RepeatedTransaction => ("repeated transaction", "mempool.Pool.Add"),
            Self::TransactionSize => ("transaction size", "Blockchain.verifyAndPoolTx"),
            Self::Expired => ("valid until block", "Blockchain.verifyAndPoolTx"),
            Self::NotValidBefore => ("not valid before", ATTRIBUTES),
            Self::RepeatedConflict => ("repeated conflict", ATTRIBUTES),
            Self::AttributeType => ("attribute type", ATTRIBUTES),
            Self::NotaryAssisted => ("notary-assisted", ATTRIBUTES),
            Self::OracleScopes => ("scopes of an oracle response", ATTRIBUTES),
            Self::WitnessAccount => ("account of a witness", "InitVerificationContext"),
            Self::Witness => ("witness", "Blockchain.verifyTxWitnesses"),
            Self::StateRoot => ("state root", HEADER),
            Self::Script => ("script", ADD),
            Self::ValidUntilIncrement => ("valid until block, at most", ADD),
            Self::BlockedAccount => ("blocked account", "Policy.CheckPolicy"),
            Self::NetworkFee => ("network fee", ADD),
            Self::WitnessFee => ("fee of witnesses", "Blockchain.verifyTxWitnesses"),
            Self::StoredTransaction => ("transaction of an earlier block", ADD),
            Self::Conflict => ("conflict with an earlier block", ADD),
            Self::ConflictInBlock => ("conflict in the block", "mempool.Pool.checkTxConflicts"),
            Self::HighPriority => ("high priority", ATTRIBUTES),
            Self::OracleResponse => ("oracle response", ATTRIBUTES),
            Self::System => ("native contracts", "Blockchain.storeBlock"),
            Self::Funds => ("fees of the sender", "mempool.checkBalance"),
        }
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, source) = self.text();
        write!(f, "{name} ({source})")
    }
}

/// A broken rule.
pub type Violation = blockmill_verdict::Violation<Rule>;
