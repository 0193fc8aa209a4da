//! The difficulty that proof of work asks for, in 64-bit arithmetic where it fits and in 256-bit
//! arithmetic where it does not.
//!
//! Each formula is an adjustment by the parent's time plus a "bomb" that doubles every 100,000
//! blocks. The tests compare with the formulas in integers without bounds, as papers write them.

use crate::U256;
use crate::header::{EMPTY_OMMERS, HeaderView};

/// Difficulty never falls below this (Yellow Paper 4.3.4, D_0), the bomb not counted.
pub(crate) const MINIMUM: u64 = 131_072;

/// What the formulas take from the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its height.
    pub number: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// Its difficulty.
    pub difficulty: U256,
    /// Whether it has ommers.
    pub has_ommers: bool,
}

impl From<&HeaderView<'_>> for Parent {
    #[inline]
    fn from(header: &HeaderView<'_>) -> Self {
        Self {
            number: header.number,
            timestamp: header.timestamp,
            difficulty: header.difficulty,
            has_ommers: *header.ommers_hash != EMPTY_OMMERS,
        }
    }
}

/// The formula in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// See [`frontier`].
    Frontier,
    /// See [`homestead`].
    Homestead,
    /// See [`byzantium`].
    Byzantium {
        /// Blocks by which the bomb is late.
        bomb_delay: u64,
    },
}

impl Formula {
    /// The difficulty of a block at `time` (seconds) on top of `parent`, `None` when it does not
    /// fit in 256 bits, so that no header can have it. `time` must be later than the parent's;
    /// an earlier one counts as equal.
    #[inline]
    pub fn next(self, time: u64, parent: &Parent) -> Option<U256> {
        match self {
            Self::Frontier => frontier(time, parent),
            Self::Homestead => homestead(time, parent),
            Self::Byzantium { bomb_delay } => byzantium(time, parent, bomb_delay),
        }
    }
}

/// Frontier: up by 1/2048 when the block came within 13 seconds, else down (Yellow Paper 2015).
#[inline]
pub fn frontier(time: u64, parent: &Parent) -> Option<U256> {
    let steps = if time.saturating_sub(parent.timestamp) < 13 { 1 } else { -1 };
    sum(parent.difficulty, steps, (parent.number.saturating_add(1)) / 100_000)
}

/// Homestead: 1/2048 up or down for each 10 seconds, at most 99 down (EIP-2).
#[inline]
pub fn homestead(time: u64, parent: &Parent) -> Option<U256> {
    let late = (time.saturating_sub(parent.timestamp) / 10).min(100);
    sum(parent.difficulty, 1 - late as i64, (parent.number.saturating_add(1)) / 100_000)
}

/// Byzantium: 1/2048 for each 9 seconds, one more when the parent has ommers (EIP-100), and a
/// bomb that is `bomb_delay` blocks late (EIP-649 and its successors).
#[inline]
pub fn byzantium(time: u64, parent: &Parent, bomb_delay: u64) -> Option<U256> {
    let late = (time.saturating_sub(parent.timestamp) / 9).min(101);
    let steps = (1 + i64::from(parent.has_ommers) - late as i64).max(-99);
    let number = parent.number.saturating_add(1).saturating_sub(bomb_delay);
    sum(parent.difficulty, steps, number / 100_000)
}

/// `parent + parent / 2048 * steps`, not below the minimum, plus the bomb 2^(period - 2).
#[inline]
fn sum(parent: U256, steps: i64, period: u64) -> Option<U256> {
    let [low, rest @ ..] = *parent.as_limbs();
    // below 2^62 neither the steps nor a bomb of up to 2^60 can leave 63 bits
    if rest == [0; 3] && low < 1 << 62 && period <= 62 {
        let adjusted = low as i64 + (low >> 11) as i64 * steps;
        let bomb = if period > 1 { 1u64 << (period - 2) } else { 0 };
        return Some(U256::from_limbs([(adjusted as u64).max(MINIMUM) + bomb, 0, 0, 0]));
    }
    wide_sum(parent, steps, period)
}

/// [`sum`] for numbers of any size.
#[cold]
fn wide_sum(parent: U256, steps: i64, period: u64) -> Option<U256> {
    let step: U256 = parent >> 11;
    let change = step.checked_mul(U256::from(steps.unsigned_abs()))?;
    // at most 99/2048 of the parent are taken away
    let adjusted = if steps < 0 { parent - change } else { parent.checked_add(change)? };
    let adjusted = adjusted.max(U256::from(MINIMUM));
    match period {
        0 | 1 => Some(adjusted),
        2..=257 => adjusted.checked_add(U256::ONE << (period - 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_block_of_mainnet_has_the_difficulty_that_the_formula_gives() {
        let genesis = Parent {
            number: 0,
            timestamp: 0,
            difficulty: U256::from(17_179_869_184u64),
            has_ommers: false,
        };
        assert_eq!(frontier(1_438_269_988, &genesis), Some(U256::from(17_171_480_576u64)));
    }
}
