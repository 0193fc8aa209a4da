//! `serve`: a run that has ended, as a page and as metrics.

use crate::answer::Answer;
use crate::args::Serve;
use crate::documents;
use anyhow::{Context, Result};
use blockmill_monitor::About;
pub use blockmill_monitor::Server;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::live::Live;
use blockmill_pipeline::record::RunRecord;
use blockmill_verdict::Status;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How soon a request to stop is seen.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Describes a run for its live page.
pub fn about(
    label: &str,
    (chain, level): (&str, &str),
    (paths, total_bytes): (&[PathBuf], u64),
) -> About {
    About {
        label: label.to_owned(),
        chain: chain.to_owned(),
        level: level.to_owned(),
        paths: paths.iter().map(|path| path.display().to_string()).collect(),
        total_bytes,
        program: crate::program::this(),
    }
}

/// Starts the live page of a run, until the server is dropped.
pub fn start(address: SocketAddr, live: Live, about: About) -> Result<Server> {
    let server = Server::start(address, about, live).context("--serve")?;
    eprintln!("the run is shown at http://{}", server.address());
    Ok(server)
}

/// `blockmill serve`.
pub fn run(args: &Serve, cancel: &Cancel) -> Result<Answer> {
    documents::check(&args.record)?;
    let record = RunRecord::read(&args.record)
        .with_context(|| format!("cannot read {}", args.record.display()))?;
    let page = blockmill_report::html(std::slice::from_ref(&record));
    let server = Server::of_record(args.address, page, &record)?;
    eprintln!("the run is shown at http://{}, until Ctrl-C", server.address());
    while !cancel.is_cancelled() {
        thread::sleep(LOOK_EVERY);
    }
    Ok(Answer::with_status(Status::Interrupted))
}
