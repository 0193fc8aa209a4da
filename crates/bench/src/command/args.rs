//! Flags of the commands but those of the measurement itself, which the product completes, too.

use blockmill_cli::Force;
use clap::Args;
use std::path::PathBuf;

/// What `report` draws.
#[derive(Args, Clone, Debug)]
pub struct Report {
    /// Records of benches and of runs (JSON), or folders of them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Folder for the page and the charts
    #[arg(long, default_value = "blockmill-report", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// Also write the benches as a page of Markdown, and its charts into a folder of its name
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also write pages of results, one for each question, and their charts
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Also write the benches that pages of results show, with only the facts that they need
    #[arg(long, value_name = "DIR")]
    pub condensed: Option<PathBuf>,
}
