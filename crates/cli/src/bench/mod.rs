//! `bench`: measurements, a file for each.

mod bodies;
mod headers;
mod reindex;
mod rlp;
mod signatures;
mod store;

use crate::answer::Answer;
use crate::args::Bench;
use anyhow::Result;

/// `blockmill bench`.
pub fn run(command: &Bench, json: bool) -> Result<Answer> {
    match command {
        Bench::Headers(args) => headers::run(args, json),
        Bench::Bodies(args) => bodies::run(args, json),
        Bench::Rlp(args) => rlp::run(args, json),
        Bench::Signatures(args) => signatures::run(args, json),
        Bench::Store(args) => store::run(args, json),
        Bench::Reindex(args) => reindex::run(args, json),
        Bench::BodiesOnce(args) => bodies::run_once(args),
        Bench::HeadersOnce(args) => headers::run_once(args),
        Bench::ReindexOnce(args) => reindex::run_once(args),
        Bench::RlpOnce(args) => rlp::run_once(args),
        Bench::StoreOnce(args) => store::run_once(args),
    }
}
