//! Random numbers and bytes, often those at which encodings change.

use blockmill_testkit::Random;

/// Up to `limit` bytes, often none, one or a length at which prefixes change.
pub fn bytes(random: &mut Random, limit: usize) -> Vec<u8> {
    let any = random.below(limit);
    let length = random.pick(&[0, 1, 55, 56, 255, 256, any, any]);
    random.bytes(length.min(limit))
}
