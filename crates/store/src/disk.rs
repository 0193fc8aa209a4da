//! What the store asks of a disk: the system's, with or without a promise that what was written
//! survives a power loss, or a simulated one that loses power.

mod real;
mod scratch;
pub mod simulated;

pub use real::RealDisk;
pub use scratch::ScratchDisk;

use std::{any::Any, ffi::OsString, fmt::Debug, fs::File, io, path::Path, sync::Arc};

/// A file's or a folder's lock, held until it is dropped.
pub type Lock = Box<dyn Any + Send + Sync>;

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// For reading; it must exist.
    Read,
    /// For reading and writing; it must exist.
    Write,
    /// For reading and writing; it is created if it does not exist.
    Create,
    /// For reading and writing; it must not exist.
    New,
    /// For reading and writing; empty, whether it exists or not.
    Empty,
}

/// A disk with folders of files.
pub trait Disk: Debug + Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a folder and those above it, where they do not exist.
    ///
    /// # Errors
    /// Those of the system.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Bytes of a file, without opening it.
    ///
    /// # Errors
    /// Those of the system.
    fn file_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Gives a file another name, in the place of a file that has it.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a power loss.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Locks the file at `path`, which is created if it does not exist; none when it is locked.
    ///
    /// # Errors
    /// Those of the system.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// Fills `out` from `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the file ends before; those of the system.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` from `offset` on.
    ///
    /// # Errors
    /// Those of the system.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Bytes of the file.
    ///
    /// # Errors
    /// Those of the system.
    fn bytes(&self) -> io::Result<u64>;

    /// Cuts the file, or appends zeros.
    ///
    /// # Errors
    /// Those of the system.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;

    /// Makes the file's bytes survive a power loss.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self) -> io::Result<()>;

    /// The system's file behind it, where there is one.
    fn of_system(&self) -> Option<&File> {
        None
    }

    /// Gives the room of bytes that are read no more back, where the system can; the file keeps its
    /// length, and the bytes are zeros or what they were. A hint: it need not.
    fn give_back(&self, _offset: u64, _bytes: u64) {}

    /// Has the disk bring these bytes, which will be read soon. A hint: it need not.
    fn will_need(&self, _offset: u64, _bytes: u64) {}
}
