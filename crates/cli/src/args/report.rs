//! Flags of `report` and `demo`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Report {
    /// Run records (JSON), or folders of them; those of benches are passed to blockmill-bench
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Folder for the page and the charts
    #[arg(long, default_value = "blockmill-report", value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// The record of a run (JSON)
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9333")]
    pub address: SocketAddr,
}

#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// Folder for the generated archive, the store and the report
    #[arg(long, default_value = "blockmill-demo", value_name = "DIR")]
    pub out: PathBuf,
    /// Headers to generate
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    pub headers: u64,
}
