//! Blob gas (EIP-4844), with numbers per fork (EIP-7840) and the reserve price (EIP-7918).

use super::rules::Verdict;
use crate::U256;
use crate::header::HeaderView;
use crate::params::{BlobParams, Fork};
use crate::rule::{Rule, Violation};
use ruint::Uint;

/// Gas of one blob.
pub const BLOB_GAS: u64 = 131_072;
/// Execution gas that a blob is worth at least (EIP-7918).
const BLOB_BASE_COST: u64 = 8_192;

/// Wide enough for the price series: see [`price_is_at_least`].
type Wide = Uint<512, 8>;

/// Both blob fields are there and follow from the parent's.
pub(super) fn blob_gas(
    fork: Fork,
    params: &BlobParams,
    parent: &HeaderView<'_>,
    header: &HeaderView<'_>,
) -> Verdict {
    blob_gas_used(params, header)?;
    let expected = next_excess_blob_gas(fork, params, parent);
    match header.excess_blob_gas {
        Some(excess) if u128::from(excess) == expected => Ok(()),
        Some(excess) => Err(Violation::new(Rule::ExcessBlobGas, expected, excess)),
        None => Err(Violation::new(Rule::ExcessBlobGas, expected, "no value")),
    }
}

/// The blob gas used is a multiple of the gas of a blob, and no more than a block may use.
pub(super) fn blob_gas_used(params: &BlobParams, header: &HeaderView<'_>) -> Verdict {
    let Some(used) = header.blob_gas_used else {
        return Err(Violation::new(Rule::BlobGasUsed, "a value", "no value"));
    };
    if !used.is_multiple_of(BLOB_GAS) {
        let expected = format!("a multiple of {BLOB_GAS}");
        return Err(Violation::new(Rule::BlobGasUsed, expected, used));
    }
    let most = params.max.saturating_mul(BLOB_GAS);
    if used > most {
        return Err(Violation::new(Rule::BlobGasUsed, format!("at most {most}"), used));
    }
    Ok(())
}

/// The excess blob gas of a block under `fork` and `params`, from its parent. A parent before
/// Cancun counts as empty. More than 64 bits only where the parent is not a valid block.
pub fn next_excess_blob_gas(fork: Fork, params: &BlobParams, parent: &HeaderView<'_>) -> u128 {
    let excess = parent.excess_blob_gas.unwrap_or(0);
    let used = parent.blob_gas_used.unwrap_or(0);
    let (sum, target) = (u128::from(excess) + u128::from(used), target_gas(params));
    if sum < target {
        return 0;
    }
    if fork >= Fork::Osaka {
        // one blob's base cost against one blob's price: both in wei, divided by BLOB_BASE_COST
        let reserve = parent.base_fee.unwrap_or(U256::ZERO);
        let ratio = U256::from(BLOB_GAS / BLOB_BASE_COST);
        if !price_is_at_least(reserve.div_ceil(ratio), excess, params.base_fee_update_fraction) {
            let share = u128::from(used) * u128::from(params.max - params.target);
            return u128::from(excess) + share / u128::from(params.max);
        }
    }
    sum - target
}

/// Wei for a unit of blob gas in a block with this excess: `e^(excess / fraction)` by the series of
/// EIP-4844. `None` when it takes more than 256 bits; that is known after some 700 terms at the
/// latest.
pub fn blob_base_fee(params: &BlobParams, excess: u64) -> Option<U256> {
    let fraction = params.base_fee_update_fraction;
    if let Some(sum) = series_in_words(fraction, excess) {
        return Some(U256::from(sum / u128::from(fraction)));
    }
    // a sum has at most 320 bits, a term times the excess at most 384
    let enough = Wide::from(fraction) << 256;
    let (mut output, mut term) = (Wide::ZERO, Wide::from(fraction));
    for i in 1u64.. {
        output += term;
        if output >= enough {
            return None;
        }
        if term.is_zero() {
            break;
        }
        term = term * Wide::from(excess) / (Wide::from(fraction) * Wide::from(i));
    }
    Some(U256::from(output / Wide::from(fraction)))
}

/// The sum of the series times the fraction, where 128 bits hold all of its terms.
fn series_in_words(fraction: u64, excess: u64) -> Option<u128> {
    let (mut output, mut term) = (0u128, u128::from(fraction));
    for i in 1u128.. {
        output = output.checked_add(term)?;
        if term == 0 {
            break;
        }
        term = term.checked_mul(excess.into())? / (u128::from(fraction) * i);
    }
    Some(output)
}

fn target_gas(params: &BlobParams) -> u128 {
    u128::from(params.target) * u128::from(BLOB_GAS)
}

