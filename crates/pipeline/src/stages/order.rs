//! Whether stages overlap.

crate::named_option! {
    /// Whether the stages of the import (read, check, execute, write) run one after the other or at
    /// the same time.
    pub enum StageOrder: "stages" {
        /// One chunk of blocks passes all stages before the next one is read.
        Serial = "serial",
        /// Stages process different chunks at the same time, on the threads of the run.
        Overlapped = "overlapped",
    }
}

impl StageOrder {
    /// Threads of the pipeline for a run with `threads` threads; 0 runs all stages on the caller's.
    #[must_use]
    pub fn threads(self, threads: usize) -> usize {
        match self {
            Self::Serial => 0,
            Self::Overlapped => threads.max(1),
        }
    }
}
