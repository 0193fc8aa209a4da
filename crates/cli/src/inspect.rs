//! `inspect`: what is in an archive, or in a store of coins.

use crate::answer::Answer;
use crate::args::Inspect;
use crate::{bitcoin, data_folder, ethereum, neo};
use ::ethereum::snapshot::is_snapshot;
use anyhow::{Result, ensure};
use archive::Family;
use std::path::PathBuf;

/// `blockmill inspect`.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    // a store of Ethereum is an archive, too
    let is_of = |path: &&PathBuf, family| data_folder::family_of(path) == Some(family);
    let is_store = |path: &&PathBuf| is_of(path, Family::Bitcoin) || is_of(path, Family::Neo);
    if let Some(store) = args.paths.iter().find(is_store) {
        let name = store.display();
        ensure!(args.paths.len() == 1, "{name} is a store: inspect it alone, found other paths");
        return match is_of(&store, Family::Neo) {
            true => neo::look::of_store(store, args, json),
            false => bitcoin::coins::run(store, json),
        };
    }
    let asks = args.block.is_some() || args.transaction.is_some() || args.account.is_some();
    ensure!(!asks, "--block, --transaction and --account are for the store of a Neo import");
    if let [path] = &args.paths[..]
        && is_snapshot(path)
    {
        return ethereum::snapshot::inspect(path, args.deep, json);
    }
    match Family::of(&args.paths) {
        Family::Ethereum => ethereum::inspect::run(args, json),
        Family::Bitcoin => bitcoin::inspect::run(args, json),
        Family::Neo => neo::inspect::run(args, json),
    }
}
