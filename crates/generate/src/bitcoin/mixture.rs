//! The mixture of mainnet blocks: kinds of outputs, shapes of transactions.
//!
//! Shapes, the share of coins spent in their own block, and the kinds before taproot are those of
//! block 702,861 (2,500 transactions, 6,517 inputs; 40 % P2WPKH, 30 % P2SH, 28 % P2PKH, 2 % P2WSH,
//! 0.4 % OP_RETURN). Taproot was not active yet: it gets a fifth, taken from the older kinds. P2PK
//! is rare today; it gets 1 %, so that its code runs.

use crate::random::Random;

/// The kind of an output script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputKind {
    /// A compressed public key.
    P2pk,
    /// An uncompressed public key, as in the first years.
    P2pkUncompressed,
    /// The hash of a public key.
    P2pkh,
    /// 2 of 3 keys, in a script hash.
    P2shMultisig,
    /// A witness public key hash, in a script hash.
    P2shP2wpkh,
    /// A witness public key hash.
    P2wpkh,
    /// 2 of 3 keys, in a witness script hash.
    P2wshMultisig,
    /// Taproot without scripts, spent by the key path.
    P2trKey,
    /// Taproot with two leaves, spent by the first one.
    P2trScript,
    /// A witness script hash without a standard form: a key, OP_CHECKSIGVERIFY, true.
    P2wshVerify,
    /// A witness script hash: an OP_CHECKSIG that never runs, true.
    P2wshUnrun,
}

impl OutputKind {
    /// The kinds with standard forms and addresses.
    pub const USUAL: usize = 9;

    /// All kinds in the order of their numbers, the standard ones first.
    pub const ALL: [Self; 11] = [
        Self::P2pk,
        Self::P2pkUncompressed,
        Self::P2pkh,
        Self::P2shMultisig,
        Self::P2shP2wpkh,
        Self::P2wpkh,
        Self::P2wshMultisig,
        Self::P2trKey,
        Self::P2trScript,
        Self::P2wshVerify,
        Self::P2wshUnrun,
    ];

    /// Upper bound of the weight of an input that spends this kind: 41 bytes of outpoint, sequence
    /// and length, script and witness, with signatures of 73 bytes.
    pub fn input_weight(self) -> u64 {
        let (script, witness) = match self {
            Self::P2pk | Self::P2pkUncompressed => (74, 1),
            Self::P2pkh => (108, 1),
            Self::P2shMultisig => (258, 1),
            Self::P2shP2wpkh => (23, 109),
            Self::P2wpkh => (0, 109),
            Self::P2wshMultisig => (0, 256),
            Self::P2trKey => (0, 67),
            Self::P2trScript => (0, 168),
            Self::P2wshVerify => (0, 112),
            Self::P2wshUnrun => (0, 7),
        };
        (41 + script) * 4 + witness
    }

    /// The weight of an output of this kind: value, length and script.
    pub fn output_weight(self) -> u64 {
        let script = match self {
            Self::P2pk => 35,
            Self::P2pkUncompressed => 67,
            Self::P2pkh => 25,
            Self::P2shMultisig | Self::P2shP2wpkh => 23,
            Self::P2wpkh => 22,
            Self::P2wshMultisig | Self::P2trKey | Self::P2trScript => 34,
            Self::P2wshVerify | Self::P2wshUnrun => 34,
        };
        (9 + script) * 4
    }
}

/// Shares of the kinds of outputs in thousandths; `None` is OP_RETURN with data.
const OUTPUTS: [(u64, Option<OutputKind>); 10] = [
    (415, Some(OutputKind::P2wpkh)),
    (170, Some(OutputKind::P2pkh)),
    (150, Some(OutputKind::P2trKey)),
    (110, Some(OutputKind::P2shP2wpkh)),
    (50, Some(OutputKind::P2trScript)),
    (50, Some(OutputKind::P2shMultisig)),
    (35, Some(OutputKind::P2wshMultisig)),
    (10, None),
    (5, Some(OutputKind::P2pk)),
    (5, Some(OutputKind::P2pkUncompressed)),
];

/// Thousandths of transactions with so many inputs: share, least, most.
const INPUTS_OF_TRANSACTIONS: [(u64, u64, u64); 8] = [
    (757, 1, 1),
    (142, 2, 2),
    (40, 3, 3),
    (18, 4, 4),
    (28, 5, 9),
    (9, 10, 29),
    (4, 30, 99),
    (2, 100, 199),
];

/// Thousandths of transactions with so many outputs: share, least, most.
const OUTPUTS_OF_TRANSACTIONS: [(u64, u64, u64); 8] = [
    (162, 1, 1),
    (792, 2, 2),
    (14, 3, 3),
    (9, 4, 4),
    (8, 5, 9),
    (8, 10, 29),
    (5, 30, 99),
    (2, 100, 199),
];

/// Chooses the kind of an output; `None` is OP_RETURN with data.
pub fn output(random: &mut Random) -> Option<OutputKind> {
    let mut at = random.below(1000);
    for (share, kind) in OUTPUTS {
        if at < share {
            return kind;
        }
        at -= share;
    }
    None
}

/// Chooses the numbers of inputs and outputs of a transaction.
pub fn shape(random: &mut Random) -> (u64, u64) {
    (number(random, &INPUTS_OF_TRANSACTIONS), number(random, &OUTPUTS_OF_TRANSACTIONS))
}

/// Decides whether the next input spends a coin of the same block, if there is one.
pub fn in_same_block(random: &mut Random) -> bool {
    random.below(100) < 5
}

fn number(random: &mut Random, table: &[(u64, u64, u64)]) -> u64 {
    let mut at = random.below(1000);
    for (share, least, most) in table {
        if at < *share {
            return least + random.below(most - least + 1);
        }
        at -= share;
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_thousandths() {
        assert_eq!(OUTPUTS.iter().map(|(share, _)| share).sum::<u64>(), 1000);
        for table in [INPUTS_OF_TRANSACTIONS, OUTPUTS_OF_TRANSACTIONS] {
            assert_eq!(table.iter().map(|(share, ..)| share).sum::<u64>(), 1000);
        }
    }
}
