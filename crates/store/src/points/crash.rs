//! Places in the commit protocol where a process can die.

use crate::error::{Error, Result};

/// Places in the commit of a [`crate::PointStore`] where a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCrash {
    /// A flush has written half of its entries.
    HalfRun,
    /// A flush has written its run; the manifest does not name it.
    AfterRun,
    /// Half of the new manifest is written, under its temporary name.
    HalfManifest,
    /// The new manifest is written and synced, under its temporary name.
    BeforeRename,
    /// The new manifest has its name; the folder is not synced.
    AfterRename,
    /// The commit counts; files that were merged away are still there.
    BeforeRemoval,
}

impl PointCrash {
    /// All of them, for tests that go through every one.
    pub const ALL: [PointCrash; 6] = [
        PointCrash::HalfRun,
        PointCrash::AfterRun,
        PointCrash::HalfManifest,
        PointCrash::BeforeRename,
        PointCrash::AfterRename,
        PointCrash::BeforeRemoval,
    ];
}

/// Which crash point ends the run, and how often it is passed before.
#[derive(Debug)]
pub(crate) struct PointCrashPlan(pub Option<(PointCrash, u32)>);

impl PointCrashPlan {
    /// Whether the run ends here.
    pub fn is_due(&mut self, point: PointCrash) -> bool {
        match &mut self.0 {
            Some((planned, 0)) => *planned == point,
            Some((planned, left)) if *planned == point => {
                *left -= 1;
                false
            }
            _ => false,
        }
    }

    /// Ends the run here if that is the plan: files stay exactly as they are.
    pub fn reach(&mut self, point: PointCrash) -> Result<()> {
        if self.is_due(point) { Err(Error::PointCrash(point)) } else { Ok(()) }
    }
}
