//! Header rules.
//!
//! [`Parent`] has the properties of all ancestors that the rules need, and is updated from block to
//! block. So a header costs the same at any height, and after any number of blocks of minimum
//! difficulty.

use crate::BlockHash;
use crate::header::{Claims, Header, compact, target};
use crate::params::{MAX_FUTURE_SECONDS, MAX_TIMEWARP_SECONDS, Params};
use ruint::aliases::U256;

/// Number of times in the median time past.
pub const MEDIAN_BLOCKS: usize = 11;

/// The properties of a parent and its ancestors that the rules need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The parent's height.
    pub height: u32,
    /// The parent's time.
    pub time: u32,
    /// The parent's bits.
    pub bits: u32,
    /// The median of the times of the parent and the ten blocks before it.
    pub median_time: u32,
    /// The bits of the last block up to the parent that did not use the exception for minimum
    /// difficulty, or that begins a period; see [`real_bits`].
    pub real_bits: u32,
    /// The time of the first block of the parent's period.
    pub first_time: u32,
    /// The bits of that block.
    pub first_bits: u32,
}

/// The target as a hash is written.
fn written(bits: u32) -> BlockHash {
    BlockHash(super::target(bits).unwrap_or_default().to_le_bytes())
}

/// A rule that a header breaks, with the expected and the found value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The bits are not a valid target of this network.
    #[error("target: expected bits of a number from 1 to {limit:08x}, found {found:08x}")]
    Target {
        /// The bits of the highest target.
        limit: u32,
        /// The header's bits.
        found: u32,
    },
    /// The hash is above the target.
    #[error(
        "proof of work: expected a hash up to {}, the target {bits:08x}, found {found}",
        written(*.bits)
    )]
    Work {
        /// The header's bits.
        bits: u32,
        /// The header's hash.
        found: BlockHash,
    },
    /// The difficulty does not follow from the ancestors.
    #[error("difficulty: expected bits {expected:08x}, found {found:08x}")]
    Difficulty {
        /// The bits that the schedule gives.
        expected: u32,
        /// The header's bits.
        found: u32,
    },
    /// The time is not after the median of the last eleven.
    #[error("median time past: expected a time above {median}, found {found}")]
    MedianTime {
        /// The median of the last eleven times.
        median: u32,
        /// The header's time.
        found: u32,
    },
    /// BIP94: the first block of a period is much earlier than the one before it.
    #[error("timewarp (BIP94): expected a time from {earliest} on, found {found}")]
    Timewarp {
        /// Ten minutes before the parent's time.
        earliest: u32,
        /// The header's time.
        found: u32,
    },
    /// The time is more than two hours ahead of the clock.
    #[error("future: expected a time up to {latest}, found {found}")]
    Future {
        /// Two hours from now.
        latest: u64,
        /// The header's time.
        found: u32,
    },
    /// BIP34, 66, 65: the version is too old.
    #[error("version: expected {least} or more, found {found}")]
    Version {
        /// The lowest version at this height.
        least: i32,
        /// The header's version.
        found: i32,
    },
}

impl Violation {
    /// The name of the rule, for reports.
    pub fn rule(&self) -> &'static str {
        match self {
            Violation::Target { .. } => "target",
            Violation::Work { .. } => "proof-of-work",
            Violation::Difficulty { .. } => "difficulty",
            Violation::MedianTime { .. } => "median-time-past",
            Violation::Timewarp { .. } => "timewarp",
            Violation::Future { .. } => "future",
            Violation::Version { .. } => "version",
        }
    }
}

/// Checks all rules of a header, in the order of Core. `hash` is that of the header. `now` is the
/// clock in seconds since 1970, or `None` to allow blocks from the future.
pub fn verify_header(
    params: &Params,
    parent: &Parent,
    header: &Header<'_>,
    hash: &BlockHash,
    now: Option<u64>,
) -> Result<(), Violation> {
    verify_work(params, header.bits(), hash)?;
    verify_after(params, parent, &header.claims(), now)
}

/// Checks the rules of a header after its parent: all except the proof of work.
#[inline]
pub fn verify_after(
    params: &Params,
    parent: &Parent,
    claims: &Claims,
    now: Option<u64>,
) -> Result<(), Violation> {
    verify_difficulty(params, parent, claims)?;
    verify_median_time(parent, claims.time)?;
    if params.bip94 {
        verify_timewarp(params, parent, claims.time)?;
    }
    if let Some(now) = now {
        verify_not_in_future(claims.time, now)?;
    }
    verify_version(params, parent.height.saturating_add(1), claims.version)
}

/// The known properties of ancestors that do not reach back to the genesis block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The height.
    pub height: bool,
    /// The parent's period, from its first block on.
    pub period: bool,
    /// Whether the header is in the parent's period.
    pub within: bool,
    /// The times of eleven blocks.
    pub times: bool,
}

/// Checks the rules of a header after its parent that the known properties allow.
pub(crate) fn verify_known(
    params: &Params,
    parent: &Parent,
    claims: &Claims,
    now: Option<u64>,
    known: Known,
) -> Result<(), Violation> {
    if params.no_retarget || known.period || (known.within && !params.min_difficulty) {
        verify_difficulty(params, parent, claims)?;
    }
    if known.times {
        verify_median_time(parent, claims.time)?;
    }
    if params.bip94 && known.height {
        verify_timewarp(params, parent, claims.time)?;
    }
    if let Some(now) = now {
        verify_not_in_future(claims.time, now)?;
    }
    match known.height {
        true => verify_version(params, parent.height.saturating_add(1), claims.version),
        false => Ok(()),
    }
}

