//! What a run tells while it does its work.

/// How far a run has come; reported after each batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Number or height of the last block that was verified.
    pub number: u64,
    /// Blocks so far in this run.
    pub blocks: u64,
    /// Bytes of the archive so far; of a chain in any order those of its blocks up to this one,
    /// those of earlier runs included.
    pub bytes: u64,
    /// Bytes that there are, where that is known better than by the size of the files.
    pub total_bytes: Option<u64>,
    /// The last block that the store has committed; none where nothing is stored, or not known.
    pub committed: Option<u64>,
}
