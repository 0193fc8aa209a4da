//! Partitions: the range of a chain that one file of each table holds, and its source.

use crate::error::Error;
use crate::schema::{Names, Table};
use blockmill_hashes::Sha256;
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Digits;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Blocks of a partition that is not bounded by files of the source.
const SPAN: u64 = 100_000;

/// Size of a read from a source, in bytes.
const READ: usize = 1 << 20;

/// The partition of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partition {
    /// The blocks of one source file.
    File(Arc<Path>),
    /// The blocks from `n * 100,000` on.
    Span(u64),
}

impl Partition {
    /// The partition of a block in a source that is partitioned by number.
    #[must_use]
    pub fn span_of(block: u64) -> Self {
        Self::Span(block / SPAN)
    }
}

/// The SHA-256 of a source file, computed by its own thread while the blocks are verified.
pub(crate) struct HashedSource {
    path: PathBuf,
    sum: JoinHandle<std::io::Result<[u8; 32]>>,
}

impl HashedSource {
    /// Starts to hash a file.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        let own = path.to_path_buf();
        let sum = thread::Builder::new().name("sha-256".into()).spawn(move || sum_of(&own));
        let error = |error| Error::Source { file: path.display().to_string(), error };
        Ok(Self { path: path.to_path_buf(), sum: sum.map_err(error)? })
    }

    /// The SHA-256 in hexadecimal digits.
    pub fn finish(self) -> Result<String, Error> {
        let error = |error| Error::Source { file: self.path.display().to_string(), error };
        let panicked = |_| error(std::io::Error::other("the thread that reads it panicked"));
        let sum = self.sum.join().map_err(panicked)?.map_err(error)?;
        Ok(Digits(&sum).to_string())
    }
}

fn sum_of(path: &Path) -> std::io::Result<[u8; 32]> {
    let file = InputFile::open(path)?;
    let mut file = file.reader();
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; READ]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// The name of a table file: chain, table and range, so that a second run gives the same names.
#[must_use]
pub(crate) fn file_name(chain: &str, table: &Table, range: (u64, u64), names: Names) -> String {
    let (first, last) = range;
    let chain = plain(chain);
    let table = table.name;
    match names {
        Names::Etl => format!("{chain}-{table}-{first:09}-{last:09}.parquet"),
        Names::Cryo => {
            let network = if chain == "mainnet" { "ethereum" } else { &chain };
            format!("{network}__{table}__{first:08}_to_{last:08}.parquet")
        }
    }
}

/// The name of a chain, without characters that have a meaning in paths.
pub(crate) fn plain(chain: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    chain.chars().map(plain).collect()
}

/// Returns whether an export writes files of this name.
#[must_use]
pub fn is_ours(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    name == crate::manifest::NAME || name.ends_with(".parquet")
}
