//! A disk in memory that records all operations and can show what is left after a power loss at any
//! moment. Its capacity can be limited.
//!
//! Files and names become durable only by a sync. Of unsynced changes, any subset may have reached
//! the disk, in any order: each write in sectors of 512 bytes, each length of a file, each new,
//! changed or removed name. This is harsher than a journaling file system, and it is all that the
//! interface guarantees.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Disk, DiskFile, Lock, Open};

/// Bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// Something that was done.
#[derive(Clone, Debug)]
enum Step {
    Write {
        file: usize,
        offset: usize,
        bytes: Vec<u8>,
    },
    SetBytes {
        file: usize,
        bytes: usize,
    },
    SyncFile {
        file: usize,
    },
    /// The name is that of this file from now on; a file that had it has none.
    Name {
        path: PathBuf,
        file: usize,
    },
    Unname {
        path: PathBuf,
    },
    SyncFolder {
        folder: PathBuf,
    },
}

#[derive(Debug, Default)]
struct State {
    /// The bytes of every file that ever was, as a reader sees them.
    files: Vec<Vec<u8>>,
    names: BTreeMap<PathBuf, usize>,
    steps: Vec<Step>,
    /// Bytes by which files may still grow, where that is limited.
    room: Option<usize>,
}

impl State {
    /// Reserves capacity for more bytes of a file. Returns the number of bytes that do not fit.
    fn grow(&mut self, bytes: usize) -> usize {
        let Some(room) = &mut self.room else { return 0 };
        let missing = bytes.saturating_sub(*room);
        *room -= bytes - missing;
        missing
    }
}

/// A simulated disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl SimulatedDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much was done so far: a moment to go back to with [`SimulatedDisk::lost_power`].
    #[must_use]
    pub fn now(&self) -> usize {
        self.state().steps.len()
    }

    /// Limits how many bytes files can grow by in total from now on, regardless of what is removed.
    /// `None`: no limit.
    pub fn set_room(&self, bytes: Option<usize>) {
        self.state().room = bytes;
    }

    /// The room that is left, where it is limited.
    #[must_use]
    pub fn room(&self) -> Option<usize> {
        self.state().room
    }

    /// Returns what is left after a power loss at `moment`, on a disk that was empty in the
    /// beginning. An unsynced change is included if `survives` returns true; `survives` is called
    /// in the order of the changes.
    #[must_use]
    pub fn lost_power(&self, moment: usize, survives: &mut dyn FnMut() -> bool) -> Self {
        let state = self.state();
        let steps = state.steps.get(..moment).unwrap_or(&state.steps);
        let files = (0..state.files.len()).map(|file| image(steps, file, survives)).collect();
        let names = names(steps, survives);
        Self(Arc::new(Mutex::new(State { files, names, ..State::default() })))
    }
}

/// The bytes of a file after a power loss.
fn image(steps: &[Step], file: usize, survives: &mut dyn FnMut() -> bool) -> Vec<u8> {
    let is_sync = |step: &Step| matches!(step, Step::SyncFile { file: f } if *f == file);
    let synced = steps.iter().rposition(is_sync).unwrap_or(0);
    let mut image = vec![];
    for (at, step) in steps.iter().enumerate() {
        let mut survives = || at < synced || survives();
        match step {
            Step::Write { file: f, offset, bytes } if *f == file => {
                let mut from = 0;
                while from < bytes.len() {
                    let to = bytes.len().min((offset + from) / SECTOR * SECTOR + SECTOR - offset);
                    if survives() {
                        put(&mut image, offset + from, &bytes[from..to]);
                    }
                    from = to;
                }
                // the length may be on the disk while the bytes are not
                if image.len() < offset + bytes.len() && survives() {
                    image.resize(offset + bytes.len(), 0);
                }
            }
            Step::SetBytes { file: f, bytes } if *f == file && survives() => {
                image.resize(*bytes, 0);
            }
            _ => {}
        }
    }
    image
}

/// The names after a power loss.
fn names(steps: &[Step], survives: &mut dyn FnMut() -> bool) -> BTreeMap<PathBuf, usize> {
    let mut names = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let (Step::Name { path, .. } | Step::Unname { path }) = step else { continue };
        let is_synced = steps[at..]
            .iter()
            .any(|later| matches!(later, Step::SyncFolder { folder } if path.starts_with(folder)));
        if !is_synced && !survives() {
            continue;
        }
        match step {
            Step::Name { path, file } => _ = names.insert(path.clone(), *file),
            _ => _ = names.remove(path),
        }
    }
    names
}

