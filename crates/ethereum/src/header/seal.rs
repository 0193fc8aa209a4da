//! Which proof-of-work seals are checked.

use crate::header::ethash::{EpochTooHigh, SealError};
use crate::rule::{Rule, Violation};
use blockmill_verdict::Hex;
use std::fmt;
use std::str::FromStr;

impl From<SealError> for Violation {
    fn from(error: SealError) -> Self {
        match error {
            SealError::ZeroDifficulty => Self::new(Rule::Difficulty, "more than 0", 0),
            SealError::Epoch { expected, found } => Self::new(Rule::SealMixHash, expected, found),
            SealError::MixHash { expected, found } => {
                Self::new(Rule::SealMixHash, Hex(&expected), Hex(&found))
            }
            SealError::Boundary { limit, found } => {
                let expected = format!("at most {limit:#066x}");
                Self::new(Rule::SealBoundary, expected, format!("{found:#066x}"))
            }
        }
    }
}

impl From<EpochTooHigh> for Violation {
    fn from(error: EpochTooHigh) -> Self {
        Self::new(Rule::Number, "a block that ethash can seal", error)
    }
}

/// How many seals to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealMode {
    /// None.
    Off,
    /// One in this many, chosen at random.
    Sample(u32),
    /// Every one.
    All,
}

/// Which seals to check. The choice depends on seed and block number only, so that a run can be
/// repeated whatever its chunks and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealPolicy {
    /// How many.
    pub mode: SealMode,
    /// Where the random choice begins; unknown to whoever made the archive.
    pub seed: u64,
}

impl SealPolicy {
    /// No seals.
    pub const OFF: Self = Self { mode: SealMode::Off, seed: 0 };

    /// True when the seal of block `number` is to be checked.
    #[inline]
    pub fn selects(&self, number: u64) -> bool {
        match self.mode {
            SealMode::Off => false,
            SealMode::All => true,
            SealMode::Sample(one_in) => {
                mix(self.seed ^ mix(number)).is_multiple_of(u64::from(one_in))
            }
        }
    }
}

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl fmt::Display for SealMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Sample(one_in) => write!(f, "1/{one_in}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// Not `off`, `all` or `1/N`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected off, all or 1/N with N from 1 on, found '{0}'")]
pub struct UnknownSealMode(String);

impl FromStr for SealMode {
    type Err = UnknownSealMode;

    fn from_str(text: &str) -> Result<Self, UnknownSealMode> {
        match text {
            "off" => Ok(Self::Off),
            "all" => Ok(Self::All),
            _ => match text.strip_prefix("1/").and_then(|n| n.parse().ok()) {
                Some(one_in) if one_in > 0 => Ok(Self::Sample(one_in)),
                _ => Err(UnknownSealMode(text.to_string())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_printed() {
        for mode in [SealMode::Off, SealMode::All, SealMode::Sample(1), SealMode::Sample(100)] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        for text in ["", "1/0", "2/100", "1/-1", "some"] {
            assert!(text.parse::<SealMode>().is_err());
        }
    }

    #[test]
    fn a_sample_is_as_large_as_asked_and_depends_on_the_seed() {
        let chosen = |seed| {
            let policy = SealPolicy { mode: SealMode::Sample(100), seed };
            (0..1_000_000).filter(|n| policy.selects(*n)).collect::<Vec<_>>()
        };
        let first = chosen(1);
        assert!((9_700..10_300).contains(&first.len()), "{}", first.len());
        assert_eq!(first, chosen(1));
        assert_ne!(first, chosen(2));
    }
}
