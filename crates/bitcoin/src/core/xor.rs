//! The XOR with which Core hides data from virus scanners.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Eight bytes that are repeated over a file or a value. Zeros change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XorKey(pub [u8; 8]);

impl XorKey {
    /// A key that no one else has. It need not be secret.
    #[must_use]
    pub fn random() -> Self {
        XorKey(RandomState::new().build_hasher().finish().to_le_bytes())
    }

    /// Hides or shows bytes that begin at `position` of the file or value.
    #[inline]
    pub fn apply(self, bytes: &mut [u8], position: u64) {
        if self == Self::default() {
            return;
        }
        let mut key = self.0;
        key.rotate_left((position % 8) as usize);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(key)).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_a_file_is_hidden_as_the_whole() {
        let key = XorKey(*b"\x01\x20\x03\x40\x05\x60\x07\x80");
        let file: Vec<u8> = (0..100).collect();
        let hidden: Vec<u8> = (0..100).map(|i| i as u8 ^ key.0[i % 8]).collect();
        for start in 0..20 {
            for end in start..100 {
                let mut part = file[start..end].to_vec();
                key.apply(&mut part, start as u64);
                assert_eq!(part, hidden[start..end]);
            }
        }
    }
}
