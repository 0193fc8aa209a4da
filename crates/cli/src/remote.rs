//! Archives at URLs: a command looks them up before it opens anything.

use crate::args::{Command, Remote};
use anyhow::{Result, bail, ensure};
use blockmill_platform::remote::is_remote;
use blockmill_remote::address::without_secrets;
use blockmill_remote::{Options, mount as mount_all};
use std::path::PathBuf;
use std::sync::Arc;

/// The remote files of a command, which are there until it is dropped; `None` without URLs.
pub type Mounted = Option<Arc<blockmill_remote::Mounted>>;

/// Looks up the URLs among `paths`.
///
/// # Errors
/// The error of a server, or flags that are for URLs without any.
pub fn mount(paths: &[PathBuf], flags: &Remote) -> Result<Mounted> {
    let Remote { cache_dir, manifest } = flags;
    if !paths.iter().any(|path| is_remote(path)) {
        for (name, value) in [("cache-dir", cache_dir), ("manifest", manifest)] {
            ensure!(value.is_none(), "--{name} is for paths that are URLs, found none");
        }
        return Ok(None);
    }
    if manifest.is_some() && paths.len() > 1 {
        bail!("--manifest is for the URL of one folder, found {} paths", paths.len());
    }
    let options = Options { manifest: manifest.clone(), cache: cache_dir.clone() };
    Ok(Some(Arc::new(mount_all(paths, &options)?)))
}

/// Looks up the URLs that a command was given.
///
/// # Errors
/// As [`mount`]; a URL where a command reads files of this machine only.
pub fn of_command(command: &Command) -> Result<Mounted> {
    match command {
        Command::Import(args) => mount(&args.verification.paths, &args.verification.remote),
        Command::Verify(args) => {
            let paths = [&args.verification.paths[..], &args.of].concat();
            mount(&paths, &args.verification.remote)
        }
        Command::Export(args) => mount(&args.verification.paths, &args.verification.remote),
        Command::Inspect(args) => mount(&args.paths, &args.remote),
        Command::Convert(args) => expect_local(&args.paths),
        Command::Check(args) => expect_local(std::slice::from_ref(&args.data)),
        _ => Ok(None),
    }
}

fn expect_local(paths: &[PathBuf]) -> Result<Mounted> {
    match paths.iter().find(|path| is_remote(path)) {
        Some(url) => {
            let url = without_secrets(&url.display().to_string());
            bail!("{url}: expected a path of this machine, found a URL")
        }
        None => Ok(None),
    }
}
