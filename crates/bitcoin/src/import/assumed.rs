//! The part of a chain whose scripts are assumed valid.

use crate::error::Error;
use crate::index::Tree;
use crate::index::path::Path;
use crate::options::Options;

/// The block up to which scripts are assumed valid.
pub(crate) fn assumed_valid(tree: &Tree, options: &Options) -> Result<Option<u32>, Error> {
    let Some(hash) = &options.assume_valid else { return Ok(None) };
    tree.find(hash).map(Some).ok_or(Error::AssumedMissing(*hash))
}

/// The height up to which the scripts of a chain are assumed valid: that of its last block in
/// common with the chain of `assumed`.
pub(crate) fn assumed_height(tree: &Tree, path: &Path, assumed: Option<u32>) -> u32 {
    match (assumed, path.nodes.last()) {
        (Some(node), Some(tip)) => tree.height(tree.fork(node, *tip)),
        _ => 0,
    }
}
