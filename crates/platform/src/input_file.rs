//! A file that is read at any offset: one of this machine, or a remote one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::files::read_at;
use crate::remote::{self, RemoteFile};

/// An open file. Clones share it; no read moves a position that they share.
#[derive(Clone, Debug)]
pub struct InputFile(Place);

#[derive(Clone, Debug)]
enum Place {
    Local(Arc<File>),
    Remote(Arc<dyn RemoteFile>),
}

impl InputFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The error of the operating system or of the server.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(match remote::of(path)? {
            Some(files) => Place::Remote(files.open(path)?),
            None => Place::Local(Arc::new(File::open(path)?)),
        }))
    }

    /// The file of this machine; `None` for a remote one.
    #[must_use]
    pub fn local(&self) -> Option<&File> {
        match &self.0 {
            Place::Local(file) => Some(file),
            Place::Remote(_) => None,
        }
    }

    /// Its length in bytes.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn length(&self) -> io::Result<u64> {
        match &self.0 {
            Place::Local(file) => Ok(file.metadata()?.len()),
            Place::Remote(file) => Ok(file.length()),
        }
    }

    /// A number that changes with the content of a remote file; `None` for one of this machine.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        match &self.0 {
            Place::Local(_) => None,
            Place::Remote(file) => Some(file.version()),
        }
    }

    /// Reads some bytes from `offset` on; 0 at the end.
    ///
    /// # Errors
    /// The error of the operating system or of the server.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.0 {
            Place::Local(file) => read_at(file, into, offset),
            Place::Remote(file) => file.read_at(into, offset),
        }
    }

    /// Fills `bytes` from `offset` on; returns fewer only at the end of the file.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    pub fn read_full_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Reads all bytes. The caller knows that they are few.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    pub fn read_whole(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        self.reader().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads all bytes as text. The caller knows that they are few.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at); [`io::ErrorKind::InvalidData`] for what is not UTF-8.
    pub fn read_text(&self) -> io::Result<String> {
        let mut text = String::new();
        self.reader().read_to_string(&mut text)?;
        Ok(text)
    }

    /// Reads from the beginning, in order.
    #[must_use]
    pub fn reader(&self) -> InOrder<'_> {
        InOrder { file: self, at: 0 }
    }
}

impl From<File> for InputFile {
    fn from(file: File) -> Self {
        Self(Place::Local(Arc::new(file)))
    }
}

/// Reads a file from its beginning, in order.
#[derive(Debug)]
pub struct InOrder<'a> {
    file: &'a InputFile,
    at: u64,
}

impl Read for InOrder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
