//! Dumps of Neo in layouts older than that of Neo N3. They are recognised so that they are reported
//! as such and not as corrupt. They have the same frame, and a header with the height at another
//! offset.

use super::MAX_BLOCK;

/// The shortest block of these layouts, in bytes: the header of Neo 2 with an empty invocation
/// script and a verification script of one byte, and no transactions.
const MIN_BLOCK: u32 = 109;

/// Most blocks of a dump. The first bytes of an RLP export of blocks are a larger count.
const MAX_COUNT: u32 = i32::MAX as u32;

/// Bytes from the start of a dump that identify its layout: two numbers, a length and a header up
/// to its count of witnesses.
pub(super) const BYTES: usize = 12 + 105;

/// A header layout.
struct Layout {
    what: &'static str,
    /// Offset of the height in a block.
    height_at: usize,
    /// Offset of the number of witnesses, which is 1: it follows the account of the next signers.
    witnesses_at: usize,
}

/// Layouts of the C# node: `neo` v2.x `Network/P2P/Payloads/BlockBase.cs`, the same file of v3.0
/// previews, and `Header.cs` of the first release candidates, which have no nonce.
const LAYOUTS: [Layout; 3] = [
    Layout { what: "a block dump of Neo 2 (Neo Legacy)", height_at: 72, witnesses_at: 104 },
    Layout { what: "a block dump of a preview of Neo 3", height_at: 76, witnesses_at: 100 },
    Layout { what: "a block dump of a preview of Neo 3", height_at: 76, witnesses_at: 101 },
];

/// Describes a file by its first bytes; `None` if it is no dump of an older layout.
pub(super) fn recognise(bytes: &[u8]) -> Option<&'static str> {
    LAYOUTS.iter().find(|layout| layout.fits(bytes)).map(|layout| layout.what)
}

impl Layout {
    fn fits(&self, bytes: &[u8]) -> bool {
        self.begins(bytes).is_some_and(|fits| fits)
    }

    /// A whole dump begins with its count, an incremental one with its first height and its count.
    /// The length and the version of the first block follow.
    fn begins(&self, bytes: &[u8]) -> Option<bool> {
        let number = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
        // the version is 0, and no length is
        let whole = number(8)? == 0;
        let length_at = if whole { 4 } else { 8 };
        let block = bytes.get(length_at + 4..)?;
        let height = number(length_at + 4 + self.height_at)?;
        let count = number(length_at - 4)?;
        Some(
            (MIN_BLOCK..=MAX_BLOCK).contains(&number(length_at)?)
                && block.starts_with(&[0; 4])
                && block.get(self.witnesses_at) == Some(&1)
                && (1..=MAX_COUNT).contains(&count)
                && if whole { height <= 1 } else { Some(height) == number(0) },
        )
    }
}
