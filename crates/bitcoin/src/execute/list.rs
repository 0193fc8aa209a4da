//! Byte strings of many lengths in one buffer.

/// Byte strings, one after the other.
#[derive(Debug, Default)]
pub(super) struct ByteStrings {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl ByteStrings {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string at `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.start(index)..self.ends[index] as usize]
    }

    /// Where the next string is to be appended; [`end`](Self::end) makes it one.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What has been appended since the last call is the next string.
    pub fn end(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    /// Keeps the first `len` strings.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.start(len));
    }

    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }
}
