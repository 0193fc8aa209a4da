//! Script verification: whether the script and witness of an input satisfy the script of the spent
//! output.
//!
//! libbitcoinconsensus implements the full rules (`library.rs`). Standard forms are recognised
//! (`templates.rs`) and reduced to signature checks, which are verified in batches. The library
//! verifies all other inputs, and all inputs with an invalid signature. So the fast path can only
//! accept, and accepts only what the full rules accept.
//!
//! [`ScriptBatch`] is the entry point.

mod batch;
mod form;
mod lanes;
mod library;
mod multisig;
mod pushes;
mod sighash;
mod signature;
mod signet;
mod spend;
mod taproot;
mod templates;

pub use batch::{BlockScripts, Counts, ScriptBatch, ScriptFault, Scripts};
pub use form::Form;
pub use lanes::SignatureLanes;
pub use library::Reason;
pub use sighash::{LegacyHashes, SegwitHashes, TaprootHashes};
pub use signet::{SolutionFault, check_solution};
pub use spend::{Spend, SpentCoin};

use crate::params::Rules;
use blockmill_script_interpreter::flags;

/// The script rules in force, as flags of libbitcoinconsensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// The rules of 2009 only.
    pub const NONE: Flags = Flags(flags::VERIFY_NONE);
    /// BIP16: pay to script hash.
    pub const P2SH: Flags = Flags(flags::VERIFY_P2SH);
    /// BIP66: strict DER signatures.
    pub const DERSIG: Flags = Flags(flags::VERIFY_DERSIG);
    /// BIP147: the extra element that OP_CHECKMULTISIG takes is empty.
    pub const NULLDUMMY: Flags = Flags(flags::VERIFY_NULLDUMMY);
    /// BIP65: OP_CHECKLOCKTIMEVERIFY.
    pub const CLTV: Flags = Flags(flags::VERIFY_CHECKLOCKTIMEVERIFY);
    /// BIP112: OP_CHECKSEQUENCEVERIFY.
    pub const CSV: Flags = Flags(flags::VERIFY_CHECKSEQUENCEVERIFY);
    /// BIP141: witness programs.
    pub const WITNESS: Flags = Flags(flags::VERIFY_WITNESS);
    /// BIP341 and BIP342: taproot.
    pub const TAPROOT: Flags = Flags(flags::VERIFY_TAPROOT);

    /// The flags for a block.
    ///
    /// Witness programs are in force for every block, as in Bitcoin Core (PR 11739; PR 23536 for
    /// taproot): of all blocks of the networks, one breaks P2SH (and is older than witnesses), and
    /// one breaks taproot. Only NULLDUMMY begins with segwit.
    #[must_use]
    pub fn for_rules(rules: &Rules) -> Flags {
        let none = Flags::NONE;
        let witness = rules.p2sh && rules.witness;
        none.with_if(rules.p2sh, Flags::P2SH)
            .with_if(witness, Flags::WITNESS)
            .with_if(witness && rules.taproot, Flags::TAPROOT)
            .with_if(rules.bip66, Flags::DERSIG)
            .with_if(rules.bip65, Flags::CLTV)
            .with_if(rules.csv, Flags::CSV)
            .with_if(rules.segwit, Flags::NULLDUMMY)
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These flags without those of `other`.
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Returns whether these flags include all flags of `other`.
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    const fn with_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.with(other) } else { self }
    }

    /// The flags of libbitcoinconsensus. It aborts the process for witnesses without P2SH; no block
    /// has that combination, so P2SH is added.
    pub(crate) const fn bits(self) -> u32 {
        let flags = if self.has(Flags::WITNESS) { self.with(Flags::P2SH) } else { self };
        flags.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::types::BlockHash;

    #[test]
    fn flags_begin_where_the_main_network_s_rules_do() {
        let params = Params::mainnet();
        let at = |height: u32| Flags::for_rules(&params.rules(height, &BlockHash([0; 32]), None));
        let mut expected = Flags::P2SH.with(Flags::WITNESS).with(Flags::TAPROOT);
        assert_eq!(at(1), expected);
        // BIP66, BIP65, BIP68/112/113, BIP141/147, by chainparams.cpp of Bitcoin Core
        for (height, flag) in [
            (363_725, Flags::DERSIG),
            (388_381, Flags::CLTV),
            (419_328, Flags::CSV),
            (481_824, Flags::NULLDUMMY),
        ] {
            assert_eq!(at(height - 1), expected, "{height}");
            expected = expected.with(flag);
            assert_eq!(at(height), expected, "{height}");
        }
    }

    #[test]
    fn witnesses_are_not_run_where_p2sh_is_not() {
        let params = Params::mainnet();
        let of = |hash| Flags::for_rules(&params.rules(1, hash, None));
        let found: Vec<_> = params.exceptions.iter().map(|exception| of(&exception.hash)).collect();
        assert_eq!(found, [Flags::NONE, Flags::P2SH.with(Flags::WITNESS)]);
        let rules = params.rules(1, &BlockHash([0; 32]), None);
        let odd = Flags::for_rules(&Rules { p2sh: false, ..rules });
        assert_eq!(odd, Flags::NONE);
    }
}
