//! What can go wrong between this machine and a server.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a remote file cannot be found or read. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A URL that does not say where a file is.
    #[error("{url}: expected {expected}, found {found}")]
    Address {
        /// The URL, without secrets.
        url: String,
        /// What a URL should be.
        expected: &'static str,
        /// What it has.
        found: String,
    },
    /// The server says that there is no such file.
    #[error("{url}: no such file on the server")]
    NotFound {
        /// The file.
        url: String,
    },
    /// The server does not accept the credentials, or needs some.
    #[error("{url}: the server refuses access ({reason}); credentials are read from {variables}")]
    Denied {
        /// The file or folder.
        url: String,
        /// Environment variables.
        variables: &'static str,
        /// What the server answered.
        reason: String,
    },
    /// The file is another one than when it was found.
    #[error("{url} changed on the server while it was read: expected {expected}, found {found}")]
    Changed {
        /// The file.
        url: String,
        /// ETag and length when it was found.
        expected: String,
        /// What is there now.
        found: String,
    },
    /// A server without listings.
    #[error(
        "{url}: the server does not list its files ({reason}); give --manifest with a list of \
         their names, or the URL of one file"
    )]
    NoListing {
        /// The folder.
        url: String,
        /// What the server answered.
        reason: String,
    },
    /// More files than a run can have.
    #[error("{url}: expected a folder of at most {most} files, found more")]
    TooMany {
        /// The folder.
        url: String,
        /// The limit.
        most: usize,
    },
    /// The server sends less than it announces.
    #[error("{url} at byte {offset}: expected {expected} bytes from the server, found {found}")]
    Truncated {
        /// The file.
        url: String,
        /// Where the range begins.
        offset: u64,
        /// Bytes of the range.
        expected: u64,
        /// Bytes that came.
        found: u64,
    },
    /// The server serves whole files only.
    #[error("{url}: the server does not serve ranges of files; download the file, and give it")]
    NoRanges {
        /// The file.
        url: String,
    },
    /// Another answer, or none, after all retries.
    #[error("{url}: {reason}")]
    Failed {
        /// The file or folder.
        url: String,
        /// What was answered last.
        reason: String,
    },
    /// A line of a manifest is no name of a file.
    #[error("{path} line {line}: expected a name, or a hash and a name, found {found:?}")]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What the line has.
        found: String,
    },
    /// The cache folder or a manifest cannot be used.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
    /// No threads for requests.
    #[error("cannot start threads for remote files: {reason}")]
    Threads {
        /// What the system says.
        reason: String,
    },
    /// The user asked to stop.
    #[error("stopped as asked")]
    Stopped,
}

impl Error {
    /// For `map_err` of operations of the system.
    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path: path.clone(), source: Arc::new(source) }
    }

    /// The kind that decides about the exit code: an absent file is an error of usage, all others
    /// are of the environment.
    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound { .. } => io::ErrorKind::NotFound,
            Self::Address { .. } | Self::NoListing { .. } | Self::Manifest { .. } => {
                io::ErrorKind::InvalidInput
            }
            Self::Denied { .. } => io::ErrorKind::PermissionDenied,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => source.kind(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => source.kind(),
            _ => io::ErrorKind::Other,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}
