//! The merkle root of a block's transactions (`hash.CalcMerkleRoot`).

use crate::types::UInt256;
use blockmill_hashes::ManySha256;

/// The merkle root of these hashes; zero without hashes. A hash without a partner is paired with
/// itself.
#[must_use]
pub fn root(hashes: &[UInt256]) -> UInt256 {
    root_with(hashes, &ManySha256::detect())
}

/// [`root`] with a given hash function.
#[must_use]
pub fn root_with(hashes: &[UInt256], hasher: &ManySha256) -> UInt256 {
    let mut level: Vec<[u8; 32]> = hashes.iter().map(|hash| hash.0).collect();
    let mut pairs: Vec<[u8; 64]> = Vec::with_capacity(level.len().div_ceil(2));
    while level.len() > 1 {
        pairs.clear();
        pairs.extend(level.chunks(2).map(|pair| {
            let mut both = [0; 64];
            both[..32].copy_from_slice(&pair[0]);
            both[32..].copy_from_slice(pair.last().unwrap_or(&pair[0]));
            both
        }));
        level.truncate(pairs.len());
        hasher.sha256d_64(&pairs, &mut level);
    }
    level.first().copied().map_or(UInt256::ZERO, UInt256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::sha256d;

    /// Hashes one pair at a time.
    fn naive(hashes: &[UInt256]) -> UInt256 {
        match hashes {
            [] => UInt256::ZERO,
            [root] => *root,
            _ => {
                let pair = |pair: &[UInt256]| [pair[0].0, pair[pair.len() - 1].0].concat();
                let parents = hashes.chunks(2).map(|each| UInt256(sha256d(&pair(each))));
                naive(&parents.collect::<Vec<_>>())
            }
        }
    }

    #[test]
    fn roots_equal_those_of_hashing_one_pair_at_a_time() {
        let hashes: Vec<UInt256> = (0..70_u8).map(|number| UInt256([number; 32])).collect();
        for count in 0..hashes.len() {
            assert_eq!(root(&hashes[..count]), naive(&hashes[..count]), "{count}");
        }
    }
}
