//! The system's disk.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

use blockmill_platform::files;

use super::{Disk, DiskFile, Lock, Open};

/// Opens a file of the operating system. Symbolic links are not followed for writing: their target
/// is not a file of the store.
pub(super) fn open(path: &Path, how: Open) -> io::Result<File> {
    if how == Open::Read {
        return surely(path, File::open(path));
    }
    files::expect_no_link(path)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match how {
        Open::Read | Open::Write => {}
        Open::Create => _ = options.create(true).truncate(false),
        Open::New => _ = options.create_new(true),
        Open::Empty => _ = options.create(true).truncate(true),
    }
    options.open(path)
}

/// Returns `result`; `NotFound` only after it was confirmed.
fn surely<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    files::if_there(path, result)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The system's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(open(path, how)?))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        surely(folder, fs::read_dir(folder))?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn file_bytes(&self, path: &Path) -> io::Result<u64> {
        Ok(surely(path, fs::metadata(path))?.len())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        Ok(blockmill_platform::locks::exclusive(path)?.map(|file| Box::new(file) as Lock))
    }
}

impl DiskFile for File {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, out, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn of_system(&self) -> Option<&File> {
        Some(self)
    }

    fn give_back(&self, offset: u64, bytes: u64) {
        blockmill_platform::holes::punch(self, offset, bytes);
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        blockmill_platform::page_cache::bring(self, offset, bytes);
    }
}
