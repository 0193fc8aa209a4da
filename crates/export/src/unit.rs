//! Units: the part of a chain that one file of each table holds, and where it comes from.

use crate::error::Error;
use crate::schema::{Names, Table};
use blockmill_hashes::Sha256;
use blockmill_verdict::Digits;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Blocks of a unit where files of the source do not bound it.
const SPAN: u64 = 100_000;

/// Bytes of a source that are read at once.
const READ: usize = 1 << 20;

/// Which unit a block belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// That of a file, which holds nothing else.
    File(Arc<Path>),
    /// The blocks from `n * 100,000` on.
    Span(u64),
}

impl Unit {
    /// The unit of a block in a source whose files are no units.
    #[must_use]
    pub fn span_of(block: u64) -> Self {
        Self::Span(block / SPAN)
    }
}

/// The SHA-256 of a source's file, which a thread of its own makes while the blocks are verified.
pub(crate) struct Source {
    path: PathBuf,
    sum: JoinHandle<std::io::Result<[u8; 32]>>,
}

impl Source {
    /// Begins to read a file.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        let own = path.to_path_buf();
        let sum = thread::Builder::new().name("sha-256".into()).spawn(move || sum_of(&own));
        let error = |error| Error::Source { file: path.display().to_string(), error };
        Ok(Self { path: path.to_path_buf(), sum: sum.map_err(error)? })
    }

    /// The digits of the sum.
    pub fn finish(self) -> Result<String, Error> {
        let error = |error| Error::Source { file: self.path.display().to_string(), error };
        let panicked = |_| error(std::io::Error::other("the thread that reads it panicked"));
        let sum = self.sum.join().map_err(panicked)?.map_err(error)?;
        Ok(Digits(&sum).to_string())
    }
}

fn sum_of(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; READ]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// What files are called: by chain, table and range, so that a second run gives the same names.
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

/// A chain's name without what paths give a meaning to.
pub(crate) fn plain(chain: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    chain.chars().map(plain).collect()
}

/// Is this the name of a file of ours?
#[must_use]
pub fn is_ours(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    name == crate::manifest::NAME || name.ends_with(".parquet")
}
