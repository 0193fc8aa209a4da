//! Checksum of the blocks of an archive, independent of its format.

use blockmill_verdict::Digits;

/// Returns `chain-sha256:` and the hex digits of the SHA-256 of the first number, the last number
/// (8 bytes each, big-endian) and the hash of the last block.
///
/// A block contains the hash of its parent. So if the links were verified, this checksum covers
/// every header from the first to the last, and through the roots in the headers the bodies that
/// were checked against them. It costs nothing. It does not cover other bytes of the files: frames,
/// indexes, compression.
pub fn chain_checksum(first: u64, last: u64, tip: &[u8; 32]) -> String {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&first.to_be_bytes());
    bytes[8..16].copy_from_slice(&last.to_be_bytes());
    bytes[16..].copy_from_slice(tip);
    format!("chain-sha256:{}", Digits(&blockmill_hashes::sha256(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::chain_checksum;

    #[test]
    fn a_checksum_is_the_published_function_of_its_three_parts() {
        // printf '%016x%016x%064x' 1 2 3 | xxd -r -p | sha256sum
        let mut tip = [0; 32];
        tip[31] = 3;
        let expected = "0e644bf7ca65c5ef0eb31edf2b53ebb3069cc3630182f7ab81613b869038ca62";
        assert_eq!(chain_checksum(1, 2, &tip), format!("chain-sha256:{expected}"));
        assert_ne!(chain_checksum(2, 1, &tip), chain_checksum(1, 2, &tip));
        assert_ne!(chain_checksum(1, 2, &[0; 32]), chain_checksum(1, 2, &tip));
    }
}
