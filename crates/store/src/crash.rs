//! Points of the commit protocol at which a process can die.

/// Points of a commit of a [`crate::Store`] at which a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPoint {
    /// A table has written half of its changes.
    HalfRun,
    /// All parts have written what they hold; the manifest does not name it.
    AfterParts,
    /// Half of the new manifest is written, under its temporary name.
    HalfManifest,
    /// The new manifest is written and synced, under its temporary name.
    BeforeRename,
    /// The new manifest has its name; the folder is not synced.
    AfterRename,
    /// The commit counts; files that it replaces are still there.
    BeforeRemoval,
}

impl CommitPoint {
    /// All of them, for tests that go through every one.
    pub const ALL: [CommitPoint; 6] = [
        CommitPoint::HalfRun,
        CommitPoint::AfterParts,
        CommitPoint::HalfManifest,
        CommitPoint::BeforeRename,
        CommitPoint::AfterRename,
        CommitPoint::BeforeRemoval,
    ];
}

/// Which point ends the process, and how often it is passed before.
#[derive(Debug)]
pub(crate) struct CrashPlan(pub Option<(CommitPoint, u32)>);

impl CrashPlan {
    /// Whether the process dies here.
    pub fn is_due(&mut self, point: CommitPoint) -> bool {
        match &mut self.0 {
            Some((planned, 0)) => *planned == point,
            Some((planned, left)) if *planned == point => {
                *left -= 1;
                false
            }
            _ => false,
        }
    }
}
