//! The operations that a store needs of a disk: implemented by the operating system, with or
//! without durability, and by a simulated disk that loses power.

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
    /// Returns the error of the operating system.
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a folder and its parents, unless they exist.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Size of a file in bytes, without opening it.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn file_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Renames a file, and replaces a file of that name.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a power loss.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Locks the file at `path`, and creates it if it does not exist. `None` if it is locked.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// Fills `out` from `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the file ends before; those of the system.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Size of the file in bytes.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn bytes(&self) -> io::Result<u64>;

    /// Cuts the file, or appends zeros.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;

    /// Makes the file's bytes survive a power loss.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn sync(&self) -> io::Result<()>;

    /// The file of the operating system, if it is one.
    fn of_system(&self) -> Option<&File> {
        None
    }

    /// Punches a hole where bytes are not read any more, if the system supports it. The file keeps
    /// its length; the bytes become zeros or stay. A hint without guarantee.
    fn give_back(&self, _offset: u64, _bytes: u64) {}

    /// Starts reading these bytes from the disk, because they are needed soon. A hint without
    /// guarantee.
    fn will_need(&self, _offset: u64, _bytes: u64) {}
}
