//! The head of a dump, before the first block.

use super::{HEIGHT_AT, MAX_BLOCK, MIN_BLOCK, height_of};

/// Bytes that identify a dump: two numbers, a length, and the first block up to its height.
pub(super) const BYTES: usize = 12 + HEIGHT_AT + 4;

/// The head of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Height of the first block.
    pub first: u32,
    /// Number of blocks in the file.
    pub count: u32,
    /// Whether the head states the height of the first block.
    pub incremental: bool,
}

impl Head {
    /// Length of the head in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        if self.incremental { 8 } else { 4 }
    }

    /// Parses the first bytes of a file; `None` if they are no dump.
    ///
    /// Like neo-go, by the third number: the version of the first block, which is 0, or its length.
    /// In addition the first block must be long enough for a block and have the height that the
    /// head states, so that nothing else is taken for a dump.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
        let (one, two) = (number(0)?, number(4)?);
        let head = match number(8)? {
            // block 0 may be left out: it follows from the configuration
            0 => Self { first: height_of(bytes.get(8..)?)?.min(1), count: one, incremental: false },
            _ => Self { first: one, count: two, incremental: true },
        };
        let at = head.length() as usize;
        let block = bytes.get(at + 4..)?;
        let fits = (MIN_BLOCK..=MAX_BLOCK).contains(&number(at)?)
            && block.starts_with(&[0; 4])
            && height_of(block) == Some(head.first)
            && head.count > 0
            && head.first.checked_add(head.count - 1).is_some();
        fits.then_some(head)
    }

    /// The encoded head.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8);
        if self.incremental {
            bytes.extend_from_slice(&self.first.to_le_bytes());
        }
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes
    }

    /// Height of the last block.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}
