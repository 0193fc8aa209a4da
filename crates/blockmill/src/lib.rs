//! Verifies raw Ethereum, Bitcoin and Neo archives, and reads their verified blocks.
//!
//! Options, verdicts and messages are those of the program `blockmill`. The functions print
//! warnings only, handle no signals, and read no config file.
//!
//! # Verify an archive
//!
//! ```
//! use blockmill::{Level, VerifyOptions, verify};
//!
//! # let folder = tempfile::tempdir()?;
//! # let archive = folder.path().join("headers.rlp");
//! # let format = blockmill::archive::Format::HeaderStream;
//! # let recipe = blockmill_generate::ethereum::Recipe { last: 100, seed: 1, format, gzip: false };
//! # blockmill_generate::ethereum::generate(&recipe, &archive, |_| ())?;
//! // a generated chain has no proof of work
//! let options = VerifyOptions {
//!     level: Some(Level::Headers),
//!     seal: Some("off".into()),
//!     ..VerifyOptions::default()
//! };
//! let verified = verify(&[&archive], &options)?;
//! assert_eq!((verified.first(), verified.last()), (Some(0), Some(100)));
//!
//! let outcome = verify(&["no/such/file"], &options).unwrap_err();
//! assert_eq!(outcome.status, blockmill::Status::Usage);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read verified blocks
//!
//! ```
//! use blockmill::{VerifyOptions, blocks};
//!
//! # let folder = tempfile::tempdir()?;
//! # let archive = folder.path().join("headers.rlp");
//! # let format = blockmill::archive::Format::HeaderStream;
//! # let recipe = blockmill_generate::ethereum::Recipe { last: 100, seed: 1, format, gzip: false };
//! # blockmill_generate::ethereum::generate(&recipe, &archive, |_| ())?;
//! let options = VerifyOptions { seal: Some("off".into()), ..VerifyOptions::default() };
//! let mut reader = blocks(&[&archive], &options);
//! let bytes: usize = reader.by_ref().map(|block| block.header.len()).sum();
//! // only now they are known to be the blocks of a complete and valid chain
//! let verified = reader.finish()?;
//! assert_eq!(verified.blocks(), 101);
//! assert!(bytes > 50_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Describe an archive
//!
//! ```
//! use blockmill::{Contents, inspect};
//!
//! # let folder = tempfile::tempdir()?;
//! # let archive = folder.path().join("headers.rlp");
//! # let format = blockmill::archive::Format::HeaderStream;
//! # let recipe = blockmill_generate::ethereum::Recipe { last: 100, seed: 1, format, gzip: false };
//! # blockmill_generate::ethereum::generate(&recipe, &archive, |_| ())?;
//! let deep = true;
//! let inspection = inspect(&[&archive], deep)?;
//! if let Contents::Ethereum(found) = &*inspection.contents {
//!     assert_eq!(found.files[0].last, Some(100));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]

pub use blockmill_archive as archive;
pub use blockmill_cli::library::{
    BitcoinFiles, Block, BlockId, Blocks, Contents, Inspection, NeoDumps, Outcome, Verified,
    VerifyOptions, blocks, inspect, verify,
};
pub use blockmill_pipeline::Cancel;
pub use blockmill_pipeline::record;
pub use blockmill_verdict::{FaultReport, Level, Shortfall, ShortfallKind, Status};
