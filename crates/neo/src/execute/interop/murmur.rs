//! MurmurHash3 of Austin Appleby (public domain): 32 bits, and 128 bits for 64-bit machines.

/// 32 bits of a message.
#[must_use]
pub fn murmur32(message: &[u8], seed: u32) -> u32 {
    let (words, tail) = message.as_chunks::<4>();
    let mix = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    for word in words {
        hash ^= mix(u32::from_le_bytes(*word));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        hash ^= mix(tail.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
    }
    hash ^= message.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn last(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// 128 bits of 16 bytes, little endian.
#[must_use]
pub fn murmur128(message: &[u8; 16], seed: u32) -> [u8; 16] {
    let (words, _) = message.as_chunks::<8>();
    let (k1, k2) = (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
    h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    h1 ^= 16;
    h2 ^= 16;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = last(h1);
    h2 = last(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&h1.to_le_bytes());
    hash[8..].copy_from_slice(&h2.to_le_bytes());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_the_reference_client() {
        // neo-go, `TestMurmurCompat`
        let message = blockmill_testkit::hex::array("718f952132679baa9c5c2aa0d329fd2a");
        let expected: [u8; 16] = blockmill_testkit::hex::array("9b4aa747ff0cf4e41b3d96251551c8ae");
        assert_eq!(murmur128(&message, 123), expected);
    }

    #[test]
    fn thirty_two_bits_are_those_of_the_author() {
        // SMHasher: the hash of no bytes, and known words
        assert_eq!(murmur32(b"", 0), 0);
        assert_eq!(murmur32(b"", 1), 0x514e_28b7);
        assert_eq!(murmur32(b"test", 0), 0xba6b_d213);
        assert_eq!(murmur32(b"Hello, world!", 0), 0xc036_3e43);
    }
}
