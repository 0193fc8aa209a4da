//! The commands with typed options; each returns its answer, and fails with an answer, too.

use super::{BlockSender, VerifyOptions};
use crate::answer::Answer;
use crate::args::Inspect;
use crate::import::{self, Run};
use crate::{ethereum, inspect as inspection, outputs};
use anyhow::{Result, ensure};
use std::path::Path;

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
        let paths = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
        inspection::run(&Inspect::of(paths, deep), true)
    })
}
