//! The base fee of a block (EIP-1559).

use super::rules::Verdict;
use crate::U256;
use crate::header::HeaderView;
use crate::rule::{Rule, Violation};
use ruint::Uint;

/// The base fee of the first block under London, in wei for each unit of gas.
pub const INITIAL_BASE_FEE: u64 = 1_000_000_000;

/// The base fee after a block: up when it used more gas than half of its limit, else down, by at
/// most 1/8. `None` when it does not fit in 256 bits, or when the limit is 0 or 1, which no valid
/// block has.
pub fn next_base_fee(base_fee: U256, gas_used: u64, gas_limit: u64) -> Option<U256> {
    let target = gas_limit / 2;
    if gas_used == target {
        return Some(base_fee);
    }
    if target == 0 {
        return None;
    }
    let distance = gas_used.abs_diff(target);
    let change = match base_fee.as_limbs() {
        &[fee, 0, 0, 0] => match fee.checked_mul(distance) {
            Some(product) => U256::from(product / target / 8),
            None => U256::from(u128::from(fee) * u128::from(distance) / u128::from(target) / 8),
        },
        _ => {
            let product = Uint::<320, 5>::from(base_fee) * Uint::<320, 5>::from(distance);
            let change = product / Uint::<320, 5>::from(target) / Uint::<320, 5>::from(8);
            U256::checked_from_limbs_slice(change.as_limbs())?
        }
    };
    if gas_used > target {
        base_fee.checked_add(change.max(U256::ONE))
    } else {
        Some(base_fee.saturating_sub(change))
    }
}

/// The base fee follows from the parent's; `first` is the first block under London.
#[inline]
pub(super) fn base_fee(first: bool, parent: &HeaderView<'_>, header: &HeaderView<'_>) -> Verdict {
    let expected = match parent.base_fee {
        _ if first => Some(U256::from(INITIAL_BASE_FEE)),
        Some(fee) => next_base_fee(fee, parent.gas_used, parent.gas_limit),
        None => return Err(Violation::new(Rule::BaseFee, "a base fee in the parent", "none")),
    };
    if header.base_fee == expected && expected.is_some() {
        return Ok(());
    }
    let text = |fee: Option<U256>, none: &str| fee.map_or(none.into(), |fee| fee.to_string());
    let expected = text(expected, "more than 256 bits");
    Err(Violation::new(Rule::BaseFee, expected, text(header.base_fee, "none")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    #[test]
    fn fee_stays_at_the_target_and_moves_by_an_eighth_at_the_extremes() {
        let fee = U256::from(INITIAL_BASE_FEE);
        let next = |used, limit| next_base_fee(fee, used, limit).unwrap();
        assert_eq!(next(10_000_000, 20_000_000), fee);
        assert_eq!(next(20_000_000, 20_000_000), U256::from(1_125_000_000));
        assert_eq!(next(0, 20_000_000), U256::from(875_000_000));
        assert_eq!(next(9_000_000, 20_000_000), U256::from(987_500_000));
        assert_eq!(next(11_000_000, 20_000_000), U256::from(1_012_500_000));
    }

    #[test]
    fn fee_rises_by_at_least_one_wei() {
        assert_eq!(next_base_fee(U256::from(7), 11, 20), Some(U256::from(8)));
        assert_eq!(next_base_fee(U256::ZERO, 11, 20), Some(U256::ONE));
    }

    #[test]
    fn a_limit_without_target_has_no_fee() {
        assert_eq!(next_base_fee(U256::ONE, 1, 1), None);
        assert_eq!(next_base_fee(U256::MAX, u64::MAX, u64::MAX), None);
    }

    #[test]
    fn word_sizes_agree_with_big_integers() {
        let mut state = 88_172_645_463_325_252u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let fee = U256::from_limbs([random(), random(), random(), 0]) >> (random() % 193);
            let limit = (random() >> (random() % 60)).max(2);
            let used = random() % limit;
            let (target, big) = (limit / 2, BigUint::from_bytes_be(&fee.to_be_bytes::<32>()));
            let change = &big * used.abs_diff(target) / target / 8u64;
            let expected = match used.cmp(&target) {
                std::cmp::Ordering::Equal => big,
                std::cmp::Ordering::Greater => big + change.max(1u64.into()),
                std::cmp::Ordering::Less => big - change,
            };
            let found = next_base_fee(fee, used, limit).unwrap();
            assert_eq!(BigUint::from_bytes_be(&found.to_be_bytes::<32>()), expected);
        }
    }
}
