//! Whose blocks archives hold.

use std::path::PathBuf;

use crate::{acc, blkdat};

/// Chains that have formats, stores and rules in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Blocks by number, in archives of several formats.
    Ethereum,
    /// Block files; coins, undo data and a block index.
    Bitcoin,
    /// Block dumps; contract storage and state roots.
    Neo,
}

impl Family {
    /// Whose blocks are in archives, as far as that is plain at once.
    pub fn of(paths: &[PathBuf]) -> Self {
        // a dump is told by some twenty bytes, a block file by four
        match () {
            () if paths.iter().any(|path| acc::looks_like(path)) => Self::Neo,
            () if paths.iter().any(|path| blkdat::looks_like(path)) => Self::Bitcoin,
            () => Self::Ethereum,
        }
    }
}
