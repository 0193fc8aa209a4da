//! `serve` and `--serve` in a program without the feature `monitor`.

use crate::absent::absent;
use crate::answer::Answer;
use crate::args::Serve;
use anyhow::Result;
use blockmill_pipeline::{Cancel, live::Live};
use std::net::SocketAddr;
use std::path::PathBuf;

/// There is none.
pub enum Server {}

/// Nothing is described.
#[derive(Clone)]
pub struct About;

impl Server {
    pub fn describe(&self, _: About) {
        match *self {}
    }
}

pub fn about(_: &str, _: (&str, &str), _: (&[PathBuf], u64)) -> About {
    About
}

pub fn start(_: SocketAddr, _: Live, _: About) -> Result<Server> {
    absent("monitor")
}

pub fn run(_: &Serve, _: &Cancel) -> Result<Answer> {
    absent("monitor")
}
