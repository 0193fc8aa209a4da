//! Archives at URLs in a program without the feature `remote`.

use crate::absent::absent;
use crate::args::{Command, Remote};
use anyhow::Result;
use blockmill_platform::remote::is_remote;
use std::path::PathBuf;

/// There are none.
pub type Mounted = Option<()>;

pub fn mount(paths: &[PathBuf], flags: &Remote) -> Result<Mounted> {
    let is_asked = flags.cache_dir.is_some() || flags.manifest.is_some();
    if is_asked || paths.iter().any(|path| is_remote(path)) {
        return absent("remote");
    }
    Ok(None)
}

pub fn of_command(command: &Command) -> Result<Mounted> {
    match command {
        Command::Import(args) => mount(&args.verification.paths, &args.verification.remote),
        Command::Verify(args) => mount(&args.verification.paths, &args.verification.remote),
        Command::Export(args) => mount(&args.verification.paths, &args.verification.remote),
        Command::Inspect(args) => mount(&args.paths, &args.remote),
        Command::Convert(args) => mount(&args.paths, &Remote::default()),
        _ => Ok(None),
    }
}
