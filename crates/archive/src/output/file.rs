//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{UNFINISHED, expect_free, forget, lock, named, note, remove, remove_leftover};
use crate::Error;
use crate::output::sync_folder_of;

/// Bytes collected before a system call. Headers and bodies are below 1 KiB on average.
const BUFFER: usize = 256 << 10;

/// An unfinished file, next to its destination under a temporary name. [`OutputFile::finish`] syncs
/// and renames it; dropping it removes it.
#[derive(Debug)]
pub struct OutputFile {
    writer: BufWriter<File>,
    temporary: PathBuf,
    finished: bool,
}

impl OutputFile {
    /// Creates a file in the folder of `path`, under a temporary name derived from `path`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if `path` exists or another process is writing it, and
    /// [`Error::Io`] if the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        expect_free(path, false)?;
        Self::replacing(path)
    }

    /// Creates a file that may replace the file at `path`, under a temporary name derived from it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if another process is writing `path`, and [`Error::Io`] if the
    /// file cannot be created.
    pub fn replacing(path: &Path) -> Result<Self, Error> {
        let temporary = named(path, UNFINISHED);
        remove_leftover(&temporary)?;
        let file = File::create_new(&temporary).map_err(Error::io("cannot create", &temporary))?;
        lock(&file, &temporary)?;
        note(&temporary);
        let writer = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { writer, temporary, finished: false })
    }

    /// The name under which the file is being written.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Syncs the file and renames it to `path`, in the folder where it was created.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if that fails, and [`Error::Unwritable`] if `path` exists by now.
    pub fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.sync()?;
        expect_free(path, false)?;
        self.rename(path)
    }

    /// Syncs the file and renames it to `path`, in the folder where it was created. A file of that
    /// name is replaced in one step.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if that fails.
    pub fn replace(mut self, path: &Path) -> Result<(), Error> {
        self.sync()?;
        self.rename(path)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(Error::io("cannot write", &self.temporary))?;
        self.writer.get_ref().sync_all().map_err(Error::io("cannot sync", &self.temporary))
    }

    fn rename(mut self, path: &Path) -> Result<(), Error> {
        fs::rename(&self.temporary, path).map_err(Error::io("cannot rename to", path))?;
        self.finished = true;
        forget(&self.temporary);
        sync_folder_of(path)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.finished {
            remove(&self.temporary);
            forget(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appears_under_its_name_only_when_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rlp");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"abc").unwrap();
        assert!(!path.exists());
        file.finish(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn leaves_nothing_behind_when_given_up() {
        let folder = tempfile::tempdir().unwrap();
        drop(OutputFile::create(&folder.path().join("a.rlp")).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn never_replaces_what_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rlp");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        fs::write(&path, "made meanwhile").unwrap();
        assert!(matches!(file.finish(&path), Err(Error::Unwritable { .. })));
        assert!(matches!(OutputFile::create(&path), Err(Error::Unwritable { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"made meanwhile");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn replaces_a_file_only_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        fs::write(&path, "old").unwrap();
        drop(OutputFile::replacing(&path).unwrap());
        let mut file = OutputFile::replacing(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.replace(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_dead_process_left_is_begun_anew_and_a_living_one_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rlp");
        fs::write(folder.path().join("a.rlp.blockmill.part"), "half of a fil").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        assert!(matches!(OutputFile::create(&path), Err(Error::Unwritable { .. })));
        assert!(crate::output::remove_leftovers(&path).is_err());
        file.write_all(b"whole").unwrap();
        file.finish(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
