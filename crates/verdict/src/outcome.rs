//! What a run of any chain did, in the notation of its users.

use crate::{FaultReport, Shortfall, Status};
use serde::{Deserialize, Serialize};

/// A block by its number and hash, as messages and documents show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockRef {
    /// Number or height of the block.
    pub number: u64,
    /// Its hash, in the notation of its chain.
    pub hash: String,
}

/// CPU time, in seconds, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Outside the kernel.
    pub user_s: f64,
    /// Inside the kernel.
    pub sys_s: f64,
}

impl CpuTimes {
    /// Both together.
    #[must_use]
    pub fn total_s(self) -> f64 {
        self.user_s + self.sys_s
    }

    /// The part that was used after `earlier`, an earlier reading of the same clock.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_s: (self.user_s - earlier.user_s).max(0.0),
            sys_s: (self.sys_s - earlier.sys_s).max(0.0),
        }
    }
}

/// What a run did, whether it reached the end or not: the part that all chains share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// First and last new block.
    pub range: Option<(u64, u64)>,
    /// Number of new blocks.
    pub blocks: u64,
    /// Bytes of the archive that were read.
    pub bytes: u64,
    /// The last block of the chain now.
    pub tip: Option<BlockRef>,
    /// When it was made, as its header says: seconds since 1970-01-01T00:00:00Z.
    pub tip_time: Option<u64>,
    /// The first block of an archive that begins in the middle of its chain. It is not proven.
    pub anchor: Option<BlockRef>,
    /// The last block that the store had before the run.
    pub resumed: Option<u64>,
    /// The last block of the store, read back after the run.
    pub committed: Option<u64>,
    /// How the run ended.
    pub status: Status,
    /// What stopped the run, or what is corrupt in its input.
    pub fault: Option<FaultReport>,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// When the run began, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// From the first read to the last write, in seconds.
    pub wall_s: f64,
    /// CPU time of the process in the same interval.
    pub cpu: CpuTimes,
}

impl RunOutcome {
    /// Sets how the run ended: with an error, on request, or at the end of the archive, which may
    /// lack something that the user accepts.
    #[must_use]
    pub fn ended(self, error: Option<(Status, FaultReport)>, stopped: bool) -> Self {
        let (status, fault) = match error {
            Some((status, fault)) => (status, Some(fault)),
            None if stopped => (Status::Interrupted, None),
            None if !self.shortfalls.is_empty() => (Status::Partial, None),
            None => (Status::Verified, None),
        };
        Self { status, fault, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShortfallKind;

    #[test]
    fn an_error_decides_before_a_stop_and_a_stop_before_shortfalls() {
        let lacks = Shortfall::new(ShortfallKind::Cut, "cut");
        let outcome = RunOutcome { shortfalls: vec![lacks], ..RunOutcome::default() };
        let error = || Some((Status::Invalid, FaultReport::new("bad")));
        let ended = outcome.clone().ended(error(), true);
        assert_eq!((ended.status, ended.fault), (Status::Invalid, Some(FaultReport::new("bad"))));
        assert_eq!(outcome.clone().ended(None, true).status, Status::Interrupted);
        assert_eq!(outcome.ended(None, false).status, Status::Partial);
        assert_eq!(RunOutcome::default().ended(None, false).status, Status::Verified);
    }
}
