//! What a run is asked to do, and what it tells while it does it.

use crate::params::Params;
use crate::variants::Variants;
use crate::{Hash, Level};
use pipeline::Cancel;

/// What to verify, and how.
#[derive(Clone)]
pub struct Options {
    /// The network.
    pub params: Params,
    /// How deep.
    pub level: Level,
    /// Settings of the switches.
    pub variants: Variants,
    /// Threads that scan, verify and run scripts.
    pub threads: usize,
    /// Bytes of memory for coins that are not on disk yet, and for finding those that are.
    pub memory: u64,
    /// The scripts of this block and of those before it are taken as valid.
    pub assume_valid: Option<Hash>,
    /// Last height to connect; none for the best chain's last.
    pub until: Option<u32>,
    /// The present, in seconds since 1970: blocks from the future are refused.
    pub now: Option<u64>,
    /// Set by whoever wants the run to stop.
    pub cancel: Cancel,
}

/// How far a run has come; reported after each batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Height of the last block that was verified.
    pub height: u32,
    /// Blocks so far in this run.
    pub blocks: u64,
    /// Bytes of blocks read so far.
    pub bytes: u64,
}
