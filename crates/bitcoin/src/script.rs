//! Scripts: does an input's script and witness fulfil what the spent output demands?
//!
//! The full rules are libbitcoinconsensus's (`library.rs`). The standard forms are recognised
//! (`templates.rs`) and reduced to signature checks that are verified many at once; whatever is
//! unusual, and whatever comes out invalid, is asked of the library, which has the last word. So
//! the fast way can only accept, and accepts only what the full rules accept.
//!
//! [`ScriptBatch`] is the front door.

mod batch;
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

pub use batch::{Counts, Part, ScriptBatch, ScriptFault, Scripts};
pub use lanes::SignatureLanes;
pub use library::Reason;
pub use sighash::{LegacyHashes, SegwitHashes, TaprootHashes};
pub use signet::{SolutionFault, check_solution};
pub use spend::{Spend, SpentCoin};
pub use templates::Form;

use crate::params::Rules;
use blockmill_script_interpreter::flags;

/// The script rules in force, as a set of libbitcoinconsensus's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// No rule that came after 2009.
    pub const NONE: Flags = Flags(flags::VERIFY_NONE);
    /// BIP16: pay to script hash.
    pub const P2SH: Flags = Flags(flags::VERIFY_P2SH);
    /// BIP66: strict DER signatures.
    pub const DERSIG: Flags = Flags(flags::VERIFY_DERSIG);
    /// BIP147: the element too many that OP_CHECKMULTISIG takes is empty.
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
    /// Witness programs hold for every block, as in Bitcoin Core (PR 11739; PR 23536 for taproot):
    /// of all blocks of the networks one breaks P2SH, and is older than witnesses, and one breaks
    /// taproot. Only NULLDUMMY begins with segwit.
    #[must_use]
    pub fn of(rules: &Rules) -> Flags {
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

    /// Are all flags of `other` among these?
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    const fn with_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.with(other) } else { self }
    }

    /// The bits as libbitcoinconsensus takes them. Its code aborts the process when witnesses are
    /// asked for without P2SH; that combination is no rule of any block, and P2SH is added.
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
        let at = |height: u32| Flags::of(&params.rules(height, &BlockHash([0; 32]), None));
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
        let of = |hash| Flags::of(&params.rules(1, hash, None));
        let found: Vec<_> = params.exceptions.iter().map(|exception| of(&exception.hash)).collect();
        assert_eq!(found, [Flags::NONE, Flags::P2SH.with(Flags::WITNESS)]);
        let rules = params.rules(1, &BlockHash([0; 32]), None);
        let odd = Flags::of(&Rules { p2sh: false, ..rules });
        assert_eq!(odd, Flags::NONE);
    }
}
