//! Amounts of money.

use crate::params::COIN;
use std::fmt;

/// Satoshis: never negative, and no operation wraps around.
///
/// That amounts and their sums keep to [`Amount::MAX`] is a rule of the chain, and so is checked
/// where rules are: outputs as they are stated in `body/transactions.rs`, what inputs spend and
/// fees come to in `execute/check.rs`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// No amount and no sum of amounts is higher: 21 million bitcoins.
    pub const MAX: Self = Self(21_000_000 * COIN);

    /// So many satoshis, in range or not.
    #[must_use]
    pub const fn from_sat(satoshis: u64) -> Self {
        Self(satoshis)
    }

    /// The satoshis that an output states, if they are in range.
    #[must_use]
    pub fn stated(satoshis: i64) -> Option<Self> {
        u64::try_from(satoshis).ok().map(Self).filter(|amount| amount.is_in_range())
    }

    /// How many satoshis.
    #[must_use]
    pub const fn to_sat(self) -> u64 {
        self.0
    }

    /// Is there so much money?
    #[must_use]
    pub fn is_in_range(self) -> bool {
        self <= Self::MAX
    }

    /// The sum. One that does not fit is the highest number, which is out of range too.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference. `None` if `other` is larger.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

/// The satoshis, as rules state them.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, COIN};

    #[test]
    fn the_range_ends_with_21_million_bitcoins_and_sums_never_come_back_into_it() {
        assert_eq!(Amount::MAX.to_sat(), 2_100_000_000_000_000);
        assert_eq!(Amount::stated(2_100_000_000_000_000), Some(Amount::MAX));
        assert_eq!(Amount::stated(2_100_000_000_000_001), None);
        assert_eq!([Amount::stated(-1), Amount::stated(0)], [None, Some(Amount::ZERO)]);
        let most = Amount::from_sat(u64::MAX);
        assert!(!most.saturating_add(Amount::from_sat(1)).is_in_range());
        let coin = Amount::from_sat(COIN);
        assert_eq!(Amount::ZERO.checked_sub(coin), None);
        assert_eq!(coin.checked_sub(coin), Some(Amount::ZERO));
    }
}
