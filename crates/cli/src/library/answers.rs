//! The commands with typed options; each returns its answer, and fails with an answer, too.

use super::{BlockSender, VerifyOptions};
use crate::answer::Answer;
use crate::args::{Inspect, Remote};
use crate::import::{self, Run};
use crate::shard::{self, Documents};
use crate::{ethereum, inspect as inspection, outputs, remote};
use anyhow::{Result, ensure};
use std::ops::Deref;
use std::path::{Path, PathBuf};

#[cfg(feature = "export")]
pub use super::tables::{ColumnInfo, Tables, columns, export, export_shard, read};

/// The source of the summary before a shard, for messages.
const AFTER: &str = "after";
/// The source of the summaries of a merge, for messages.
const SUMMARIES: &str = "summaries";
/// Replaces the paths of a command that is given documents instead.
const IN_MEMORY: &str = "-";

/// Runs `work` and returns its answer, or the answer that its error means.
pub(super) fn answered(work: impl FnOnce() -> Result<Answer>) -> Answer {
    ethereum::register();
    work().unwrap_or_else(|error| Answer::failed(&error))
}

/// `blockmill verify`. The result is a run record.
pub fn verify(paths: &[impl AsRef<Path>], options: &VerifyOptions) -> Answer {
    verify_for(paths, options, None)
}

/// The same for a program that receives the blocks.
pub(super) fn verify_for(
    paths: &[impl AsRef<Path>],
    options: &VerifyOptions,
    blocks: Option<BlockSender>,
) -> Answer {
    answered(|| {
        let asked = options.verification(paths)?;
        outputs::record(asked.record.as_deref(), &asked.paths, asked.force)?;
        let (record, cancel) = (asked.record.clone(), options.cancel.clone());
        let mut run = Run::new(&asked, "verify", record, true, cancel)?;
        run.blocks = blocks;
        import::verify(&asked, run)
    })
}

/// `blockmill inspect` of archives or a store. The result is its contents.
pub fn inspect(paths: &[impl AsRef<Path>], deep: bool) -> Answer {
    answered(|| {
        ensure!(!paths.is_empty(), "expected paths, found none");
        let paths: Vec<_> = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
        let _mounted = remote::mount(&paths, &Remote::default())?;
        inspection::run(&Inspect::whole(paths, deep), true)
    })
}

/// `blockmill verify --shard`, with the documents of `after`. The result is the shard summary.
pub fn verify_shard(
    paths: &[impl AsRef<Path>],
    after: Option<&str>,
    options: &VerifyOptions,
) -> Answer {
    answered(|| {
        let asked = options.verification(paths)?;
        shard::verify(&asked, documents(after)?.as_ref(), true, options.cancel.clone())
    })
}

/// The documents of `after`.
pub(super) fn documents(after: Option<&str>) -> Result<Option<Documents<'_>>> {
    after.map(|text| Documents::new(AFTER, text)).transpose()
}

/// `blockmill verify --merge` of these summaries, each the text of one or several documents. `of`
/// is the archive that shards of Bitcoin block files are parts of; empty if it has no other files.
/// The result is the summary of all shards, or the documents that are still to be verified.
pub fn merge<T: Deref<Target = str>>(
    summaries: &[T],
    of: &[PathBuf],
    options: &VerifyOptions,
) -> Answer {
    answered(|| {
        let shards = summaries.iter().map(|shard| Documents::new(SUMMARIES, shard));
        let shards = shards.collect::<Result<Vec<_>>>()?;
        let asked = options.verification(&[IN_MEMORY])?;
        shard::merge(&asked, of, &shards, true, options.cancel.clone())
    })
}
