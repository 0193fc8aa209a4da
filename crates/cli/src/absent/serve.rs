//! `serve` and `--serve` in a program without the feature `monitor`.

use crate::absent::absent;
use crate::answer::Answer;
use crate::args::Serve;
use anyhow::Result;
use blockmill_pipeline::record::Program;
use blockmill_pipeline::{Cancel, live::Live};
use std::net::SocketAddr;

/// What a page would say of a run.
pub struct About {
    pub program: Program,
    pub label: String,
    pub chain: String,
    pub level: String,
    pub paths: Vec<String>,
    pub total_bytes: u64,
}

/// There is none.
pub enum Server {}

impl Server {
    pub fn start(_: SocketAddr, _: About, _: Live) -> Result<Self> {
        absent("monitor")
    }

    pub fn address(&self) -> SocketAddr {
        match *self {}
    }
}

pub fn run(_: &Serve, _: &Cancel) -> Result<Answer> {
    absent("monitor")
}
