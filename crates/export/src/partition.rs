//! Partitions: the blocks of a chain that one file of each table holds, and their source.

use crate::error::Error;
use crate::schema::{Form, Names, Table};
use blockmill_hashes::Sha256;
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Digits;
use chrono::{DateTime, Datelike, NaiveDate};
use std::fmt::{self, Display};
use std::io::Read;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Blocks of a partition that is not bounded by files of the source.
const SPAN: u64 = 100_000;

/// Size of a read from a source, in bytes.
const READ: usize = 1 << 20;

/// What users call partitions by number, and by day.
const BLOCKS: &str = "blocks";
const DATE: &str = "date";

/// The value of a partition column that has no value, as Hive writes it.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// How an export divides blocks into partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionBy {
    /// By files of the source, or by 100,000 numbers. All files are in one folder.
    #[default]
    Source,
    /// By so many numbers. Each partition is a folder, as Hive names them.
    Blocks(NonZeroU64),
    /// By the day of the timestamp, in UTC. Each partition is a folder, as Hive names them.
    Date,
}

impl PartitionBy {
    /// The partition of a block; `seconds` is its timestamp, `source` its partition by source.
    pub(crate) fn of(
        self,
        block: u64,
        seconds: impl FnOnce() -> u64,
        source: impl FnOnce() -> Partition,
    ) -> Partition {
        match self {
            Self::Source => source(),
            Self::Blocks(size) => {
                let first = block - block % size;
                Partition::Range { first, last: first.saturating_add(size.get() - 1) }
            }
            Self::Date => Partition::Date(date(seconds())),
        }
    }
}

/// The day of a moment; none after the year 9999, which no date has.
fn date(seconds: u64) -> Option<NaiveDate> {
    let moment = DateTime::from_timestamp(seconds.try_into().ok()?, 0)?;
    Some(moment.date_naive()).filter(|date| date.year() <= 9999)
}

impl FromStr for PartitionBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let other = || Error::PartitionBy { found: text.into() };
        match text.split_once('=') {
            None if text == DATE => Ok(Self::Date),
            Some((BLOCKS, size)) => size.parse().map(Self::Blocks).map_err(|_| other()),
            _ => Err(other()),
        }
    }
}

impl Display for PartitionBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => f.write_str("source"),
            Self::Blocks(size) => write!(f, "{BLOCKS}={size}"),
            Self::Date => f.write_str(DATE),
        }
    }
}

/// The partition of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partition {
    /// The blocks of one source file.
    File(Arc<Path>),
    /// The blocks from `n * 100,000` on.
    Span(u64),
    /// The blocks of these numbers, in a folder.
    Range {
        /// The first number.
        first: u64,
        /// The last number.
        last: u64,
    },
    /// The blocks of one day, in a folder; none for timestamps that no date has.
    Date(Option<NaiveDate>),
}

impl Partition {
    /// The partition of a block in a source that is partitioned by number.
    #[must_use]
    pub fn span_of(block: u64) -> Self {
        Self::Span(block / SPAN)
    }

    /// The path of a file of `table` in the folder of an export: a partition that is a folder has
    /// its name and value as Hive writes them, below a folder for the table.
    #[must_use]
    pub(crate) fn path(&self, table: &Table, file: &str) -> String {
        let folder = match self {
            Self::File(_) | Self::Span(_) => return file.into(),
            Self::Range { first, last } => format!("block_range={first:09}-{last:09}"),
            Self::Date(Some(date)) => format!("date={}", date.format("%Y-%m-%d")),
            Self::Date(None) => format!("date={NO_VALUE}"),
        };
        format!("{}/{folder}/{file}", table.name)
    }
}

/// Where the files of a table will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// How many, if that is known before.
    pub files: Option<u64>,
    /// The path of the only one, or its form.
    pub path: String,
}

