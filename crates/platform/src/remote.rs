//! Files that are not on this machine. Their paths are URLs, as in `s3://bucket/folder/file`, and
//! stay URLs in messages and documents. [`files`](crate::files) and
//! [`InputFile`](crate::input_file::InputFile) ask for them what a program has registered here; a
//! program without it has no such files.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::files::FileKind;

/// What the paths of remote files begin with.
pub const SCHEMES: [&str; 5] = ["http://", "https://", "s3://", "gs://", "az://"];

/// Finds remote files.
pub trait RemoteFiles: Debug + Send + Sync {
    /// Returns the kind of what is at a URL. Only an answer of the server makes it absent.
    ///
    /// # Errors
    /// Any other answer, or none.
    fn kind(&self, url: &Path) -> io::Result<FileKind>;

    /// Lists the files and folders in a folder.
    ///
    /// # Errors
    /// As [`kind`](Self::kind).
    fn list(&self, url: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none, and as [`kind`](Self::kind).
    fn open(&self, url: &Path) -> io::Result<Arc<dyn RemoteFile>>;
}

/// An open remote file.
pub trait RemoteFile: Debug + Send + Sync {
    /// Its length in bytes.
    fn length(&self) -> u64;

    /// A number that is another one when the content of the file is another one.
    fn version(&self) -> u64;

    /// Reads some bytes from `offset` on; 0 at the end.
    ///
    /// # Errors
    /// The file cannot be read, or has changed since it was opened.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

static REGISTERED: OnceLock<Box<dyn RemoteFiles>> = OnceLock::new();
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Registers what finds remote files. Only the first one of a process counts.
pub fn register(files: Box<dyn RemoteFiles>) {
    let _ = REGISTERED.set(files);
}

/// Whether a path is a URL of a remote file.
#[must_use]
pub fn is_remote(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    SCHEMES.iter().any(|scheme| path.starts_with(scheme.as_bytes()))
}

/// What finds the remote file at `path`; `None` if the path is of this machine.
///
/// # Errors
/// The program was built without remote files.
pub(crate) fn of(path: &Path) -> io::Result<Option<&'static dyn RemoteFiles>> {
    if !is_remote(path) {
        return Ok(None);
    }
    let missing = || {
        let text = format!("{}: only files of this machine are read here", path.display());
        io::Error::new(io::ErrorKind::Unsupported, text)
    };
    REGISTERED.get().map(|files| Some(&**files)).ok_or_else(missing)
}

/// Makes reads of remote files fail soon. For signal handlers: it lasts until the process ends.
pub fn stop_waiting() {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Whether the user requested a stop.
#[must_use]
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::input_file::InputFile;

    /// One file in one folder.
    #[derive(Debug)]
    struct One;

    const FILE: &str = "s3://bucket/folder/file";

    impl RemoteFiles for One {
        fn kind(&self, url: &Path) -> io::Result<FileKind> {
            match url.to_str() {
                Some(FILE) => Ok(FileKind::File),
                Some("s3://bucket/folder/") => Ok(FileKind::Folder),
                Some("s3://bucket/folder/none") => Ok(FileKind::Absent),
                _ => Err(io::ErrorKind::PermissionDenied.into()),
            }
        }

        fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
            Ok(vec![FILE.into()])
        }

        fn open(&self, url: &Path) -> io::Result<Arc<dyn RemoteFile>> {
            match self.kind(url)? {
                FileKind::File => Ok(Arc::new(Bytes(b"bytes"))),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    #[derive(Debug)]
    struct Bytes(&'static [u8]);

    impl RemoteFile for Bytes {
        fn length(&self) -> u64 {
            self.0.len() as u64
        }

        fn version(&self) -> u64 {
            1
        }

        fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
            let rest = &self.0[(offset as usize).min(self.0.len())..];
            // as a server does that sends less than it was asked for
            let count = rest.len().min(into.len()).min(2);
            into[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
    }

    #[test]
    fn a_url_is_looked_up_where_remote_files_are_registered() {
        let folder = Path::new("s3://bucket/folder/");
        assert!(is_remote(folder) && !is_remote(Path::new("/s3://bucket")));
        register(Box::new(One));
        assert_eq!(files::kind(folder).unwrap(), FileKind::Folder);
        assert_eq!(files::list(folder).unwrap(), [Path::new(FILE)]);
        let none = folder.join("none");
        assert_eq!(files::kind(&none).unwrap(), FileKind::Absent);
        assert!(files::if_there(&none, InputFile::open(&none)).unwrap().is_none());
        assert!(files::kind(Path::new("s3://bucket/other")).is_err());
        let file = InputFile::open(Path::new(FILE)).unwrap();
        assert_eq!((file.length().unwrap(), file.local().is_none()), (5, true));
        let mut all = vec![0; 8];
        assert_eq!(file.read_full_at(&mut all, 1).unwrap(), 4);
        assert_eq!(&all[..4], b"ytes");
        assert_eq!(file.read_whole().unwrap(), b"bytes");
    }
}
