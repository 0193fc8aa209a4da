//! Parts of a store that another crate defines, and what such a crate needs from a store.
//!
//! A store knows the name of such a part, the names of its files, and its facts in the manifest.
//! The part writes its own files, in the folder of the store, between two commits.

use std::sync::Arc;

use crate::error::{Error, Result};

pub use crate::error::{hex, io_error, mismatch, missing_or};
pub use crate::folder::Folder;
pub use crate::manifest::{Fields, corrupt as corrupt_manifest};
pub use crate::table::{Mixer, number_of, path_of};

/// A part of a store that is open. It is committed as [`CommitPart::Foreign`].
///
/// [`CommitPart::Foreign`]: crate::CommitPart::Foreign
pub trait ForeignPart: Send {
    /// Its name.
    fn name(&self) -> &str;

    /// The folder of the store that it was opened in.
    fn folder(&self) -> &Arc<Folder>;

    /// Writes and syncs all changes. Returns the facts for the manifest.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if a file cannot be written, [`Error::Failed`] after an earlier error.
    fn prepare(&mut self) -> Result<Vec<u8>>;

    /// Removes files that the manifest, which is written now, does not name.
    ///
    /// # Errors
    /// Returns [`Error::Io`] where a file cannot be removed.
    fn finish_commit(&mut self) -> Result<()>;
}

/// What a store needs to know of a kind of part without opening it.
pub trait ForeignFormat: Sync {
    /// The number of the file `file` of the part `name`; `None` where it is no file of it.
    fn number_of_file(&self, file: &str, name: &str) -> Option<u64>;

    /// Numbers of the files that the facts of a manifest name.
    fn numbers(&self, facts: &[u8]) -> Vec<u64>;

    /// The most files that the part writes between two commits.
    fn files_between(&self) -> u64;

    /// Bytes of the files that the facts of a manifest name.
    fn bytes(&self, facts: &[u8]) -> u64;

    /// Reads all files that the facts of a manifest name, while `watch`, which gets the bytes of
    /// each read, returns true. Returns what is corrupt.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if a file cannot be read. Corruption is no error.
    fn survey(
        &self,
        folder: &Arc<Folder>,
        name: &str,
        facts: &[u8],
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Error>>;
}

/// Where a part is opened.
#[derive(Debug)]
pub struct ForeignPlace {
    /// The folder of the store.
    pub folder: Arc<Folder>,
    /// Facts of the part in the last commit; `None` if it is new.
    pub facts: Option<Vec<u8>>,
    /// Whether the store is open for writing.
    pub writes: bool,
}