/// Where an export writes the files of `table` with the blocks of a range, of which the end may not
/// be known. `sources` is the number of source files that are a partition each.
#[must_use]
pub fn place_of(
    by: PartitionBy,
    table: &Table,
    (first, last): (u64, Option<u64>),
    chain: &str,
    form: Form,
    sources: Option<usize>,
) -> Place {
    let spans = |size: u64| {
        let count = |last: u64| (last / size).saturating_sub(first / size).saturating_add(1);
        last.map(|last| if last < first { 0 } else { count(last) })
    };
    let (files, folder) = match (by, sources) {
        (PartitionBy::Source, Some(files)) => (Some(files as u64), None),
        (PartitionBy::Source, None) => (spans(SPAN), None),
        (PartitionBy::Blocks(size), _) => (spans(size.get()), Some("block_range=FIRST-LAST")),
        (PartitionBy::Date, _) => (None, Some("date=YYYY-MM-DD")),
    };
    let path = match (files, last) {
        (Some(1), Some(last)) => {
            let name = file_name(chain, table.name, (first, last), form.names);
            by.of(first, || 0, || Partition::span_of(first)).path(table, &name)
        }
        _ => {
            let name = name_of(chain, table.name, ["FIRST", "LAST"], form.names);
            folder.map_or_else(|| name.clone(), |folder| format!("{}/{folder}/{name}", table.name))
        }
    };
    Place { files, path }
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
pub(crate) fn file_name(chain: &str, table: &str, range: (u64, u64), names: Names) -> String {
    let (first, last) = range;
    let ends = match names {
        Names::Etl => [first, last].map(|number| format!("{number:09}")),
        Names::Cryo => [first, last].map(|number| format!("{number:08}")),
    };
    name_of(chain, table, ends.each_ref().map(String::as_str), names)
}

fn name_of(chain: &str, table: &str, [first, last]: [&str; 2], names: Names) -> String {
    let chain = plain(chain);
    match names {
        Names::Etl => format!("{chain}-{table}-{first}-{last}.parquet"),
        Names::Cryo => {
            let network = if chain == "mainnet" { "ethereum" } else { &chain };
            format!("{network}__{table}__{first}_to_{last}.parquet")
        }
    }
}

/// The blocks that a file of this name has, if it is the name of a file of `table`.
pub(crate) fn range_of(chain: &str, table: &str, name: &str) -> Option<(u64, u64)> {
    let stem = name.strip_suffix(".parquet")?;
    let number = |digits: &str| digits.parse().ok();
    let (rest, last) = stem.rsplit_once("_to_").or_else(|| stem.rsplit_once('-'))?;
    let (_, first) = rest.rsplit_once("__").or_else(|| rest.rsplit_once('-'))?;
    let range = (number(first)?, number(last)?);
    let is_name = |names| file_name(chain, table, range, names) == name;
    [Names::Etl, Names::Cryo].into_iter().any(is_name).then_some(range)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(by: &str, block: u64, seconds: u64) -> String {
        let by: PartitionBy = by.parse().unwrap();
        let partition = by.of(block, || seconds, || Partition::span_of(block));
        partition.path(&crate::schema::LARGE_NUMBER, "x.parquet")
    }

    #[test]
    fn folders_have_names_and_values_as_hive_writes_them() {
        let range = |block| of("blocks=10000", block, 0);
        assert_eq!(range(0), "large_numbers/block_range=000000000-000009999/x.parquet");
        assert_eq!(range(19_999), "large_numbers/block_range=000010000-000019999/x.parquet");
        assert!(range(u64::MAX).contains("=18446744073709550000-18446744073709551615/"));
        let day = |seconds| of("date", 7, seconds);
        assert_eq!(day(0), "large_numbers/date=1970-01-01/x.parquet");
        assert_eq!(day(1_709_251_199), "large_numbers/date=2024-02-29/x.parquet");
        assert_eq!(day(253_402_300_799), "large_numbers/date=9999-12-31/x.parquet");
        for seconds in [253_402_300_800, i64::MAX as u64, u64::MAX] {
            assert_eq!(day(seconds), format!("large_numbers/date={NO_VALUE}/x.parquet"));
        }
    }

    #[test]
    fn names_of_files_have_their_range() {
        for (chain, table) in [("mainnet", "blocks"), ("a-b c", "code_diffs"), ("x", "a-1-2")] {
            for names in [Names::Etl, Names::Cryo] {
                for range in [(0, 0), (100_000, 199_999), (8_192, 12_345_678_901)] {
                    let name = file_name(chain, table, range, names);
                    assert_eq!(range_of(chain, table, &name), Some(range), "{name}");
                    assert_eq!(range_of(chain, "other", &name), None, "{name}");
                    assert_eq!(range_of(chain, table, &format!("{name}.parquet")), None);
                }
            }
        }
        for name in ["mainnet-blocks-1-2.parquet", "mainnet-blocks-.parquet", "x.parquet", ""] {
            assert_eq!(range_of("mainnet", "blocks", name), None, "{name}");
        }
    }

    #[test]
    fn what_is_no_partitioning_is_refused() {
        for text in ["", "blocks", "blocks=0", "blocks=-1", "blocks=x", "day", "source", "date=1"] {
            let error = text.parse::<PartitionBy>().unwrap_err().to_string();
            assert!(error.contains("expected blocks=N or date"), "{error}");
        }
        for text in ["date", "blocks=1", "blocks=18446744073709551615"] {
            assert_eq!(text.parse::<PartitionBy>().unwrap().to_string(), text);
        }
    }
}
