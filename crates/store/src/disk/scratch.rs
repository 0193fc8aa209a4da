//! The operating system's disk for stores that are removed at the end of a run: nothing is synced,
//! which would cost milliseconds several times for each commit.

use std::{ffi::OsString, fs::File, io, path::Path, sync::Arc};

use super::{Disk, DiskFile, Lock, Open, RealDisk, real};

/// A [`RealDisk`] whose files need not survive a power loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScratchDisk;

impl Disk for ScratchDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Unsynced(real::open(path, how)?)))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_folder(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        RealDisk.list(folder)
    }

    fn file_bytes(&self, path: &Path) -> io::Result<u64> {
        RealDisk.file_bytes(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        RealDisk.lock(path)
    }
}

/// A file that is not written to the disk before the system wants to.
#[derive(Debug)]
struct Unsynced(File);

impl DiskFile for Unsynced {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        DiskFile::read_exact_at(&self.0, out, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        DiskFile::write_all_at(&self.0, bytes, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.0.bytes()
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.0.set_bytes(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn of_system(&self) -> Option<&File> {
        Some(&self.0)
    }

    fn give_back(&self, offset: u64, bytes: u64) {
        self.0.give_back(offset, bytes);
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        self.0.will_need(offset, bytes);
    }
}
