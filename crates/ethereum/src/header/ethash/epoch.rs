//! Epochs: their seeds and the sizes of cache and dataset.

use blockmill_hashes::keccak256;

/// Blocks of one epoch.
pub const EPOCH_LENGTH: u64 = 30_000;
/// The last epoch whose dataset items have numbers of 32 bits, as the hash needs them.
pub const MAX_EPOCH: u64 = ((1 << 38) - DATASET_BYTES_INIT) / DATASET_BYTES_GROWTH - 1;

const CACHE_BYTES_INIT: u64 = 1 << 24;
const CACHE_BYTES_GROWTH: u64 = 1 << 17;
const DATASET_BYTES_INIT: u64 = 1 << 30;
const DATASET_BYTES_GROWTH: u64 = 1 << 23;
const HASH_BYTES: u64 = 64;
const MIX_BYTES: u64 = 128;

/// An epoch after [`MAX_EPOCH`]: ethash has no meaning there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ethash epoch {epoch} is above the last possible one, {MAX_EPOCH}")]
pub struct EpochTooHigh {
    /// The epoch that was asked for.
    pub epoch: u64,
}

/// The epoch of block `number`.
#[must_use]
pub const fn epoch_of(number: u64) -> u64 {
    number / EPOCH_LENGTH
}

/// Rows of 64 bytes in the cache of `epoch`: the largest prime below a size that grows by the
/// epoch.
///
/// # Errors
/// When the epoch is after [`MAX_EPOCH`].
pub fn cache_rows(epoch: u64) -> Result<u32, EpochTooHigh> {
    prime_units(epoch, CACHE_BYTES_INIT, CACHE_BYTES_GROWTH, HASH_BYTES)
}

/// Pages of 128 bytes in the dataset of `epoch`: the largest prime below a size that grows by the
/// epoch. The dataset itself is never generated.
///
/// # Errors
/// When the epoch is after [`MAX_EPOCH`].
pub fn dataset_pages(epoch: u64) -> Result<u32, EpochTooHigh> {
    prime_units(epoch, DATASET_BYTES_INIT, DATASET_BYTES_GROWTH, MIX_BYTES)
}

fn prime_units(epoch: u64, init: u64, growth: u64, unit: u64) -> Result<u32, EpochTooHigh> {
    if epoch > MAX_EPOCH {
        return Err(EpochTooHigh { epoch });
    }
    // the specification steps down by two units, so the parity stays: odd
    let mut units = (init + growth * epoch) / unit - 1;
    while !is_prime(units) {
        units -= 2;
    }
    u32::try_from(units).map_err(|_| EpochTooHigh { epoch })
}

/// Trial division: at most 2^15 steps here, since `n` is below 2^31.
fn is_prime(n: u64) -> bool {
    n % 2 == 1 && (3..).step_by(2).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// The seed of `epoch`: Keccak-256 applied `epoch` times to 32 zero bytes.
pub(super) fn seed(epoch: u64) -> [u8; 32] {
    (0..epoch).fold([0; 32], |seed, _| keccak256(&seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_specification_table() {
        // appendix of the specification: first, second, some later and the last epoch of the table
        for (epoch, cache_bytes, dataset_bytes) in [
            (0, 16_776_896, 1_073_739_904),
            (1, 16_907_456, 1_082_130_304),
            (2, 17_039_296, 1_090_514_816),
            (2046, 284_950_208, 18_236_833_408),
            (2047, 285_081_536, 18_245_220_736),
        ] {
            assert_eq!(cache_rows(epoch).map(|rows| u64::from(rows) * 64), Ok(cache_bytes));
            assert_eq!(dataset_pages(epoch).map(|pages| u64::from(pages) * 128), Ok(dataset_bytes));
        }
    }

    #[test]
    fn the_last_epoch_has_sizes_and_the_next_has_none() {
        let pages = dataset_pages(MAX_EPOCH).unwrap();
        assert!(u64::from(pages) * 2 <= 1 << 32);
        assert!(cache_rows(MAX_EPOCH).is_ok());
        let epoch = MAX_EPOCH + 1;
        assert_eq!(dataset_pages(epoch), Err(EpochTooHigh { epoch }));
        assert_eq!(cache_rows(u64::MAX), Err(EpochTooHigh { epoch: u64::MAX }));
    }

    #[test]
    fn epochs_change_every_30000_blocks() {
        assert_eq!([0, 29_999, 30_000, 15_537_393].map(epoch_of), [0, 0, 1, 517]);
        assert_eq!(seed(0), [0; 32]);
        assert_eq!(seed(2), keccak256(&keccak256(&[0; 32])));
    }
}
