//! A disk whose process dies after a number of changes: all later ones fail, half of a write is
//! done.

use blockmill_store::disk::{Disk, DiskFile, Lock, Open, RealDisk};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Clone, Debug)]
pub struct DyingDisk(Arc<AtomicI64>);

#[derive(Debug)]
struct DyingFile {
    file: Arc<dyn DiskFile>,
    disk: DyingDisk,
}

impl DyingDisk {
    /// Dies after so many changes.
    pub fn after(changes: u32) -> Self {
        Self(Arc::new(AtomicI64::new(changes.into())))
    }

    /// Has it died?
    pub fn is_dead(&self) -> bool {
        self.0.load(Ordering::SeqCst) < 0
    }

    fn change(&self) -> io::Result<()> {
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            1.. => Ok(()),
            _ => Err(io::Error::other("the process of this disk is dead")),
        }
    }
}

impl Disk for DyingDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        if matches!(how, Open::Create | Open::New | Open::Empty) {
            self.change()?;
        }
        Ok(Arc::new(DyingFile { file: RealDisk.open(path, how)?, disk: self.clone() }))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.create_folder(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        RealDisk.list(folder)
    }

    fn file_bytes(&self, path: &Path) -> io::Result<u64> {
        RealDisk.file_bytes(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.sync_folder(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        RealDisk.lock(path)
    }
}

impl DiskFile for DyingFile {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(error) = self.disk.change() {
            // the first one that fails was on its way
            if self.disk.0.load(Ordering::SeqCst) == -1 {
                self.file.write_all_at(&bytes[..bytes.len() / 2], offset)?;
            }
            return Err(error);
        }
        self.file.write_all_at(bytes, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.disk.change()?;
        self.file.set_bytes(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.change()?;
        self.file.sync()
    }
}
