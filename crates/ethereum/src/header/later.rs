//! The fields that later forks added to the header: since when each is there, the rule that says
//! so, and its value in a genesis block. A new field has a line in this table.

use super::{EMPTY_OMMERS, EMPTY_ROOT, HeaderView, INITIAL_BASE_FEE};
use crate::header::rules::Verdict;
use crate::params::{ChainSpec, Fork};
use crate::rule::{Rule, Violation};
use crate::{Hash, U256};
use blockmill_rlp::ethereum::{EditLater, Header, LaterField};
use std::convert::Infallible;

/// What the chain says about a later field.
struct Later {
    since: Fork,
    rule: Rule,
    /// A hash in a genesis block; that of a number is not used.
    genesis: Hash,
}

const fn number(since: Fork, rule: Rule) -> Later {
    Later { since, rule, genesis: [0; 32] }
}

const fn hash(since: Fork, rule: Rule, genesis: Hash) -> Later {
    Later { since, rule, genesis }
}

/// SHA-256 of nothing: the requests hash of a block without requests (EIP-7685).
const EMPTY_REQUESTS: Hash = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// An empty block access list is encoded like an empty list of ommers.
const EMPTY_ACCESS_LIST: Hash = EMPTY_OMMERS;

/// In the order of [`Header::LATER`].
static LATER: [Later; Header::LATER.len()] = [
    number(Fork::London, Rule::BaseFee),
    hash(Fork::Shanghai, Rule::WithdrawalsRoot, EMPTY_ROOT),
    number(Fork::Cancun, Rule::BlobGasUsed),
    number(Fork::Cancun, Rule::ExcessBlobGas),
    hash(Fork::Cancun, Rule::ParentBeaconRoot, [0; 32]),
    hash(Fork::Prague, Rule::RequestsHash, EMPTY_REQUESTS),
    hash(Fork::Amsterdam, Rule::BlockAccessListHash, EMPTY_ACCESS_LIST),
    number(Fork::Amsterdam, Rule::SlotNumber),
];

/// Fields that later forks added are there from their fork on, and not before. On a built-in
/// network for which this version has no date of the fork, they are not judged.
#[inline]
pub(super) fn later_fields(spec: &ChainSpec, fork: Fork, header: &HeaderView<'_>) -> Verdict {
    for (present, later) in header.later_present().into_iter().zip(&LATER) {
        if present != (fork >= later.since) {
            if present && spec.has_no_date(later.since) {
                let expected = format!("a date of {:?} on {}", later.since, spec.name);
                return Err(Violation::new(Rule::UnknownFork, expected, "none in this version"));
            }
            let name = |present| if present { "a value" } else { "no value" };
            return Err(Violation::new(later.rule, name(!present), name(present)));
        }
    }
    Ok(())
}

/// Completes the later fields of a genesis header as geth does: a number that its file does not
/// state is 0, the base fee the first one (EIP-1559), and hashes are those of empty lists. Who
/// makes other blocks replaces what is known better.
#[derive(Clone, Copy, Debug)]
pub struct AtGenesis {
    /// The fork of the block.
    pub fork: Fork,
    /// Whether it has a base fee.
    pub london: bool,
}

impl EditLater for AtGenesis {
    type Error = Infallible;

    fn wei(&mut self, _: &LaterField, given: Option<U256>) -> Result<Option<U256>, Infallible> {
        Ok(self.london.then(|| given.unwrap_or(U256::from(INITIAL_BASE_FEE))))
    }

    fn number(
        &mut self,
        field: &LaterField,
        given: Option<u64>,
    ) -> Result<Option<u64>, Infallible> {
        Ok((self.fork >= LATER[field.index].since).then_some(given.unwrap_or(0)))
    }

    fn hash(&mut self, field: &LaterField, _: Option<Hash>) -> Result<Option<Hash>, Infallible> {
        let later = &LATER[field.index];
        Ok((self.fork >= later.since).then_some(later.genesis))
    }
}
