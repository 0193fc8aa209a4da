//! The key-value tree: a thin layer over fjall, a log-structured merge tree.
//!
//! Every write goes through the engine's journal to the operating system before it returns, so a
//! killed process loses nothing; [`Tree::sync`] protects against power loss, after which the tree
//! goes back to a whole batch, never to a part of one. Why this engine: `docs/store-choice.md`.

use std::path::{Path, PathBuf};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};

use crate::error::{Error, Result, mismatch};

/// Bytes of blocks that the engine keeps in memory.
const CACHE_BYTES: u64 = 64 << 20;
/// The longest key that the engine takes.
pub const MAX_KEY_BYTES: usize = 65_535;

/// A tree of keys and values in a folder of its own.
pub struct Tree {
    path: PathBuf,
    database: Database,
    keys: Keyspace,
}

/// Changes that reach a [`Tree`] together or not at all.
pub struct Batch<'a> {
    tree: &'a Tree,
    changes: OwnedWriteBatch,
}

impl Tree {
    /// Opens the tree in `dir`, or makes an empty one there, and locks it against other processes.
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere, [`Error::Tree`] when the engine cannot open it.
    pub fn open(dir: &Path) -> Result<Tree> {
        let path = dir.to_path_buf();
        let open = || {
            let database = Database::builder(dir).cache_size(CACHE_BYTES).open()?;
            let keys = database.keyspace("tree", KeyspaceCreateOptions::default)?;
            Ok((database, keys))
        };
        match open() {
            Ok((database, keys)) => Ok(Tree { path, database, keys }),
            Err(fjall::Error::Locked) => Err(Error::Locked { path }),
            Err(source) => Err(Error::Tree { path, source: Box::new(source) }),
        }
    }

    /// The value of `key`, or `None` when the tree does not have it.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.keys.get(key).map_err(|error| self.error(error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    /// Sets one key, as a batch of its own.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the key is empty or longer than [`MAX_KEY_BYTES`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = self.batch();
        batch.put(key, value)?;
        batch.commit()
    }

    /// A batch without changes.
    pub fn batch(&self) -> Batch<'_> {
        Batch { tree: self, changes: self.database.batch() }
    }

    /// Makes everything written so far survive a power loss.
    pub fn sync(&self) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(|error| self.error(error))
    }

    fn error(&self, source: fjall::Error) -> Error {
        Error::Tree { path: self.path.clone(), source: Box::new(source) }
    }
}

impl Batch<'_> {
    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the key is empty or longer than [`MAX_KEY_BYTES`], or the value
    /// does not fit 32 bits of length.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        if u32::try_from(value.len()).is_err() {
            return Err(mismatch("value length", "at most 2^32 - 1 bytes", value.len()));
        }
        self.changes.insert(&self.tree.keys, key, value);
        Ok(())
    }

    /// Removes `key`, if the tree has it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the key is empty or longer than [`MAX_KEY_BYTES`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key(key)?;
        self.changes.remove(&self.tree.keys, key);
        Ok(())
    }

    /// Applies the changes. After it returns, the death of the process loses nothing.
    pub fn commit(self) -> Result<()> {
        self.changes.commit().map_err(|error| self.tree.error(error))
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(mismatch("key length", "1 to 65535 bytes", key.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_batches_across_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        assert!(matches!(Tree::open(dir.path()), Err(Error::Locked { .. })));
        let mut batch = tree.batch();
        for i in 0..1000u32 {
            batch.put(&i.to_be_bytes(), &[i as u8; 100]).unwrap();
        }
        batch.commit().unwrap();
        let mut batch = tree.batch();
        batch.delete(&7u32.to_be_bytes()).unwrap();
        batch.put(&8u32.to_be_bytes(), b"").unwrap();
        batch.commit().unwrap();
        let mut forgotten = tree.batch();
        forgotten.put(b"never", b"committed").unwrap();
        drop(forgotten);
        tree.put(b"one", b"1").unwrap();
        drop(tree);

        let tree = Tree::open(dir.path()).unwrap();
        assert_eq!(tree.get(&6u32.to_be_bytes()).unwrap(), Some(vec![6; 100]));
        assert_eq!(tree.get(&7u32.to_be_bytes()).unwrap(), None);
        assert_eq!(tree.get(&8u32.to_be_bytes()).unwrap(), Some(Vec::new()));
        assert_eq!(tree.get(b"one").unwrap(), Some(b"1".to_vec()));
        assert_eq!(tree.get(b"never").unwrap(), None);
        tree.sync().unwrap();
    }

    #[test]
    fn refuses_keys_that_the_engine_cannot_hold() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        for key in [&[][..], &[1; MAX_KEY_BYTES + 1]] {
            assert!(matches!(tree.put(key, b"value"), Err(Error::Mismatch { .. })));
            assert!(matches!(tree.batch().delete(key), Err(Error::Mismatch { .. })));
        }
        tree.put(&[1; MAX_KEY_BYTES], b"value").unwrap();
    }
}
