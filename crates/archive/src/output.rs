//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// A file under construction: written beside its destination under a temporary name, synced and
/// renamed by [`OutputFile::finish`], removed when dropped before that.
#[derive(Debug)]
pub(crate) struct OutputFile {
    writer: BufWriter<File>,
    temporary: PathBuf,
    finished: bool,
}

/// Bytes collected before a system call. Headers and bodies are below 1 KiB on average.
const BUFFER: usize = 256 << 10;

impl OutputFile {
    /// Begins a file in the folder of `path`, under a name of this process made from `path`'s.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(Error::io("cannot create", &temporary))?;
        let writer = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { writer, temporary, finished: false })
    }

    /// The name under which the file is being written.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Writes the file to disk and gives it the name `path`, in the folder where it was begun.
    /// Replaces a file of that name.
    pub fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.writer.flush().map_err(Error::io("cannot write", &self.temporary))?;
        self.writer.get_ref().sync_all().map_err(Error::io("cannot sync", &self.temporary))?;
        fs::rename(&self.temporary, path).map_err(Error::io("cannot rename to", path))?;
        self.finished = true;
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
            // nothing can be done about a file that cannot be removed, and nobody is misled by it
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Makes a new name in the folder of `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // only on Unix can a folder be opened and synced
    if cfg!(unix) {
        let sync = File::open(folder).and_then(|folder| folder.sync_all());
        sync.map_err(Error::io("cannot sync", folder))?;
    }
    Ok(())
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
}
