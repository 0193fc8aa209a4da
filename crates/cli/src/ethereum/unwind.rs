//! `unwind`: takes blocks back, with the state behind them.

use crate::answer::Answer;
use crate::args::Unwind;
use crate::{data_folder, stop};
use anyhow::{Context, Result, ensure};
use archive::Family;
use chain::{Status, grouped};
use ethereum::durable::{ExecutedStore, Limits};
use pipeline::Cancel;
use serde_json::json;

/// `blockmill unwind`.
pub fn run(args: &Unwind, json: bool, cancel: &Cancel) -> Result<Answer> {
    stop::leaves("the store is as it was: blocks and state go back in one step");
    let data = &args.data;
    ensure!(
        data_folder::family_of(data) == Some(Family::Ethereum),
        "{}: expected a store of Ethereum blocks, found none",
        data.display()
    );
    let options = store::Options::default();
    let (mut store, _) = ExecutedStore::open(data, &options, Limits::default())
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let Some(done) = store.unwind(args.to, cancel)? else {
        return Ok(Answer::of(Status::Interrupted));
    };
    let state = match done.with_state {
        true => "blocks, state and log",
        false => "blocks; there was no state",
    };
    if !json {
        println!("store          {}", data.display());
        println!("before         up to block {}", grouped(done.from));
        println!("now            up to block {} ({state})", grouped(done.to));
    }
    Answer::ok().with(json!({
        "data": data.display().to_string(),
        "from": done.from,
        "to": done.to,
        "with_state": done.with_state,
    }))
}
