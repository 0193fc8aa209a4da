//! Ethereum in a program without the feature `ethereum`.

use crate::absent::absent;
use crate::answer::Answer;
use anyhow::Result;
use blockmill_verdict::{FaultReport, Shortfall, Status};

const FEATURE: &str = "ethereum";

type Cause = dyn std::error::Error + 'static;

/// No cause is one of this chain.
pub fn status_of(_: &Cause) -> Option<Status> {
    None
}

/// No cause is one of this chain.
pub fn shortfall_of(_: &Cause) -> Option<Shortfall> {
    None
}

/// No cause is one of this chain.
pub fn report_of(_: &Cause) -> Option<FaultReport> {
    None
}

/// A store of this chain is no archive.
pub fn register() {}

/// The chain is not built.
pub fn other_chain<T>(_: String, _: String) -> Result<T> {
    absent(FEATURE)
}

pub mod check {
    use super::*;
    use crate::check::{Checked, Watch};
    use std::path::Path;

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

    pub fn run<T>(_: &Convert, _: T, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod demo {
    use super::*;
    use crate::args::Demo;
    use crate::demo::Steps;

    /// A demo has the chains that are built.
    pub fn run(_: &Steps<'_>, _: &Demo) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "export")]
pub mod export {
    use super::*;
    use crate::export::Asked;
    use crate::import::Run;
    use blockmill_pipeline::Cancel;
    use serde::de::IgnoredAny;

    pub fn run(_: &Asked<'_>, _: Run) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn describe(_: &Asked<'_>, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn of_shard(_: &Asked<'_>, _: Option<&IgnoredAny>, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod generate {
    use super::*;
    use crate::args::GenerateEthereum;
    use clap::builder::ValueParser;

    pub fn run(_: &GenerateEthereum, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }

    /// Any name.
    pub fn work() -> ValueParser {
        ValueParser::string()
    }

    /// Any name.
    pub fn fork() -> ValueParser {
        ValueParser::string()
    }
}

pub mod heal {
    use super::*;
    use crate::args::Heal;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Heal, _: bool, _: &Cancel) -> Result<Answer> {
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

pub mod prove {
    use super::*;
    use crate::args::Prove;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Prove, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod state_dump {
    use super::*;
    use crate::args::{Convert, Import};
    use blockmill_pipeline::Cancel;
    use std::path::Path;

    pub fn convert(_: &Convert, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn import(_: &Import, _: &Path, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod snapshot {
    use super::*;
    use crate::args::{Check, Convert, Import};
    use crate::check::{Checked, Watch};
    use blockmill_pipeline::Cancel;
    use std::io;
    use std::path::Path;

    /// Snapshots are read as other files are.
    pub fn is_snapshot(_: &Path) -> io::Result<bool> {
        Ok(false)
    }

    pub fn convert(_: &Convert, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn import(_: &Import, _: &Path, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn inspect(_: &Path, _: bool, _: bool) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn check<'a>(_: &Check, _: usize, _: impl Fn(u64) -> Watch<'a>) -> Result<Checked> {
        absent(FEATURE)
    }
}

pub mod suite {
    use super::*;
    use crate::args::Test;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Test, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod shard {
    use super::*;
    use crate::args::Verification;
    use blockmill_pipeline::Cancel;
    use serde::de::IgnoredAny;

    pub fn verify(_: &Verification, _: Option<&IgnoredAny>, _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }

    pub fn merge(_: &Verification, _: &[IgnoredAny], _: bool, _: Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}

pub mod unwind {
    use super::*;
    use crate::unwind::Unwound;
    use blockmill_pipeline::Cancel;
    use std::path::Path;

    pub fn unwind(_: &Path, _: u64, _: &Cancel) -> Result<Option<Unwound>> {
        absent(FEATURE)
    }
}

pub mod witness {
    use super::*;
    use crate::args::Witness;
    use blockmill_pipeline::Cancel;

    pub fn run(_: &Witness, _: bool, _: &Cancel) -> Result<Answer> {
        absent(FEATURE)
    }
}
