//! Bitcoin in a program without the feature `bitcoin`.

use crate::absent::absent;
use crate::answer::Answer;
use anyhow::Result;
use blockmill_verdict::{FaultReport, Status};
use std::path::Path;

const FEATURE: &str = "bitcoin";

type Cause = dyn std::error::Error + 'static;

/// No cause is one of this chain.
pub fn status_of(_: &Cause) -> Option<Status> {
    None
}

/// No cause is one of this chain.
pub fn report_of(_: &Cause) -> Option<FaultReport> {
    None
}

/// Returns whether the folder holds a store of this chain. Such a store is not recognised.
pub fn is_store(_: &Path) -> Result<bool> {
    Ok(false)
}

/// A datadir is not recognised either.
pub fn is_datadir(_: &Path) -> bool {
    false
}

pub mod check {
    use super::*;
    use crate::check::{Checked, Watch};

    pub fn check<'a>(_: &Path, _: bool, _: impl Fn(u64) -> Watch<'a>) -> Result<(Checked, bool)> {
        absent(FEATURE)
    }
}

pub mod coins {
    use super::*;

    pub fn run(_: &Path, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod convert {
    use super::*;
    use crate::args::Convert;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Convert, _: (), _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    /// Stands for what writes a datadir.
    #[allow(non_upper_case_globals, reason = "the name of a function")]
    pub const datadir: () = ();
    /// Stands for what writes block files.
    #[allow(non_upper_case_globals, reason = "the name of a function")]
    pub const block_files: () = ();
    /// Stands for what writes headers.
    #[allow(non_upper_case_globals, reason = "the name of a function")]
    pub const headers: () = ();
}

pub mod demo {
    use super::*;
    use crate::demo::Steps;

    /// A demo has the chains that are built.
    pub fn run(_: &Steps<'_>, _: &Path) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "export")]
pub mod export {
    use super::*;
    use crate::export::Asked;
    use crate::import::Run;
    use crate::shard::Documents;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Asked<'_>, _: Run) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn describe(_: &Asked<'_>, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn of_shard(_: &Asked<'_>, _: Option<&Documents<'_>>, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod generate {
    use super::*;
    use crate::args::GenerateBitcoin;

    pub fn run(_: &GenerateBitcoin, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod import {
    use super::*;
    use crate::args::{Import, Verification};
    use crate::import::Run;

    pub fn import(_: &Import, _: Run) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn verify(_: &Verification, _: Run) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod inspect {
    use super::*;
    use crate::args::Inspect;

    pub fn run(_: &Inspect, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod network {
    /// No network is one of this chain.
    pub fn is_named(_: &str) -> bool {
        false
    }
}

pub mod sources {
    use super::*;
    use crate::args::Command;
    use std::path::PathBuf;

    /// There are no stores of this chain among the paths of a command.
    pub fn resolve(_: &mut Command) -> Result<()> {
        Ok(())
    }

    /// There are no stores of this chain among the paths.
    pub fn replaced(_: &mut Vec<PathBuf>) -> Result<Vec<PathBuf>> {
        Ok(vec![])
    }
}

pub mod shard {
    use super::*;
    use crate::args::Verification;
    use crate::shard::Documents;
    use blockmill_pipeline::Cancel;
    use std::path::PathBuf;

    /// Unspent coins are not recognised.
    pub fn is_of_coins(_: &[PathBuf]) -> Result<bool> {
        Ok(false)
    }

    pub fn verify(
        _: &Verification,
        _: Option<&Documents<'_>>,
        _: bool,
        _: Cancel,
    ) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn merge(
        _: &Verification,
        _: &[PathBuf],
        _: &[Documents<'_>],
        _: bool,
        _: Cancel,
    ) -> Result<Answer> {
        absent(FEATURE)
    }
}
