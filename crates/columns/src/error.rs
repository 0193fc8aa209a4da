//! What can stop an export.

use crate::rows::Overflow;
use chain::Status;
use pipeline::NotMade;

/// Why tables cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A number that its column has no room for.
    #[error("{} of {table}: block {block}{}: expected {}, found {}",
        overflow.column, of_row(*row), overflow.expected, overflow.found)]
    Overflow {
        /// The table.
        table: &'static str,
        /// The block's number or height.
        block: u64,
        /// Which of its rows in the table, from 0; none where a block is a row.
        row: Option<u64>,
        /// Column and number.
        overflow: Overflow,
    },
    /// Blocks that do not have what a table consists of.
    #[error("--tables {table}: expected blocks with {expected}, found block {block} without")]
    Lacks {
        /// The table.
        table: &'static str,
        /// What it needs.
        expected: &'static str,
        /// The first block that does not have it.
        block: u64,
    },
    /// A table that this chain, or this level, does not have.
    #[error("--tables {found}: expected {expected}")]
    Table {
        /// What there is.
        expected: String,
        /// What was asked for.
        found: String,
    },
    /// A file that is not one of these tables.
    #[error("{file}: expected {expected}, found {found}")]
    Column {
        /// The file, or what else was read.
        file: String,
        /// The column or value.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Parquet cannot be written or read.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Columns do not fit their schema.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    /// A file cannot be written.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// Whoever read the rows has stopped.
    #[error("nobody reads the rows any more")]
    NoReader,
    /// A source cannot be read.
    #[error("{file}: {error}")]
    Source {
        /// The source.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
}

/// The error as chains tell it.
pub(crate) fn not_made(error: Error) -> NotMade {
    NotMade { status: error.status(), message: error.to_string() }
}

fn of_row(row: Option<u64>) -> String {
    row.map(|row| format!(", row {row}")).unwrap_or_default()
}

impl Error {
    /// What the error says of the blocks, the question or this machine.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Overflow { .. } | Self::Lacks { .. } | Self::Table { .. } => Status::Usage,
            Self::Column { .. } | Self::Arrow(_) => Status::Damage,
            Self::Parquet(parquet::errors::ParquetError::External(error)) => {
                let io = error.downcast_ref::<std::io::Error>();
                io.map_or(Status::Damage, Status::of_io)
            }
            Self::Parquet(_) => Status::Damage,
            Self::NoReader => Status::Interrupted,
            Self::Archive(error) => error.status(),
            Self::Source { error, .. } => Status::of_io(error),
        }
    }
}
