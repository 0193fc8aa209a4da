//! Keys: 1 to 255 bytes, in the order of their bytes.

/// The longest key.
pub const MAX_KEY_BYTES: usize = 255;

/// A key in a place of its own that is used again and again.
#[derive(Clone)]
pub(crate) struct KeyBytes {
    len: u8,
    bytes: [u8; MAX_KEY_BYTES],
}

impl Default for KeyBytes {
    fn default() -> Self {
        Self { len: 0, bytes: [0; MAX_KEY_BYTES] }
    }
}

impl AsRef<[u8]> for KeyBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl KeyBytes {
    /// Becomes `key`, which is not longer than a key is.
    #[inline]
    pub fn set(&mut self, key: &[u8]) {
        self.bytes[..key.len()].copy_from_slice(key);
        self.len = key.len() as u8;
    }

    /// Keeps the first `shared` bytes and appends `own`. None when there are fewer bytes to keep,
    /// or when that is no key.
    #[inline]
    pub fn extend(&mut self, shared: usize, own: &[u8]) -> Option<()> {
        let end = shared + own.len();
        if shared > usize::from(self.len) || end == 0 {
            return None;
        }
        self.bytes.get_mut(shared..end)?.copy_from_slice(own);
        self.len = end as u8;
        Some(())
    }
}

/// The first eight bytes of a key as a number, padded with zeros. Compared first: the smaller of
/// two keys never has the greater number.
#[inline]
pub(crate) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// The shortest key that is above `before` and not above `key`, where `before` is below `key`.
pub(crate) fn separator<'a>(before: &[u8], key: &'a [u8]) -> &'a [u8] {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    key.get(..=same).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_separators_keep_the_order() {
        let keys: [&[u8]; 7] =
            [b"a", b"a\0", b"ab", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"b"];
        for pair in keys.windows(2) {
            assert!(prefix(pair[0]) <= prefix(pair[1]));
            let separator = separator(pair[0], pair[1]);
            assert!(pair[0] < separator && separator <= pair[1], "{pair:?} {separator:?}");
        }
        let mut key = KeyBytes::default();
        assert_eq!(key.extend(0, b"abc"), Some(()));
        assert_eq!(key.extend(2, b"x"), Some(()));
        assert_eq!(key.as_ref(), b"abx");
        assert!(key.extend(4, b"x").is_none() && key.extend(0, b"").is_none());
        assert!(key.extend(3, &[0; 253]).is_none());
    }
}
