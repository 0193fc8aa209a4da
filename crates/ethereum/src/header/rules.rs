//! Header rules: small functions named after the rule, and [`verify_header`], which calls those
//! that apply to a block.
//!
//! Everything here needs a header and its parent only. The total difficulty at the merge
//! ([`verify_merge`]), the clock ([`verify_not_in_future`]) and the first block
//! ([`verify_genesis`]) are for the caller, who knows them; seals are in `header/seal.rs`.

use crate::header::difficulty::{Formula, MINIMUM, Parent};
use crate::header::later::later_fields;
use crate::header::{EMPTY_OMMERS, HeaderView, base_fee, bft, blobs, clique};
use crate::params::{ChainSpec, Consensus, DaoFork, Fork, ForkRules};
use crate::rule::{Rule, Violation};
use crate::{Address, Hash, U256};
use blockmill_verdict::Hex;

/// The result of a rule.
pub type Verdict = Result<(), Violation>;

/// Extra data never has more bytes than this.
const EXTRA_DATA_MAX: usize = 32;
/// A gas limit is never lower.
const GAS_LIMIT_MIN: u64 = 5_000;
/// A gas limit is never higher (EIP-1985).
const GAS_LIMIT_MAX: u64 = i64::MAX as u64;
/// The gas limit moves by less than the parent's divided by this.
const GAS_LIMIT_DIVISOR: u64 = 1_024;
/// Seconds that a proof-of-work block may be ahead of the clock.
const FUTURE_SECONDS: u64 = 15;
/// Blocks that carry the DAO mark, counted from the fork's.
const DAO_RANGE: u64 = 10;
/// The mark.
const DAO_EXTRA_DATA: &[u8] = b"dao-hard-fork";

/// Every rule that a header and its parent decide, the link between them included.
///
/// `parent_hash` is the hash of `parent`. The caller has verified `parent`, or trusts it.
/// Allocates only when a rule is broken.
pub fn verify_header(
    spec: &ChainSpec,
    parent: &HeaderView<'_>,
    parent_hash: &Hash,
    header: &HeaderView<'_>,
) -> Verdict {
    verify_linkage(parent.number, parent_hash, header)?;
    verify_contents(spec, parent, header)
}

/// [`verify_header`] without number and parent hash.
#[inline]
pub(crate) fn verify_contents(
    spec: &ChainSpec,
    parent: &HeaderView<'_>,
    header: &HeaderView<'_>,
) -> Verdict {
    let rules = spec.rules_of(header);
    match engine(spec, &rules) {
        Consensus::Work | Consensus::FixedDifficulty(_) => {
            timestamp(parent.timestamp, header.timestamp)?;
            extra_data(header.extra_data)?;
        }
        Consensus::Clique(clique) => {
            clique::timestamp(*clique, parent.timestamp, header.timestamp)?;
        }
        Consensus::Bft(bft) => bft::timestamp(bft, parent.timestamp, header.timestamp)?,
    }
    // a wrong limit is the fault, and not what follows from it
    gas_limit_range(header.gas_limit)?;
    gas_limit_bound(rules.first_london, parent.gas_limit, header.gas_limit)?;
    gas_used(header.gas_used, header.gas_limit)?;
    if rules.proof_of_stake {
        post_merge_constants(header)?;
    } else {
        before_merge(rules.fork, header)?;
        not_after_proof_of_stake(spec, parent, header)?;
        match &spec.consensus {
            Consensus::Work => difficulty(rules.difficulty, parent, header)?,
            Consensus::FixedDifficulty(fixed) => fixed_difficulty(*fixed, header)?,
            Consensus::Clique(clique) => clique::alone(*clique, header)?,
            Consensus::Bft(bft) => bft::alone(bft, header)?,
        }
        dao_extra_data(spec.dao, header.number, header.extra_data)?;
    }
    later_fields(spec, rules.fork, header)?;
    if rules.london {
        base_fee::base_fee(rules.first_london, parent, header)?;
    }
    match rules.blobs {
        Some(params) => blobs::blob_gas(rules.fork, params, parent, header),
        None => Ok(()),
    }
}

/// The rules that a header keeps whatever its parent is: for the anchor of an archive that begins
/// in the middle of a chain. Everything that follows from a parent is believed.
pub fn verify_alone(spec: &ChainSpec, header: &HeaderView<'_>) -> Verdict {
    let rules = spec.rules_of(header);
    if let Consensus::Work | Consensus::FixedDifficulty(_) = engine(spec, &rules) {
        extra_data(header.extra_data)?;
    }
    gas_limit_range(header.gas_limit)?;
    gas_used(header.gas_used, header.gas_limit)?;
    if rules.proof_of_stake {
        post_merge_constants(header)?;
    } else {
        before_merge(rules.fork, header)?;
        match &spec.consensus {
            Consensus::Work => minimum_difficulty(header)?,
            Consensus::FixedDifficulty(fixed) => fixed_difficulty(*fixed, header)?,
            Consensus::Clique(clique) => clique::alone(*clique, header)?,
            Consensus::Bft(bft) => bft::alone(bft, header)?,
        }
        dao_extra_data(spec.dao, header.number, header.extra_data)?;
    }
    later_fields(spec, rules.fork, header)?;
    rules.blobs.map_or(Ok(()), |params| blobs::blob_gas_used(params, header))
}

