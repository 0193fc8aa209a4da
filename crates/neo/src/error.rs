//! What can be wrong with a block: the rule that it breaks, what was expected, what was found.

use std::fmt::{self, Display, Formatter};

/// The rules of blocks, one for each way in which neo-go refuses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The first block is that of the configuration.
    Genesis,
    /// The header names the block before.
    PreviousHash,
    /// The height is one more than that of the block before.
    Index,
    /// The time is later than that of the block before.
    Timestamp,
    /// The primary is one of the consensus nodes.
    PrimaryIndex,
    /// The witness is that of the account that the block before names.
    BlockAccount,
    /// The consensus nodes signed the block.
    BlockWitness,
    /// The header's merkle root is that of the transactions.
    MerkleRoot,
    /// No transaction stands twice in a block.
    RepeatedTransaction,
    /// A transaction has at most 102,400 bytes.
    TransactionSize,
    /// The last height of a transaction has not passed.
    Expired,
    /// A transaction is not in a block before the height that it names.
    NotValidBefore,
    /// No transaction names another twice as one that conflicts.
    RepeatedConflict,
    /// Attributes are of types that the network has at this height.
    AttributeType,
    /// A notary-assisted transaction is signed by the Notary contract.
    NotaryAssisted,
    /// The signers of an oracle's response have no scopes.
    OracleScopes,
    /// A witness is that of its signer's account.
    WitnessAccount,
    /// A witness is satisfied.
    Witness,
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
pub type Violation = chain::Violation<Rule>;
