//! `inspect`: what is in an archive, or in a store of coins.

use crate::answer::Answer;
use crate::args::Inspect;
use crate::{bitcoin, data_folder, ethereum};
use anyhow::{Result, ensure};
use archive::Family;
use std::path::PathBuf;

/// `blockmill inspect`.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    let is_store = |path: &&PathBuf| data_folder::family_of(path) == Some(Family::Bitcoin);
    if let Some(store) = args.paths.iter().find(is_store) {
        let name = store.display();
        ensure!(args.paths.len() == 1, "{name} is a store: inspect it alone, found other paths");
        return bitcoin::coins::run(store, json);
    }
    match Family::of(&args.paths) {
        Family::Ethereum => ethereum::inspect::run(args, json),
        Family::Bitcoin => bitcoin::inspect::run(args, json),
    }
}
