//! Flags of archives at URLs.

use clap::Args;
use std::path::PathBuf;

/// How files at http(s)://, s3://, gs:// and az:// URLs are found and kept.
#[derive(Args, Clone, Debug, Default)]
pub struct Remote {
    /// URLs: keep what is fetched in this folder; a later run fetches only what is not there
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub cache_dir: Option<PathBuf>,
    /// URLs: the names of the files in the folder, one on each line, perhaps after a hash, for a
    /// server that does not list them
    #[arg(long, value_name = "FILE|URL", hide_short_help = true)]
    pub manifest: Option<PathBuf>,
}
