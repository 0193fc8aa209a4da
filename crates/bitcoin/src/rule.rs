//! What can be wrong with a body: the rule that it breaks, what was expected, what was found.

use std::fmt::{self, Display, Formatter};

/// The rules of bodies, one for each way in which Bitcoin Core refuses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The header's merkle root is that of the transactions.
    MerkleRoot,
    /// No run of transactions is repeated in a way that keeps the root the same (CVE-2012-2459).
    RepeatedTransactions,
    /// At least one transaction, and at most a million bytes without witnesses.
    BlockLength,
    /// The first transaction is a coinbase.
    CoinbaseMissing,
    /// No other transaction is a coinbase.
    CoinbaseMultiple,
    /// A transaction has inputs.
    NoInputs,
    /// A transaction has outputs.
    NoOutputs,
    /// A transaction has at most a million bytes without witnesses.
    TransactionLength,
    /// No output pays less than nothing.
    ValueNegative,
    /// No output pays more than there will ever be.
    ValueTooLarge,
    /// Nor do all outputs of a transaction together (CVE-2010-5139).
    ValuesTooLarge,
    /// A transaction spends no output twice (CVE-2018-17144).
    RepeatedInputs,
    /// The coinbase's input script has 2 to 100 bytes.
    CoinbaseScript,
    /// Only a coinbase spends nothing.
    NullOutpoint,
    /// At most 80,000 units of signature checks.
    SigopCost,
    /// The lock time of each transaction has passed.
    LockTime,
    /// The coinbase begins with the height.
    CoinbaseHeight,
    /// The coinbase's witness is one item of 32 bytes.
    WitnessNonce,
    /// The coinbase commits to the witnesses.
    WitnessCommitment,
    /// No witnesses without a commitment to them.
    UnexpectedWitness,
    /// A weight of at most four millions.
    Weight,
    /// What an input spends is there.
    CoinMissing,
    /// A coinbase's outputs are spent 100 blocks later or more.
    CoinbaseImmature,
    /// No input, nor all of a transaction together, brings more than there will ever be.
    InputValues,
    /// A transaction pays out no more than its inputs bring.
    Inflation,
    /// All fees of the block together are no more than there will ever be.
    Fees,
    /// The coinbase pays out no more than subsidy and fees.
    CoinbaseValue,
    /// No transaction has the id of one with unspent outputs.
    UnspentDuplicate,
    /// The relative lock times of each transaction have passed.
    SequenceLock,
    /// Each input's script and witness satisfy the script of what it spends.
    Script,
}

impl Rule {
    /// The name by which Bitcoin Core reports it.
    #[must_use]
    pub fn tag(self) -> &'static str {
        self.text().0
    }

    /// Core's name, and the source of the rule.
    fn text(self) -> (&'static str, &'static str) {
        const ORIGIN: &str = "first release";
        match self {
            Self::MerkleRoot => ("bad-txnmrklroot", ORIGIN),
            Self::RepeatedTransactions => ("bad-txns-duplicate", "CVE-2012-2459"),
            Self::BlockLength => ("bad-blk-length", ORIGIN),
            Self::CoinbaseMissing => ("bad-cb-missing", ORIGIN),
            Self::CoinbaseMultiple => ("bad-cb-multiple", ORIGIN),
            Self::NoInputs => ("bad-txns-vin-empty", ORIGIN),
            Self::NoOutputs => ("bad-txns-vout-empty", ORIGIN),
            Self::TransactionLength => ("bad-txns-oversize", ORIGIN),
            Self::ValueNegative => ("bad-txns-vout-negative", ORIGIN),
            Self::ValueTooLarge => ("bad-txns-vout-toolarge", ORIGIN),
            Self::ValuesTooLarge => ("bad-txns-txouttotal-toolarge", "CVE-2010-5139"),
            Self::RepeatedInputs => ("bad-txns-inputs-duplicate", "CVE-2018-17144"),
            Self::CoinbaseScript => ("bad-cb-length", ORIGIN),
            Self::NullOutpoint => ("bad-txns-prevout-null", ORIGIN),
            Self::SigopCost => ("bad-blk-sigops", "BIP141"),
            Self::LockTime => ("bad-txns-nonfinal", "BIP113"),
            Self::CoinbaseHeight => ("bad-cb-height", "BIP34"),
            Self::WitnessNonce => ("bad-witness-nonce-size", "BIP141"),
            Self::WitnessCommitment => ("bad-witness-merkle-match", "BIP141"),
            Self::UnexpectedWitness => ("unexpected-witness", "BIP141"),
            Self::Weight => ("bad-blk-weight", "BIP141"),
            Self::CoinMissing => ("bad-txns-inputs-missingorspent", ORIGIN),
            Self::CoinbaseImmature => ("bad-txns-premature-spend-of-coinbase", ORIGIN),
            Self::InputValues => ("bad-txns-inputvalues-outofrange", ORIGIN),
            Self::Inflation => ("bad-txns-in-belowout", ORIGIN),
            Self::Fees => ("bad-txns-accumulated-fee-outofrange", ORIGIN),
            Self::CoinbaseValue => ("bad-cb-amount", ORIGIN),
            Self::UnspentDuplicate => ("bad-txns-BIP30", "BIP30"),
            Self::SequenceLock => ("bad-txns-nonfinal", "BIP68"),
            Self::Script => ("block-script-verify-flag-failed", ORIGIN),
        }
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (tag, source) = self.text();
        write!(f, "{tag} ({source})")
    }
}

/// A broken rule of bodies.
pub type Violation = blockmill_verdict::Violation<Rule>;
