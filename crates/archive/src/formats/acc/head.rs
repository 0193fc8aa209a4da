//! What stands before the first block.

use super::{HEIGHT_AT, MAX_BLOCK, MIN_BLOCK, height_of};

/// Bytes that tell what a file is: two numbers, a length, and the first block up to its height.
pub(super) const BYTES: usize = 12 + HEIGHT_AT + 4;

/// What a dump says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Height of the first block.
    pub first: u32,
    /// How many blocks follow.
    pub count: u32,
    /// Does it say at which height it begins?
    pub incremental: bool,
}

impl Head {
    /// Bytes of it.
    #[must_use]
    pub fn length(&self) -> u64 {
        if self.incremental { 8 } else { 4 }
    }

    /// Reads it from the first bytes of a file; `None` when they are those of something else.
    ///
    /// Like neo-go, by the third number: the version of the first block, which is 0, or its length.
    /// Then the first block must be long enough for a block and carry the height that the head
    /// gives it, so that nothing else is taken for a dump.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
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

    /// Its bytes.
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
