//! The formats of archives.

use std::path::PathBuf;

use crate::blkdat;

/// Chains that have formats, stores and rules in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Blocks by number, in archives of several formats.
    Ethereum,
    /// Block files; coins, undo data and a block index.
    Bitcoin,
}

impl Family {
    /// Whose blocks are in archives, as far as that is plain at once.
    pub fn of(paths: &[PathBuf]) -> Self {
        let is_bitcoin = paths.iter().any(|path| blkdat::looks_like(path));
        if is_bitcoin { Self::Bitcoin } else { Self::Ethereum }
    }
}
