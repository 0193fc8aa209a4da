//! Where verified blocks go.

pub mod executed_store;
mod store;
mod verified;

pub use store::{Sink, append, commit};
pub(crate) use store::{committed, read_back, take_back};
pub use verified::Verified;

use crate::commit::executed_store::ExecutedStore;
use crate::fault::Error;
use crate::{Hash, Level};
use blockmill_store::ChainStore;
use blockmill_verdict::{ConsumerError, DerivedRows, VerifiedConsumer};

/// Derives rows from the new blocks of a chunk.
pub type Derive = dyn Fn(&Verified<'_>) -> Result<DerivedRows, ConsumerError> + Send + Sync;

/// Receives rows derived from verified blocks.
pub type Consumer = VerifiedConsumer<Derive>;

/// Receives the verified blocks of an import, a chunk at a time, in order.
///
/// [`Sink`] is what `verify` and `import` write. The benchmark crate implements how earlier designs
/// store headers.
pub trait BlockSink: Send {
    /// Writes the new blocks of a chunk, at least one, and commits them.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::State`] if they cannot be written.
    fn write(&mut self, commit: &Commit, blocks: &Verified<'_>) -> Result<(), Error>;

    /// Makes everything written survive a power loss.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::State`] if the disk fails.
    fn sync(&mut self) -> Result<(), Error>;

    /// The store that an import continues; none where none of ours is written.
    fn store(&self) -> Option<&ChainStore> {
        None
    }

    /// The same, to be changed.
    fn store_mut(&mut self) -> Option<&mut ChainStore> {
        None
    }

    /// That store, where it keeps the state after its last block.
    fn executed(&mut self) -> Option<&mut ExecutedStore> {
        None
    }
}

/// What stays the same for all commits of one run.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Hash of the chain's genesis block.
    pub chain: Hash,
    /// How deep blocks were verified.
    pub level: Level,
}
