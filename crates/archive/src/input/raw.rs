//! Bytes as they come: from a file, or from a pipe that can be read only once.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blockmill_platform::files::FileKind;
use blockmill_platform::input_file::InputFile;
use blockmill_platform::remote;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use super::spool::{PIECE, STRIDE, check_room};

/// The path of standard input.
pub const STDIN: &str = "-";

/// Bytes of a pipe's beginning that are retained, because it is read several times: for the format,
/// the first block and the chain.
const KEPT: usize = 16 << 20;

/// Milliseconds that a read waits for a pipe before it checks whether to stop.
const PATIENCE: u8 = 200;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Makes decompression and reads of pipes fail soon with [`Error::Stopped`](crate::Error::Stopped).
/// For signal handlers: it lasts until the process ends.
pub fn stop_waiting() {
    STOPPED.store(true, Ordering::Relaxed);
    remote::stop_waiting();
}

/// An error if the user requested a stop.
pub(super) fn check_stopped() -> io::Result<()> {
    match STOPPED.load(Ordering::Relaxed) {
        true => Err(io::Error::other(Stopped)),
        false => Ok(()),
    }
}

/// The user asked to stop.
#[derive(Debug)]
pub(super) struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped as asked")
    }
}

impl std::error::Error for Stopped {}

/// True for standard input and for pipes with a name: they can be read only once, in order.
pub(super) fn is_pipe(path: &Path) -> bool {
    let is_named = || {
        std::fs::metadata(path).is_ok_and(|found| FileKind::of(found.file_type()) == FileKind::Pipe)
    };
    path == Path::new(STDIN) || (!remote::is_remote(path) && is_named())
}

/// A source of bytes in order, with a count of the bytes read.
#[derive(Debug)]
pub(super) struct Raw {
    source: RawSource,
    at: u64,
}

#[derive(Debug)]
enum RawSource {
    File(InputFile),
    Pipe(Arc<Mutex<Pipe>>),
}

impl Raw {
    /// Opens a path, or goes back to the beginning of a pipe that was opened before.
    pub fn open(path: &Path) -> io::Result<Self> {
        let source = if is_pipe(path) {
            RawSource::Pipe(Pipe::of(path)?)
        } else {
            RawSource::File(InputFile::open(path)?)
        };
        Ok(Self { source, at: 0 })
    }

    /// Reads an open file.
    pub fn of(file: InputFile) -> Self {
        Self { source: RawSource::File(file), at: 0 }
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.at
    }

    /// Passes over the next `count` bytes.
    pub fn skip(&mut self, count: u64) {
        self.at = self.at.saturating_add(count);
    }

    /// Up to `length` bytes of the beginning, read once more by the next read.
    pub fn peek(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut head = vec![];
        let before = self.at;
        self.by_ref().take(length as u64).read_to_end(&mut head)?;
        self.at = before;
        Ok(head)
    }
}

impl Raw {
    /// Copies a pipe to a temporary file, so that it can be read at any offset.
    pub fn make_seekable(&self) -> io::Result<()> {
        match &self.source {
            RawSource::File(_) => Ok(()),
            RawSource::Pipe(pipe) => locked(pipe).copy_all(),
        }
    }
}

impl Seek for Raw {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => {
                let length = match &self.source {
                    RawSource::File(file) => file.length()?,
                    RawSource::Pipe(pipe) => locked(pipe).length()?,
                };
                length.checked_add_signed(by)
            }
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Read for Raw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match &self.source {
            RawSource::File(file) => file.read_at(into, self.at)?,
            RawSource::Pipe(pipe) => locked(pipe).read_at(self.at, into)?,
        };
        self.at += count as u64;
        Ok(count)
    }
}

/// A pipe, and its beginning while that is short enough to be kept.
#[derive(Debug)]
struct Pipe {
    file: File,
    kept: Option<Vec<u8>>,
    /// Bytes that were read.
    read: u64,
    /// All of its bytes, if they were copied.
    copy: Option<File>,
}

/// The pipes of this process: a pipe cannot be opened a second time.
static PIPES: Mutex<Option<HashMap<PathBuf, Arc<Mutex<Pipe>>>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipe {
    fn of(path: &Path) -> io::Result<Arc<Mutex<Self>>> {
        let mut pipes = locked(&PIPES);
        let pipes = pipes.get_or_insert_default();
        if let Some(pipe) = pipes.get(path) {
            return Ok(pipe.clone());
        }
        let file = if path == Path::new(STDIN) {
            File::from(io::stdin().as_fd().try_clone_to_owned()?)
        } else {
            // does not wait for somebody who writes to it; reading does, and can be stopped
            let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
            OpenOptions::new().read(true).custom_flags(flags).open(path)?
        };
        let pipe = Arc::new(Mutex::new(Self { file, kept: Some(vec![]), read: 0, copy: None }));
        pipes.insert(path.to_path_buf(), pipe.clone());
        Ok(pipe)
    }

    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        if let Some(copy) = &self.copy {
            return copy.read_at(into, at);
        }
        if at == self.read {
            return self.read_on(into);
        }
        let kept = self.kept.as_deref().and_then(|kept| kept.get(usize::try_from(at).ok()?..));
        let Some(kept) = kept else {
            return Err(self.read_before());
        };
        let count = kept.len().min(into.len());
        into[..count].copy_from_slice(&kept[..count]);
        Ok(count)
    }

    fn read_before(&self) -> io::Error {
        let text = format!("it can be read only once, and {} bytes are read", self.read);
        io::Error::new(io::ErrorKind::InvalidInput, text)
    }

    /// Copies all bytes to a temporary file without a name.
    fn copy_all(&mut self) -> io::Result<()> {
        if self.copy.is_some() {
            return Ok(());
        }
        let mut copy = tempfile::tempfile()?;
        copy.write_all(self.kept.as_ref().ok_or_else(|| self.read_before())?)?;
        let (mut piece, mut checked) = (vec![0; PIECE], None);
        loop {
            let count = self.read_on(&mut piece)?;
            if count == 0 {
                break;
            }
            if checked.is_none_or(|at| self.read >= at + STRIDE) {
                check_room(&copy, self.read)?;
                checked = Some(self.read);
            }
            copy.write_all(&piece[..count])?;
        }
        (self.copy, self.kept) = (Some(copy), None);
        Ok(())
    }

    /// Number of all bytes of a pipe that was copied.
    fn length(&self) -> io::Result<u64> {
        Ok(self.copy.as_ref().ok_or_else(|| self.read_before())?.metadata()?.len())
    }

    fn read_on(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            check_stopped()?;
            let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PATIENCE) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.read += count as u64;
        match &mut self.kept {
            Some(kept) if kept.len() + count <= KEPT => kept.extend_from_slice(&into[..count]),
            kept => *kept = None,
        }
        Ok(count)
    }
}
