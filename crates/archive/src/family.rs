//! Whose blocks archives hold.

use std::path::{Path, PathBuf};

use crate::{Error, acc, blkdat};

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

/// Does a path hold blocks of a family?
type LooksLike = fn(&Path) -> Result<bool, Error>;

/// What tells a family, the surest first.
const LOOKS: [(LooksLike, Family); 2] =
    [(acc::looks_like, Family::Neo), (blkdat::looks_like, Family::Bitcoin)];

impl Family {
    /// Whose blocks are in archives, as far as that is plain at once.
    ///
    /// # Errors
    /// When a path or a file in it cannot be opened.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Error> {
        // a dump is told by some twenty bytes, a block file by four
        for (looks_like, family) in LOOKS {
            for path in paths {
                if looks_like(path)? {
                    return Ok(family);
                }
            }
        }
        Ok(Self::Ethereum)
    }
}
