//! The block index as Bitcoin Core builds it, before and after its pull request 16981, and simpler
//! ways to read headers.
//!
//! All find the same blocks in the same order as the product's
//! [`HeaderScan`](blockmill_bitcoin::index::scan::HeaderScan).

mod accept;
mod files;
mod look_back;
mod order;
mod source;
mod waiting;

use super::BaselineOption;
use anyhow::{Result, bail};
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFile, BlockFiles};
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::index::scan::{FindBlocks, Scan};
use blockmill_pipeline::Cancel;
pub use order::Order;
use std::io;

/// The options, the plainest value of each first.
pub const OPTIONS: [BaselineOption; 5] = [
    BaselineOption {
        name: "first-read",
        values: &["block", "header"],
        about: "read and decode a whole block or only its header before its parent is looked up \
                (Bitcoin Core PR 16981)",
        said: &["Reads and decodes a whole block", "Reads and decodes the header of a block"],
    },
    BaselineOption {
        name: "look-back",
        values: &["0", "8M", "32M", "640M"],
        about: "keep this many of the bytes read last, so that blocks whose parents come late are \
                not read again; with accept=block scan=serial (Bitcoin Core PR 16981, first \
                version)",
        said: &[
            "Keeps none of the bytes read last",
            "Keeps the last 8 MB",
            "Keeps the last 32 MB",
            "Keeps the last 640 MB",
        ],
    },
    BaselineOption {
        name: "accept",
        values: &["block", "header"],
        about: "decode each block once its parent is known, as Bitcoin Core does, or leave bodies \
                to the second pass",
        said: &[
            "Decodes each block when its parent is known",
            "Links headers; bodies are read in the second pass",
        ],
    },
    BaselineOption {
        name: "read",
        values: &["stream", "map", "positioned"],
        about: "find records by reading all bytes, in a memory map, or by reads of frame and \
                header",
        said: &[
            "Reads all bytes",
            "Maps the files into memory",
            "Reads frames and headers at their positions",
        ],
    },
    BaselineOption {
        name: "scan",
        values: &["serial", "parallel"],
        about: "read the files one after the other or several at once",
        said: &["Reads one file after the other", "Reads several files at once"],
    },
];

/// A way to find and order the blocks of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Reads and decodes each block when it is found, not only its header.
    pub whole_block_first: bool,
    /// Bytes of blocks that are kept until their parents are found.
    pub look_back: u64,
    /// Decodes each block when its parent is known.
    pub accept_blocks: bool,
    /// Where the bytes come from.
    pub read: Read,
    /// Reads several files at once.
    pub parallel: bool,
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// All bytes, one large piece after the other.
    Stream,
    /// Frames and headers in a memory map.
    Map,
    /// Frames and headers, each by a positioned read.
    Positioned,
}

/// The product's way.
impl Default for Baseline {
    fn default() -> Self {
        Self {
            whole_block_first: false,
            look_back: 640 << 20,
            accept_blocks: false,
            read: Read::Positioned,
            parallel: true,
        }
    }
}

impl Baseline {
    /// Does the product work this way? The look-back matters only where blocks are accepted.
    #[must_use]
    pub fn is_of_product(&self) -> bool {
        let Self { look_back, .. } = Self::default();
        Self { look_back, ..*self } == Self::default()
    }

    /// Applies the assignments `name=value` of `with` that concern this baseline, and returns the
    /// others.
    ///
    /// # Errors
    /// Returns an error if an option of the baseline has no such value.
    pub fn split(with: &[String]) -> Result<(Self, Vec<String>)> {
        let (mut baseline, mut others) = (Self::default(), vec![]);
        for assignment in with {
            if !baseline.set(assignment)? {
                others.push(assignment.clone());
            }
        }
        Ok((baseline, others))
    }

    /// Applies one assignment; false if it concerns no option of the baseline.
    fn set(&mut self, assignment: &str) -> Result<bool> {
        match assignment {
            "first-read=block" => self.whole_block_first = true,
            "first-read=header" => self.whole_block_first = false,
            "look-back=0" => self.look_back = 0,
            "look-back=8M" => self.look_back = 8 << 20,
            "look-back=32M" => self.look_back = 32 << 20,
            "look-back=640M" => self.look_back = 640 << 20,
            "accept=block" => self.accept_blocks = true,
            "accept=header" => self.accept_blocks = false,
            "read=stream" => self.read = Read::Stream,
            "read=map" => self.read = Read::Map,
            "read=positioned" => self.read = Read::Positioned,
            "scan=serial" => self.parallel = false,
            "scan=parallel" => self.parallel = true,
            other => {
                let name = other.split_once('=').map_or(other, |(name, _)| name);
                let Some(option) = OPTIONS.iter().find(|option| option.name == name) else {
                    return Ok(false);
                };
                bail!("unknown option '{other}'; available: {name}={}", option.values.join("|"));
            }
        }
        Ok(true)
    }
}

/// Finds blocks by a [`Baseline`].
#[derive(Debug)]
pub struct BaselineScan {
    /// The baseline.
    pub baseline: Baseline,
    /// Threads that read files, where the baseline reads several at once.
    pub threads: usize,
    /// Blocks with children that need no parent in the files: the genesis block of the network, the
    /// tip of a store. A block without a parent (of hash zero) needs none either.
    pub known: Vec<BlockHash>,
    /// The order in which blocks were accepted; empty unless the baseline accepts blocks.
    pub order: Order,
    /// What the baseline did to accept blocks.
    pub counts: Counts,
}

/// Work done to accept blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks that were decoded from memory when their parents were found.
    pub from_memory: u64,
    /// Blocks that were read again when their parents were found.
    pub from_disk: u64,
    /// Blocks decoded, each time counted.
    pub decoded: u64,
    /// Of which were malformed.
    pub undecodable: u64,
}

impl BaselineScan {
    /// Finds blocks by `baseline` on up to `threads` threads, after the blocks of `known`.
    #[must_use]
    pub fn new(baseline: Baseline, threads: usize, known: Vec<BlockHash>) -> Self {
        let (order, counts) = (Order::default(), Counts::default());
        Self { baseline, threads, known, order, counts }
    }
}

impl FindBlocks for BaselineScan {
    fn find_blocks(&mut self, files: &BlockFiles, cancel: &Cancel) -> Result<Scan, Error> {
        let Baseline { accept_blocks, parallel, .. } = self.baseline;
        (self.order, self.counts) = (Order::default(), Counts::default());
        if accept_blocks && !parallel {
            return accept::load(self, files, cancel);
        }
        let mut scan = files::scan(self, files, cancel)?;
        if accept_blocks {
            self.order = Order::of(&scan.found, &self.known);
            accept::decode_accepted(self, files, &mut scan, cancel)?;
        }
        Ok(scan)
    }
}

fn io_error(file: &BlockFile, action: &'static str, source: io::Error) -> Error {
    Error::Io { path: file.path().to_path_buf(), action, source }
}

/// The user asked to stop.
fn stopped(file: &BlockFile) -> Error {
    io_error(file, "cannot read on", io::ErrorKind::Interrupted.into())
}