/// How a block under these rules is made. Proof of stake has the rules of [`Consensus::Work`] for
/// extra data and time.
#[inline]
fn engine<'s>(spec: &'s ChainSpec, rules: &ForkRules<'_>) -> &'s Consensus {
    if rules.proof_of_stake { &Consensus::Work } else { &spec.consensus }
}

/// The account that gets the fees and the reward of a block: under clique its signer, and under
/// IBFT 2.0 and QBFT whom the chain names.
///
/// # Errors
/// The block needs the signature of a signer, and has none.
pub fn author(spec: &ChainSpec, header: &HeaderView<'_>) -> Result<Address, Violation> {
    match engine(spec, &spec.rules_of(header)) {
        Consensus::Work | Consensus::FixedDifficulty(_) => Ok(*header.beneficiary),
        Consensus::Clique(_) => clique::signer(header),
        Consensus::Bft(bft) => Ok(bft.beneficiary.unwrap_or(*header.beneficiary)),
    }
}

/// Number and parent hash (Yellow Paper 4.3.4).
#[inline]
pub fn verify_linkage(parent_number: u64, parent_hash: &Hash, header: &HeaderView<'_>) -> Verdict {
    if parent_number.checked_add(1) != Some(header.number) {
        let expected = u128::from(parent_number) + 1;
        return Err(Violation::new(Rule::Number, expected, header.number));
    }
    if header.parent_hash != parent_hash {
        let found = named(header.parent_hash);
        return Err(Violation::new(Rule::ParentHash, Hex(parent_hash), found));
    }
    Ok(())
}

/// The merge happens where the total difficulty says (EIP-3675). `parent_total_difficulty` is the
/// sum of all difficulties up to and including the parent's.
#[inline]
pub fn verify_merge(
    spec: &ChainSpec,
    parent_total_difficulty: U256,
    header: &HeaderView<'_>,
) -> Verdict {
    let Some(merge) = spec.merge else { return Ok(()) };
    let terminal = merge.terminal_total_difficulty;
    let reached = parent_total_difficulty >= terminal;
    if reached == spec.rules_of(header).proof_of_stake {
        return Ok(());
    }
    let expected = if reached {
        format!("proof of stake, as {terminal} is reached")
    } else {
        format!("{terminal} before proof of stake")
    };
    Err(Violation::new(Rule::TerminalTotalDifficulty, expected, parent_total_difficulty))
}

/// The hash of block 0 is the chain's.
pub fn verify_genesis(spec: &ChainSpec, header_hash: &Hash) -> Verdict {
    if *header_hash != spec.genesis.hash {
        let found = named(header_hash);
        return Err(Violation::new(Rule::Genesis, Hex(&spec.genesis.hash), found));
    }
    Ok(())
}

/// Block 0 is the chain's genesis block, and a block that names a parent is not block 0.
pub(crate) fn verify_first(
    spec: &ChainSpec,
    header: &HeaderView<'_>,
    header_hash: &Hash,
) -> Verdict {
    if *header.parent_hash == spec.genesis.header.parent_hash {
        return verify_genesis(spec, header_hash);
    }
    let expected = match *header.parent_hash == spec.genesis.hash {
        true => "1, as the parent is the genesis block",
        false => "1 or more, as the block has a parent",
    };
    Err(Violation::new(Rule::Number, expected, header.number))
}

/// A hash, and of which network it is the genesis block.
#[cold]
fn named(hash: &Hash) -> String {
    match ChainSpec::by_genesis_hash(hash) {
        Some(spec) => format!("{}, the genesis block of {}", Hex(hash), spec.name),
        None => Hex(hash).to_string(),
    }
}

/// A proof-of-work block is at most 15 seconds ahead of `now` (seconds since 1970). Under proof of
/// stake the consensus layer checks times.
pub fn verify_not_in_future(now: u64, header: &HeaderView<'_>) -> Verdict {
    let latest = now.saturating_add(FUTURE_SECONDS);
    if header.timestamp > latest && !header.difficulty.is_zero() {
        let expected = format!("at most {latest}");
        return Err(Violation::new(Rule::FutureTimestamp, expected, header.timestamp));
    }
    Ok(())
}

/// Later than the parent (Yellow Paper 4.3.4; EIP-3675 keeps it).
#[inline]
fn timestamp(parent: u64, timestamp: u64) -> Verdict {
    if timestamp <= parent {
        let expected = format!("more than {parent}");
        return Err(Violation::new(Rule::Timestamp, expected, timestamp));
    }
    Ok(())
}