/// Whether the price of blob gas, in wei, is `bound` or more: `e^(excess / fraction)` by the
/// series of EIP-4844. Stops as soon as that is certain, after some 700 terms at the latest, as
/// an excess of made-up size would let the series grow without end.
fn price_is_at_least(bound: U256, excess: u64, fraction: u64) -> bool {
    // the series is scaled by the fraction
    let enough = Wide::from(bound) * Wide::from(fraction);
    // a term is below `enough`, so a term times the excess stays within 128 bits here
    if let Ok(enough) = u64::try_from(enough) {
        let (mut output, mut term) = (0, u128::from(fraction));
        for i in 1.. {
            output += term;
            if term == 0 || output >= u128::from(enough) {
                break;
            }
            term = term * u128::from(excess) / (u128::from(fraction) * i);
        }
        return output >= u128::from(enough);
    }
    // `enough` has at most 320 bits, a term times the excess at most 384
    let (mut output, mut term) = (Wide::ZERO, Wide::from(fraction));
    for i in 1u64.. {
        output += term;
        if term.is_zero() || output >= enough {
            break;
        }
        term = term * Wide::from(excess) / (Wide::from(fraction) * Wide::from(i));
    }
    output >= enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use num_bigint::BigUint;

    /// The series as EIP-4844 writes it.
    fn price(excess: u64, fraction: u64) -> BigUint {
        let (mut output, mut term) = (BigUint::ZERO, BigUint::from(fraction));
        let mut i = 1u64;
        while term != BigUint::ZERO {
            output += &term;
            term = term * excess / (BigUint::from(fraction) * i);
            i += 1;
        }
        output / fraction
    }

    fn excess(fork: Fork, params: BlobParams, excess: u64, used: u64, base_fee: u64) -> u128 {
        let parent = Header {
            excess_blob_gas: Some(excess),
            blob_gas_used: Some(used),
            base_fee: Some(U256::from(base_fee)),
            ..Header::default()
        };
        next_excess_blob_gas(fork, &params, &parent.view(&[]))
    }

    #[test]
    fn price_comparison_agrees_with_the_series() {
        let fraction = BlobParams::PRAGUE.base_fee_update_fraction;
        for ratio in [0, 1, 2, 7, 20, 60, 200] {
            let excess = fraction * ratio + 12_345;
            let exact = price(excess, fraction).to_bytes_be();
            let exact = U256::try_from_be_slice(&exact).unwrap_or(U256::MAX - U256::ONE);
            assert!(price_is_at_least(exact, excess, fraction));
            let more = exact + U256::ONE;
            assert_eq!(price_is_at_least(more, excess, fraction), ratio == 200, "{ratio}");
        }
    }

    #[test]
    fn the_blob_base_fee_is_the_sum_of_the_series() {
        for params in [BlobParams::CANCUN, BlobParams::PRAGUE] {
            let fraction = params.base_fee_update_fraction;
            for ratio in [0, 1, 2, 7, 20, 30, 60, 177, 178, 200] {
                let excess = fraction * ratio + 12_345;
                let exact = price(excess, fraction);
                let fits = exact.bits() <= 256;
                let found = blob_base_fee(&params, excess);
                assert_eq!(found.is_some(), fits, "{ratio}");
                let found = found.map(|fee| BigUint::from_bytes_be(&fee.to_be_bytes::<32>()));
                assert_eq!(found, fits.then_some(exact));
            }
            assert_eq!(blob_base_fee(&params, u64::MAX), None);
        }
        // as https://github.com/ethereum/execution-spec-tests has it for Cancun
        assert_eq!(blob_base_fee(&BlobParams::CANCUN, 2_314_057), Some(U256::ONE));
        assert_eq!(blob_base_fee(&BlobParams::CANCUN, 2_314_058), Some(U256::from(2)));
        assert_eq!(
            blob_base_fee(
                &BlobParams { base_fee_update_fraction: 1, ..BlobParams::CANCUN },
                u64::MAX
            ),
            None
        );
    }

    #[test]
    fn a_made_up_excess_ends_the_series_soon() {
        assert!(price_is_at_least(U256::MAX, u64::MAX, 1));
        assert!(price_is_at_least(U256::from(1_000_000), u64::MAX, 3_338_477));
    }

    #[test]
    fn excess_is_what_was_used_above_the_target() {
        let next = |before, used| excess(Fork::Cancun, BlobParams::CANCUN, before, used, 7);
        assert_eq!(next(0, 3 * BLOB_GAS), 0);
        assert_eq!(next(0, 6 * BLOB_GAS), 3 * u128::from(BLOB_GAS));
        assert_eq!(next(BLOB_GAS, 0), 0);
        assert_eq!(next(4 * BLOB_GAS, 0), u128::from(BLOB_GAS));
    }

    #[test]
    fn below_the_reserve_price_the_excess_falls_slower() {
        let next = |base_fee| {
            let (before, used) = (10 * BLOB_GAS, 6 * BLOB_GAS);
            excess(Fork::Osaka, BlobParams::PRAGUE, before, used, base_fee)
        };
        // the price is 1 wei here, which 16 wei of base fee do not exceed
        assert_eq!(next(16), 10 * u128::from(BLOB_GAS));
        assert_eq!(next(17), 12 * u128::from(BLOB_GAS));
    }

    #[test]
    fn sums_beyond_64_bits_do_not_wrap() {
        let found = excess(Fork::Cancun, BlobParams::CANCUN, u64::MAX, u64::MAX, 7);
        assert_eq!(found, 2 * u128::from(u64::MAX) - 3 * u128::from(BLOB_GAS));
    }
}
