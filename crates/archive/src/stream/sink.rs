//! A file that is written in order, plain or compressed with gzip.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Error;
use crate::output::OutputFile;

/// An unfinished file, compressed if requested.
#[derive(Debug)]
pub(crate) struct Sink {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Plain(OutputFile),
    Gzip(Box<GzEncoder<OutputFile>>),
}

impl Sink {
    /// Creates a file that appears at `path` when it is finished.
    pub fn create(path: &Path, gzip: bool) -> Result<Self, Error> {
        let file = OutputFile::create(path)?;
        let target = if gzip {
            Target::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Target::Plain(file)
        };
        Ok(Self { path: path.to_path_buf(), target })
    }

    /// The path of the finished file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.target {
            Target::Plain(file) => file.write_all(bytes),
            Target::Gzip(encoder) => encoder.write_all(bytes),
        }
        .map_err(Error::io("cannot write", &self.path))
    }

    /// Completes the file, makes it durable and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        let finished: io::Result<OutputFile> = match self.target {
            Target::Plain(file) => Ok(file),
            Target::Gzip(encoder) => encoder.finish(),
        };
        finished.map_err(Error::io("cannot write", &self.path))?.finish(&self.path)
    }
}