/// Checks that the bits are a target of the network, and the hash is not above it.
#[inline]
pub fn verify_work(params: &Params, bits: u32, hash: &BlockHash) -> Result<(), Violation> {
    let Some(target) = target(bits).filter(|target| *target <= params.pow_limit) else {
        return Err(Violation::Target { limit: params.limit_bits(), found: bits });
    };
    if U256::from_le_bytes(hash.0) > target {
        return Err(Violation::Work { bits, found: *hash });
    }
    Ok(())
}

/// Checks that the bits are those of the schedule.
#[inline]
pub fn verify_difficulty(
    params: &Params,
    parent: &Parent,
    claims: &Claims,
) -> Result<(), Violation> {
    let expected = next_bits(params, parent, claims.time)?;
    let found = claims.bits;
    if expected == found { Ok(()) } else { Err(Violation::Difficulty { expected, found }) }
}

/// Checks that the time is later than the median of the last eleven.
#[inline]
pub fn verify_median_time(parent: &Parent, found: u32) -> Result<(), Violation> {
    let median = parent.median_time;
    if found > median { Ok(()) } else { Err(Violation::MedianTime { median, found }) }
}

/// BIP94: a period must not begin more than ten minutes before the last block of the previous one.
#[inline]
pub fn verify_timewarp(params: &Params, parent: &Parent, found: u32) -> Result<(), Violation> {
    let earliest = parent.time.saturating_sub(MAX_TIMEWARP_SECONDS);
    if begins_period(params, parent.height.saturating_add(1)) && found < earliest {
        return Err(Violation::Timewarp { earliest, found });
    }
    Ok(())
}

/// Checks that the time is not more than two hours ahead of the clock `now`.
#[inline]
pub fn verify_not_in_future(found: u32, now: u64) -> Result<(), Violation> {
    let latest = now.saturating_add(MAX_FUTURE_SECONDS);
    if u64::from(found) <= latest { Ok(()) } else { Err(Violation::Future { latest, found }) }
}

/// BIP34, 66 and 65 each made the versions before 2, 3 and 4 invalid.
#[inline]
pub fn verify_version(params: &Params, height: u32, found: i32) -> Result<(), Violation> {
    let from = [(4, params.bip65_height), (3, params.bip66_height), (2, params.bip34_height)];
    match from.into_iter().find(|(_, from)| height >= *from) {
        Some((least, _)) if found < least => Err(Violation::Version { least, found }),
        _ => Ok(()),
    }
}

/// The required bits of a block after `parent` at `time`.
///
/// # Errors
/// Returns [`Violation`] if the bits of the parent are not a target, which no verified block has.
#[inline]
pub fn next_bits(params: &Params, parent: &Parent, time: u32) -> Result<u32, Violation> {
    if begins_period(params, parent.height.saturating_add(1)) {
        return retarget(params, parent);
    }
    if !params.min_difficulty {
        return Ok(parent.bits);
    }
    // test networks allow the lowest difficulty for a late block
    let late = i64::from(parent.time) + 2 * i64::from(params.block_seconds);
    Ok(if i64::from(time) > late { params.limit_bits() } else { parent.real_bits })
}

/// The bits of the period after the one that ends with `parent`.
fn retarget(params: &Params, parent: &Parent) -> Result<u32, Violation> {
    if params.no_retarget {
        return Ok(parent.bits);
    }
    let wanted = i64::from(params.period_seconds);
    let taken = i64::from(parent.time) - i64::from(parent.first_time);
    let taken = taken.clamp(wanted / 4, wanted * 4);
    // BIP94: the last block may have had minimum difficulty, the first never
    let bits = if params.bip94 { parent.first_bits } else { parent.bits };
    let limit = params.limit_bits();
    let old = target(bits).ok_or(Violation::Target { limit, found: bits })?;
    // old * taken / wanted, without the bits that the product has too many: Core's product wraps,
    // but only for targets above 2^233, which no network with retargets has
    let (wanted, taken) = (U256::from(wanted.max(1)), U256::from(taken));
    let (quotient, rest) = old.div_rem(wanted);
    let new = quotient.saturating_mul(taken).saturating_add(rest * taken / wanted);
    Ok(compact(new.min(params.pow_limit)))
}

/// [`Parent::real_bits`] of a block, from its height and bits and its parent's `real_bits`.
#[inline]
pub fn real_bits(params: &Params, height: u32, bits: u32, of_parent: u32) -> u32 {
    let excepted = params.min_difficulty
        && bits == params.limit_bits()
        && height != 0
        && !begins_period(params, height);
    if excepted { of_parent } else { bits }
}

/// Returns whether the block at `height` begins a period.
#[inline]
pub fn begins_period(params: &Params, height: u32) -> bool {
    height.is_multiple_of(params.period())
}

/// The median of up to eleven times, as in Core: the later middle one of an even number. `None`
/// without times. Reorders the times.
#[inline]
pub fn median(times: &mut [u32]) -> Option<u32> {
    // times are almost sorted, which makes insertion sort fast
    for end in 1..times.len() {
        let mut at = end;
        while at > 0 && times[at - 1] > times[at] {
            times.swap(at - 1, at);
            at -= 1;
        }
    }
    times.get(times.len() / 2).copied()
}
