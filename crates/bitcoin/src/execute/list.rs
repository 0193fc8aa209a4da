//! Byte strings in one buffer.

/// Byte strings, concatenated.
#[derive(Debug, Default)]
pub(super) struct ByteStrings {
    bytes: Vec<u8>,
    /// The end of each string.
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

    /// The buffer for appending the next string; call [`end`](Self::end) afterwards.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the string that was appended to [`tail`](Self::tail).
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