/// Writes `bytes` at `offset`, after zeros if the file is shorter.
fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        let found = state.names.get(path).copied();
        let file = match (found, how) {
            (None, Open::Read | Open::Write) => return Err(io::ErrorKind::NotFound.into()),
            (Some(_), Open::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(file), _) => file,
            (None, _) => {
                let file = state.files.len();
                state.files.push(vec![]);
                state.names.insert(path.to_path_buf(), file);
                state.steps.push(Step::Name { path: path.to_path_buf(), file });
                file
            }
        };
        if found.is_some() && how == Open::Empty {
            state.files[file].clear();
            state.steps.push(Step::SetBytes { file, bytes: 0 });
        }
        Ok(Arc::new(SimulatedFile { disk: self.clone(), file }))
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let state = self.state();
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| path.file_name()).map(OsString::from).collect())
    }

    fn file_bytes(&self, path: &Path) -> io::Result<u64> {
        let state = self.state();
        let file = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[*file].len() as u64)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_path_buf(), file);
        state.steps.push(Step::Name { path: to.to_path_buf(), file });
        state.steps.push(Step::Unname { path: from.to_path_buf() });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        state.steps.push(Step::Unname { path: path.to_path_buf() });
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.state().steps.push(Step::SyncFolder { folder: folder.to_path_buf() });
        Ok(())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<Lock>> {
        Ok(Some(Box::new(())))
    }
}

impl DiskFile for SimulatedFile {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.disk.state();
        let bytes = &state.files[self.file];
        let start = position(offset);
        let found = bytes.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (file, offset) = (self.file, position(offset));
        let mut state = self.disk.state();
        let growth = (offset + bytes.len()).saturating_sub(state.files[file].len());
        let missing = state.grow(growth);
        let bytes = &bytes[..bytes.len().saturating_sub(missing)];
        put(&mut state.files[file], offset, bytes);
        state.steps.push(Step::Write { file, offset, bytes: bytes.to_vec() });
        if missing > 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].len() as u64)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let (file, bytes) = (self.file, position(bytes));
        let mut state = self.disk.state();
        let growth = bytes.saturating_sub(state.files[file].len());
        if state.grow(growth) > 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.files[file].resize(bytes, 0);
        state.steps.push(Step::SetBytes { file, bytes });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state().steps.push(Step::SyncFile { file: self.file });
        Ok(())
    }

    fn give_back(&self, offset: u64, bytes: u64) {
        let length = self.disk.state().files[self.file].len();
        let end = position(offset.saturating_add(bytes)).min(length);
        let zeros = vec![0; end.saturating_sub(position(offset))];
        // as zeros that the disk may have or not, which cannot fail
        let _ = self.write_all_at(&zeros, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_and_of_the_rest_any_part_does() {
        let disk = SimulatedDisk::default();
        let (first, second) = (Path::new("folder/first"), Path::new("folder/second"));
        let file = disk.open(first, Open::New).unwrap();
        file.write_all_at(&[1; 600], 0).unwrap();
        let written = disk.now();
        file.sync().unwrap();
        disk.sync_folder(Path::new("folder")).unwrap();
        let synced = disk.now();
        file.write_all_at(&[2; 600], 300).unwrap();
        disk.rename(first, second).unwrap();
        let read = |disk: &SimulatedDisk, path: &Path| {
            let file = disk.open(path, Open::Read).ok()?;
            let mut bytes = vec![0; file.bytes().unwrap() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            Some(bytes)
        };
        assert_eq!(read(&disk.lost_power(written, &mut || false), first), None);
        assert_eq!(read(&disk.lost_power(synced, &mut || false), first), Some(vec![1; 600]));
        assert_eq!(read(&disk.lost_power(disk.now(), &mut || false), first), Some(vec![1; 600]));
        let all = disk.lost_power(disk.now(), &mut || true);
        assert_eq!((read(&all, first), read(&all, second)), (None, read(&disk, second)));
        // the second sector of the second write only, and both names
        let mut answers = [false, true, true, false].into_iter();
        let torn = disk.lost_power(disk.now(), &mut || answers.next().unwrap());
        let expected = [vec![1; 512], vec![2; 388]].concat();
        assert_eq!(read(&torn, first).as_ref(), Some(&expected));
        assert_eq!(read(&torn, second), Some(expected));
    }
}
