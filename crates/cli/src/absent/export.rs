//! `export` in a program without the feature `export`.

use crate::absent::absent;
use crate::answer::Answer;
use crate::args::Export;
use anyhow::Result;
use blockmill_pipeline::Cancel;

pub fn run(_: &Export, _: bool, _: Cancel) -> Result<Answer> {
    absent("export")
}
