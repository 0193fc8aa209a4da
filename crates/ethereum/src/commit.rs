//! Where verified blocks go.

pub mod executed_store;
mod store;
mod verified;

pub use store::{Sink, append, commit};
pub(crate) use store::{committed, read_back, remove_tip};
pub use verified::Verified;

use crate::commit::executed_store::ExecutedStore;
use crate::error::Error;
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

    /// Syncs everything written to disk.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::State`] if the disk fails.
    fn sync(&mut self) -> Result<(), Error>;

    /// The store that an import continues; `None` if the sink has none.
    fn store(&self) -> Option<&ChainStore> {
        None
    }

    /// The store that an import continues, mutable.
    fn store_mut(&mut self) -> Option<&mut ChainStore> {
        None
    }

    /// That store, if it also has the state after its last block.
    fn executed(&mut self) -> Option<&mut ExecutedStore> {
        None
    }
}

/// Properties of a run that its store records.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Hash of the chain's genesis block.
    pub chain: Hash,
    /// How deep blocks were verified.
    pub level: Level,
}
