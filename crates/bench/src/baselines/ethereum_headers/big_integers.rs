//! The difficulty formulas in integers without bounds, as the papers write them.
//!
//! The baseline of `difficulty=bigint`, and the oracle with which the tests and fuzz targets of
//! [`blockmill_ethereum::difficulty`] compare: they include this file.

use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::{Formula, Parent};
use num_bigint::{BigInt, Sign};

/// The same as [`Formula::next`], for a `time` later than the parent's.
pub fn next(formula: Formula, time: u64, parent: &Parent) -> Option<U256> {
    let difficulty = match formula {
        Formula::Frontier => frontier(time, parent),
        Formula::Homestead => homestead(time, parent),
        Formula::Byzantium { bomb_delay } => byzantium(time, parent, bomb_delay),
    }?;
    let mut limbs = [0; 4];
    let mut digits = difficulty.iter_u64_digits();
    limbs.iter_mut().zip(&mut digits).for_each(|(limb, digit)| *limb = digit);
    digits.next().is_none().then_some(U256::from_limbs(limbs))
}

/// Yellow Paper 2015, section 4.3.4.
fn frontier(time: u64, parent: &Parent) -> Option<BigInt> {
    let difficulty = big(parent.difficulty);
    let step = &difficulty / 2048;
    let wait = BigInt::from(time) - BigInt::from(parent.timestamp);
    let adjusted = if wait < BigInt::from(13) { difficulty + step } else { difficulty - step };
    with_bomb(adjusted, BigInt::from(parent.number) + 1)
}

/// EIP-2.
fn homestead(time: u64, parent: &Parent) -> Option<BigInt> {
    let difficulty = big(parent.difficulty);
    let wait = BigInt::from(time) - BigInt::from(parent.timestamp);
    let factor: BigInt = BigInt::from(1) - wait / 10;
    let factor = factor.max(BigInt::from(-99));
    let adjusted = &difficulty + &difficulty / 2048 * factor;
    with_bomb(adjusted, BigInt::from(parent.number) + 1)
}

/// EIP-100, with the bomb `bomb_delay` blocks late (EIP-649, 1234, 2384, 3554, 4345, 5133).
fn byzantium(time: u64, parent: &Parent, bomb_delay: u64) -> Option<BigInt> {
    let difficulty = big(parent.difficulty);
    let wait = BigInt::from(time) - BigInt::from(parent.timestamp);
    let ommers = BigInt::from(if parent.has_ommers { 2 } else { 1 });
    let factor: BigInt = ommers - wait / 9;
    let factor = factor.max(BigInt::from(-99));
    let adjusted = &difficulty + &difficulty / 2048 * factor;
    let fake_number: BigInt = BigInt::from(parent.number) + 1 - BigInt::from(bomb_delay);
    with_bomb(adjusted, fake_number.max(BigInt::from(0)))
}

/// Applies the minimum and adds 2^(number / 100,000 - 2). `None` where that power alone does not
/// fit in 256 bits: a made-up height must not cost memory.
fn with_bomb(adjusted: BigInt, number: BigInt) -> Option<BigInt> {
    let adjusted = adjusted.max(BigInt::from(131_072));
    let period = u64::try_from(number / 100_000).ok()?;
    match period {
        0 | 1 => Some(adjusted),
        2..=257 => Some(adjusted + BigInt::from(2).pow(period as u32 - 2)),
        _ => None,
    }
}

fn big(number: U256) -> BigInt {
    let [a, b, c, d] = *number.as_limbs();
    let digits = [a, a >> 32, b, b >> 32, c, c >> 32, d, d >> 32].map(|digit| digit as u32);
    BigInt::from_slice(Sign::Plus, &digits)
}
