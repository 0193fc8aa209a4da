//! Whether the first block came with the archive, or the importer added it:
//! `docs/formats/store.md`.

use std::io;

use crate::{
    chain_store::ChainStore,
    disk::Open,
    error::{Result, io_error},
};

/// An empty file in the folder of a store whose first block was added.
pub(crate) const FIRST_ADDED: &str = "first-block-added";

impl ChainStore {
    /// Was the first block added by the importer, since the archive leaves it out?
    ///
    /// # Errors
    /// Those of the system.
    pub fn is_first_added(&self) -> Result<bool> {
        let folder = &self.hashes.folder;
        let path = folder.dir.join(FIRST_ADDED);
        match folder.disk.file_bytes(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    /// Notes that of an empty store, before its first block is appended. Durable when it returns.
    ///
    /// # Errors
    /// Those of the system; [`crate::Error::ReadOnly`] of a store that is only read.
    pub fn set_first_added(&mut self, added: bool) -> Result<()> {
        self.writable()?;
        if self.is_first_added()? == added {
            return Ok(());
        }
        let folder = &self.hashes.folder;
        let path = folder.dir.join(FIRST_ADDED);
        if added {
            let file = folder.disk.open(&path, Open::Create).map_err(io_error("create", &path))?;
            file.sync().map_err(io_error("sync", &path))?;
        } else {
            folder.remove(&path)?;
        }
        folder.sync()
    }
}
