//! Tries with list positions as keys: transactions, receipts, withdrawals.

use crate::RootBuilder;

/// The RLP encoding of a list position: the key of that item.
struct PositionKey {
    bytes: [u8; 9],
    len: usize,
}

impl PositionKey {
    fn new(position: usize) -> Self {
        let mut bytes = [0; 9];
        if (1..0x80).contains(&position) {
            bytes[0] = position as u8;
            return Self { bytes, len: 1 };
        }
        let number = (position as u64).to_be_bytes();
        let zeros = (position as u64).leading_zeros() as usize / 8;
        bytes[0] = 0x80 + (8 - zeros) as u8;
        bytes[1..9 - zeros].copy_from_slice(&number[zeros..]);
        Self { bytes, len: 9 - zeros }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl RootBuilder {
    /// The root of the trie that holds item `i` under the key `rlp(i)`.
    ///
    /// ```
    /// use blockmill_trie::RootBuilder;
    ///
    /// // the transactions of two blocks
    /// let mut roots = RootBuilder::new();
    /// let blocks: [&[&[u8]]; 2] = [&[b"one", b"two"], &[b"two", b"one"]];
    /// let [first, second] = blocks.map(|block| roots.ordered(block.iter().copied()));
    /// assert_ne!(first, second);
    /// ```
    pub fn ordered<'a>(&mut self, mut items: impl ExactSizeIterator<Item = &'a [u8]>) -> [u8; 32] {
        let count = items.len();
        self.start();
        let Some(first) = items.next() else { return self.finish() };
        // rlp(0) is 0x80, so the key of the first item comes after the keys 1 to 127
        let first_at = (count - 1).min(127);
        let key_at = |at: usize| {
            PositionKey::new(if at < first_at {
                at + 1
            } else if at == first_at {
                0
            } else {
                at
            })
        };
        let mut key = key_at(0);
        for at in 0..count {
            let next_key = key_at(at + 1);
            let next = (at + 1 < count).then(|| next_key.as_slice());
            let item = if at == first_at { Some(first) } else { items.next() };
            self.leaf(key.as_slice(), item.unwrap_or_default(), next);
            key = next_key;
        }
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_rlp::Encode;

    #[test]
    fn position_keys_are_rlp_integers() {
        for position in [0, 1, 2, 127, 128, 129, 255, 256, 257, 65_535, 65_536, usize::MAX] {
            assert_eq!(PositionKey::new(position).as_slice(), (position as u64).encode());
        }
    }
}
