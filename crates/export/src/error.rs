//! What can stop an export.

use blockmill_verdict::{ConsumerError, Status};

/// Why tables cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    #[error("--tables: expected {expected}, found {found}{hint}")]
    Table {
        /// What there is.
        expected: String,
        /// What was asked for.
        found: String,
        /// The chain that has it, the question whether another name was meant, or nothing.
        hint: String,
    },
    /// A word that no partitioning has.
    #[error("--partition: expected blocks=N or date, found {found}")]
    PartitionBy {
        /// What was asked for.
        found: String,
    },
    /// An export that this run does not continue.
    #[error("{folder}: expected {expected}, found {found}")]
    Continued {
        /// Its folder.
        folder: String,
        /// What the export has.
        expected: String,
        /// What this run has.
        found: String,
    },
    /// The archive has another block in place of the last one of an export.
    #[error(
        "--append: expected {expected} as block {block}, the last one of the export, found {found}"
    )]
    OtherChain {
        /// The number of the block.
        block: u64,
        /// Its hash in the export.
        expected: String,
        /// Its hash in the archive.
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
    Archive(#[from] blockmill_archive::Error),
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

impl From<Error> for ConsumerError {
    fn from(error: Error) -> Self {
        Self { status: error.status(), message: error.to_string() }
    }
}

impl Error {
    /// What the error says of the blocks, the question or this machine.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Lacks { .. } | Self::Table { .. } => Status::Usage,
            Self::PartitionBy { .. } | Self::Continued { .. } | Self::OtherChain { .. } => {
                Status::Usage
            }
            Self::Column { .. } | Self::Arrow(_) => Status::Corrupt,
            Self::Parquet(parquet::errors::ParquetError::External(error)) => {
                let io = error.downcast_ref::<std::io::Error>();
                io.map_or(Status::Corrupt, Status::of_io)
            }
            Self::Parquet(_) => Status::Corrupt,
            Self::NoReader => Status::Interrupted,
            Self::Archive(error) => error.status(),
            Self::Source { error, .. } => Status::of_io(error),
        }
    }
}