/// At most 32 bytes (Yellow Paper 4.3.4).
#[inline]
fn extra_data(extra_data: &[u8]) -> Verdict {
    if extra_data.len() > EXTRA_DATA_MAX {
        let found = format!("{} bytes", extra_data.len());
        return Err(Violation::new(Rule::ExtraData, "at most 32 bytes", found));
    }
    Ok(())
}

/// Within the block's own limit (Yellow Paper 4.3.4).
#[inline]
fn gas_used(used: u64, limit: u64) -> Verdict {
    if used > limit {
        return Err(Violation::new(Rule::GasUsed, format!("at most {limit}"), used));
    }
    Ok(())
}

/// From 5,000 (Yellow Paper 4.3.4) to 2^63 - 1 (EIP-1985).
#[inline]
fn gas_limit_range(limit: u64) -> Verdict {
    if limit > GAS_LIMIT_MAX {
        return Err(Violation::new(Rule::GasLimitMaximum, "at most 2^63 - 1", limit));
    }
    if limit < GAS_LIMIT_MIN {
        return Err(Violation::new(Rule::GasLimitMinimum, "at least 5000", limit));
    }
    Ok(())
}

/// Less than 1/1024 away from the parent's (Yellow Paper 4.3.4), which counts twice for the first
/// block under London, because half of a limit became the target (EIP-1559).
#[inline]
fn gas_limit_bound(first_london: bool, parent: u64, limit: u64) -> Verdict {
    let reference = if first_london { parent.saturating_mul(2) } else { parent };
    let bound = reference / GAS_LIMIT_DIVISOR;
    if limit.abs_diff(reference) >= bound {
        let expected = format!("{reference} and less than {bound} more or less");
        return Err(Violation::new(Rule::GasLimitBound, expected, limit));
    }
    Ok(())
}

/// The formula's difficulty (Yellow Paper 4.3.4, EIP-2, EIP-100 and the bomb delays).
#[inline]
fn difficulty(formula: Formula, parent: &HeaderView<'_>, header: &HeaderView<'_>) -> Verdict {
    let expected = formula.next(header.timestamp, &Parent::from(parent));
    if expected != Some(header.difficulty) {
        let expected = expected.map_or("more than 256 bits".into(), |number| number.to_string());
        return Err(Violation::new(Rule::Difficulty, expected, header.difficulty));
    }
    Ok(())
}

/// A difficulty that never changes (Besu, Nethermind).
fn fixed_difficulty(fixed: U256, header: &HeaderView<'_>) -> Verdict {
    if header.difficulty != fixed {
        return Err(Violation::new(Rule::Difficulty, fixed, header.difficulty));
    }
    Ok(())
}

/// Difficulty never falls below 131,072 (Yellow Paper 4.3.4).
fn minimum_difficulty(header: &HeaderView<'_>) -> Verdict {
    if header.difficulty < U256::from(MINIMUM) {
        let expected = format!("at least {}", MINIMUM);
        return Err(Violation::new(Rule::Difficulty, expected, header.difficulty));
    }
    Ok(())
}

/// No proof of work where the schedule puts the merge before the block (EIP-3675).
#[inline]
fn before_merge(fork: Fork, header: &HeaderView<'_>) -> Verdict {
    if fork >= Fork::Paris {
        return Err(Violation::new(Rule::Merge, "difficulty 0", header.difficulty));
    }
    Ok(())
}

/// No proof of work on top of proof of stake (EIP-3675).
#[inline]
fn not_after_proof_of_stake(
    spec: &ChainSpec,
    parent: &HeaderView<'_>,
    header: &HeaderView<'_>,
) -> Verdict {
    if parent.difficulty.is_zero() && spec.rules_of(parent).proof_of_stake {
        return Err(Violation::new(Rule::Merge, "difficulty 0", header.difficulty));
    }
    Ok(())
}

/// The mark of the DAO fork in its ten blocks: there on the side of the fork, not on the other
/// (EIP-779).
#[inline]
fn dao_extra_data(dao: Option<DaoFork>, number: u64, extra_data: &[u8]) -> Verdict {
    let Some(dao) = dao else { return Ok(()) };
    let marked = number.checked_sub(dao.block).is_some_and(|distance| distance < DAO_RANGE);
    if marked && dao.support != (extra_data == DAO_EXTRA_DATA) {
        let expected = if dao.support { "0x64616f2d686172642d666f726b" } else { "something else" };
        return Err(Violation::new(Rule::DaoExtraData, expected, Hex(extra_data)));
    }
    Ok(())
}

/// Under proof of stake the nonce is 0 and there are no ommers; the difficulty is 0 already
/// (EIP-3675).
#[inline]
fn post_merge_constants(header: &HeaderView<'_>) -> Verdict {
    if *header.nonce != [0; 8] {
        return Err(Violation::new(Rule::Nonce, Hex(&[0; 8]), Hex(header.nonce)));
    }
    if *header.ommers_hash != EMPTY_OMMERS {
        let (expected, found) = (Hex(&EMPTY_OMMERS), Hex(header.ommers_hash));
        return Err(Violation::new(Rule::OmmersHash, expected, found));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
