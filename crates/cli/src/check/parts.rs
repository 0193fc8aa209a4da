//! Corrupt parts of a store of blocks, whatever the chain.

use super::{Checked, CorruptPart};
use blockmill_store::{Corruption, Error};
use blockmill_verdict::Finding;

impl CorruptPart {
    /// A part that cannot be read.
    pub fn from_error(error: &Error, repair: &str) -> Self {
        let (what, repair) = (error.to_string(), repair.into());
        let mut part = Self { what, repair, ..Self::default() };
        if let Error::Corrupt { path, offset, what, expected, found } = error {
            (part.file, part.offset) = (Some(path.clone()), Some(*offset));
            part.what = format!("{what}: expected {expected}, found {found}");
        }
        part
    }
}

impl Checked {
    /// Adds corrupt bytes, and blocks that are not what their hashes say. `itself` says what
    /// repairs parts that the next import rebuilds, `others` what repairs all others.
    pub fn add_corruption(
        &mut self,
        corruption: &[Corruption],
        findings: &[Finding],
        itself: &str,
        others: &str,
    ) {
        for corruption in corruption {
            let repair = if corruption.mends_itself { itself } else { others };
            let mut part = CorruptPart::from_error(&corruption.error, repair);
            if corruption.bytes > 4096 {
                part.what = format!("{} bytes are corrupt: {}", corruption.bytes, part.what);
            }
            part.first_block = corruption.blocks.as_ref().map(|blocks| *blocks.start());
            part.last_block = corruption.blocks.as_ref().map(|blocks| *blocks.end());
            part.mends_itself = corruption.mends_itself;
            self.corruption.push(part);
        }
        for Finding { block, what, expected, found } in findings {
            self.corruption.push(CorruptPart {
                what: format!("{what}: expected {expected}, found {found}"),
                first_block: Some(*block),
                last_block: Some(*block),
                repair: others.into(),
                ..CorruptPart::default()
            });
        }
    }
}
