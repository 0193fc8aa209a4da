//! Files in which formats are read that jump about: as they are, or unpacked to a temporary file.

use std::env::temp_dir;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blockmill_platform::input_file::InputFile;
use blockmill_platform::remote;

use super::Input;
use super::raw::{self, check_stopped};
use crate::Error;
use crate::compression::Compression;

/// Unpacked bytes that are written at once.
pub(super) const PIECE: usize = 256 << 10;

/// Number of bytes after which the free space is checked again.
pub(super) const STRIDE: u64 = 16 << 20;

/// Space that is left to others: this, or a twentieth of a small file system.
const RESERVE: u64 = 256 << 20;

/// Number of unpacked files that are retained: formats open a file more than once before they read
/// it.
const RECENT: usize = 2;

/// A file that can be read at any offset.
#[derive(Clone, Debug)]
pub(crate) struct Seekable {
    file: InputFile,
    /// The compression of the original file, if it was unpacked.
    pub compression: Option<Compression>,
    /// True when `file` is a temporary copy: of a pipe, or unpacked.
    pub copied: bool,
}

impl Seekable {
    /// Opens a file. One that is compressed is unpacked to a temporary file first, a pipe is
    /// copied to one. That file has no name, so it is gone with this process however that ends.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let pipe = raw::is_pipe(path);
        if !pipe && !is_compressed(path)? {
            let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
            return Ok(Self { file, compression: None, copied: false });
        }
        let key = Key::of(path, pipe)?;
        if let Some(found) = recall(&key) {
            return Ok(found);
        }
        let input = Input::open(path)?;
        let compression = input.compression();
        let file = InputFile::from(unpack(path, input)?);
        let seekable = Self { file, compression, copied: true };
        remember(key, seekable.clone());
        Ok(seekable)
    }

    /// The file.
    pub fn file(&self) -> &InputFile {
        &self.file
    }
}

/// Whether a file is read from a temporary copy if its format needs random access.
pub(crate) fn needs_copy(path: &Path) -> bool {
    raw::is_pipe(path) || is_compressed(path).unwrap_or(false)
}

/// The identity of an unpacked file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    path: PathBuf,
    stamp: Option<(u64, u64, u64, i64, i64)>,
}

impl Key {
    fn of(path: &Path, pipe: bool) -> Result<Self, Error> {
        if remote::is_remote(path) {
            let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
            let length = file.length().map_err(Error::io("cannot open", path))?;
            let stamp = Some((0, file.version().unwrap_or_default(), length, 0, 0));
            return Ok(Self { path: path.to_path_buf(), stamp });
        }
        let found = (!pipe).then(|| std::fs::metadata(path)).transpose();
        let found = found.map_err(Error::io("cannot open", path))?;
        let stamp = |m: &Metadata| (m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec());
        Ok(Self { path: path.to_path_buf(), stamp: found.as_ref().map(stamp) })
    }
}

static KEPT: Mutex<Vec<(Key, Seekable)>> = Mutex::new(vec![]);

fn recall(key: &Key) -> Option<Seekable> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().find(|(known, _)| known == key).map(|(_, seekable)| seekable.clone())
}

/// The copy of a pipe, if it was copied.
pub(super) fn copy_of_pipe(path: &Path) -> Option<Seekable> {
    raw::is_pipe(path).then(|| recall(&Key { path: path.to_path_buf(), stamp: None })).flatten()
}

/// Keeps the copy of a pipe for good, and a few unpacked files.
fn remember(key: Key, seekable: Seekable) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let files = kept.iter().filter(|(key, _)| key.stamp.is_some()).count();
    if let Some(oldest) = kept.iter().position(|(key, _)| key.stamp.is_some() && files >= RECENT) {
        kept.remove(oldest);
    }
    kept.push((key, seekable));
}

/// Whether the first bytes of a file are those of a compression.
fn is_compressed(path: &Path) -> Result<bool, Error> {
    let mut head = vec![];
    let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
    let read = file.reader().take(super::MAGIC as u64).read_to_end(&mut head);
    read.map_err(Error::io("cannot read", path))?;
    Ok(Compression::detect(&head).is_some())
}

/// Writes all bytes of `input` to a temporary file without a name.
fn unpack(path: &Path, mut input: Input) -> Result<File, Error> {
    let failed = |source| Error::Io {
        path: path.to_path_buf(),
        action: "cannot unpack to the folder for temporary files (TMPDIR)",
        source,
    };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut piece = vec![0; PIECE];
    let (mut done, mut checked) = (0, None);
    loop {
        check_stopped().map_err(|_| Error::Stopped { path: path.to_path_buf() })?;
        let count = input.read(&mut piece, done)?;
        if count == 0 {
            return Ok(file);
        }
        if checked.is_none_or(|at| done >= at + STRIDE) {
            check_room(&file, done).map_err(failed)?;
            checked = Some(done);
        }
        file.write_all(&piece[..count]).map_err(failed)?;
        done += count as u64;
    }
}

/// An error if the file system is nearly full.
pub(super) fn check_room(file: &File, unpacked: u64) -> io::Result<()> {
    let system = nix::sys::statvfs::fstatvfs(file)?;
    // narrower on some systems
    #[allow(clippy::useless_conversion)]
    let (free, all) = (u64::from(system.blocks_available()), u64::from(system.blocks()));
    let (free, all) = (free * system.fragment_size(), all * system.fragment_size());
    if free >= RESERVE.min(all / 20) {
        return Ok(());
    }
    let folder = temp_dir();
    let text = format!(
        "{unpacked} bytes are unpacked, and {} has only {free} bytes left: set TMPDIR to a folder \
         with more room, or unpack the file beforehand",
        folder.display()
    );
    Err(io::Error::new(ErrorKind::StorageFull, text))
}
