//! Neo in a program without the feature `neo`.

use crate::absent::absent;
use crate::answer::Answer;
use anyhow::Result;
use blockmill_verdict::{FaultReport, Status};
use std::path::Path;

const FEATURE: &str = "neo";

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

/// The chain is not built.
pub fn other_chain<T>(_: String, _: String) -> Result<T> {
    absent(FEATURE)
}

pub mod check {
    use super::*;
    use crate::check::{Checked, Watch};

    pub fn check<'a>(
        _: &Path,
        _: usize,
        _: bool,
        _: impl Fn(u64) -> Watch<'a>,
    ) -> Result<(Checked, bool)> {
        absent(FEATURE)
    }
}

pub mod convert {
    use super::*;
    use crate::args::Convert;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Convert, _: bool, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
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
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Asked<'_>, _: Run) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn describe(_: &Asked<'_>, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod generate {
    use super::*;
    use crate::args::GenerateNeo;

    pub fn run(_: &GenerateNeo, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod neo_go_database {
    use super::*;
    use crate::args::Convert;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Convert, _: bool, _: &Cancel) -> Result<Answer> {
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

pub mod query {
    use super::*;
    use crate::args::Inspect;

    pub fn run(_: &Path, _: &Inspect, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod unwind {
    use super::*;
    use crate::unwind::Unwound;
    use blockmill_pipeline::Cancel;

    pub fn unwind(_: &Path, _: u64, _: &Cancel) -> Result<Option<Unwound>> {
        absent(FEATURE)
    }
}
