//! The filter over the addresses and topics of logs (Yellow Paper, section 4.3.1).

use blockmill_hashes::ManyKeccak;

/// Bits set for every address and topic of some logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloom(pub [u8; 256]);

impl Default for Bloom {
    fn default() -> Self {
        Self([0; 256])
    }
}

/// How many entries are hashed together.
const BATCH: usize = 32;

impl Bloom {
    /// Adds addresses and topics.
    pub fn extend<'a>(&mut self, mut entries: impl Iterator<Item = &'a [u8]>, hasher: &ManyKeccak) {
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        let mut hashes = [[0; 32]; BATCH];
        loop {
            let mut count = 0;
            for entry in entries.by_ref().take(BATCH) {
                batch[count] = entry;
                count += 1;
            }
            if count == 0 {
                return;
            }
            hasher.keccak256(&batch[..count], &mut hashes[..count]);
            hashes[..count].iter().for_each(|hash| self.set(hash));
        }
    }

    /// Sets the three bits that the hash of an entry names: the low 11 bits of its first three
    /// pairs of bytes, counted from the end of the filter.
    pub(crate) fn set(&mut self, hash: &[u8; 32]) {
        for pair in [[hash[0], hash[1]], [hash[2], hash[3]], [hash[4], hash[5]]] {
            let bit = usize::from(u16::from_be_bytes(pair)) % 2048;
            self.0[255 - bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Adds every bit of `other`.
    pub fn merge(&mut self, other: &[u8; 256]) {
        self.0.iter_mut().zip(other).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of one entry, by the words of the Yellow Paper.
    fn bits(entry: &[u8]) -> Vec<usize> {
        let hash = blockmill_hashes::keccak256(entry);
        [0, 2, 4].map(|i| (usize::from(hash[i]) * 256 + usize::from(hash[i + 1])) & 0x7ff).to_vec()
    }

    #[test]
    fn sets_three_bits_for_each_entry_however_many_there_are() {
        let entries: Vec<Vec<u8>> =
            (0..100u8).map(|i| vec![i; 20 + usize::from(i % 2) * 12]).collect();
        for count in [0, 1, 31, 32, 33, 100] {
            let mut bloom = Bloom::default();
            bloom.extend(entries[..count].iter().map(|e| &e[..]), &ManyKeccak::detect());
            let expected: std::collections::BTreeSet<usize> =
                entries[..count].iter().flat_map(|e| bits(e)).collect();
            let set = |bit: &usize| bloom.0[255 - bit / 8] >> (bit % 8) & 1 == 1;
            let found: std::collections::BTreeSet<usize> = (0..2048).filter(set).collect();
            assert_eq!(found, expected, "{count} entries");
        }
    }

    #[test]
    fn merging_keeps_every_bit() {
        let mut bloom = Bloom([0; 256]);
        bloom.0[3] = 0x81;
        let mut other = [0; 256];
        other[3] = 0x18;
        other[200] = 1;
        bloom.merge(&other);
        assert_eq!((bloom.0[3], bloom.0[200]), (0x99, 1));
    }
}
