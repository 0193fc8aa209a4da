//! Points of an append and of a commit at which a process can die.

/// Places in the protocol of a store where a process can die. The first five are those of
/// [`crate::ChainStore::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Half of a column's bytes are written.
    HalfData,
    /// The bytes of a column are written, their ends are not.
    AfterData,
    /// A column is written, ends included.
    AfterColumn,
    /// The hashes of a chunk are written.
    AfterHashes,
    /// The chunk is written, index runs included.
    AfterIndex,
    /// A commit of a chain begins.
    BeforeCommit,
    /// A table has written half of its changes.
    HalfRun,
    /// Half of the pages of a checkpoint are written, or of the last ones that wait together.
    HalfPages,
    /// The pages of a checkpoint are written and synced, their references are not.
    AfterPages,
    /// Changed references of pages, or a share of all references, are written without their header.
    HalfReferences,
    /// All parts have written and synced their data; no manifest names it.
    AfterParts,
    /// Half of the new manifest is written, under its temporary name.
    HalfManifest,
    /// The new manifest is written and synced, under its temporary name.
    BeforeRename,
    /// The new manifest has its name; the folder is not synced.
    AfterRename,
    /// Half of a light commit, or of the copy of a manifest, is written.
    HalfLight,
    /// A light commit, or the copy of a manifest, is written.
    AfterLight,
    /// The commit counts; files that it replaces and bytes that it removes still exist.
    BeforeRemoval,
    /// One part has removed what it does not need any more; the next one has not.
    HalfRemoval,
    /// The blocks of a chain are cut off, their index is not.
    HalfCut,
}

impl CrashPoint {
    /// All of them, for tests that go through every one.
    pub const ALL: [CrashPoint; 19] = [
        CrashPoint::HalfData,
        CrashPoint::AfterData,
        CrashPoint::AfterColumn,
        CrashPoint::AfterHashes,
        CrashPoint::AfterIndex,
        CrashPoint::BeforeCommit,
        CrashPoint::HalfRun,
        CrashPoint::HalfPages,
        CrashPoint::AfterPages,
        CrashPoint::HalfReferences,
        CrashPoint::AfterParts,
        CrashPoint::HalfManifest,
        CrashPoint::BeforeRename,
        CrashPoint::AfterRename,
        CrashPoint::HalfLight,
        CrashPoint::AfterLight,
        CrashPoint::BeforeRemoval,
        CrashPoint::HalfRemoval,
        CrashPoint::HalfCut,
    ];
}

/// Which point ends the process, and how often it is passed before.
#[derive(Debug)]
pub(crate) struct CrashPlan(pub Option<(CrashPoint, u32)>);

impl CrashPlan {
    /// Whether the process dies here.
    pub fn is_due(&mut self, point: CrashPoint) -> bool {
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
