//! `unwind`: rolls back blocks, with the state after them.

use crate::answer::Answer;
use crate::args::Unwind;
use crate::print::row;
use crate::{data_folder, ethereum, neo, stop};
use anyhow::{Result, bail};
use blockmill_archive::Family;
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Status, grouped};
use serde_json::json;

/// What going back has done, whatever the chain.
pub struct Unwound {
    /// The last block before.
    pub from: u64,
    /// The last block now.
    pub to: u64,
    /// Whether a state went back with the blocks.
    pub with_state: bool,
}

/// `blockmill unwind`.
pub fn run(args: &Unwind, json: bool, cancel: &Cancel) -> Result<Answer> {
    stop::leaves("blocks and state are together: those of before, or of a block on the way");
    let data = &args.data;
    let done = match data_folder::family_of(data)? {
        Some(Family::Ethereum) => ethereum::unwind::unwind(data, args.to, cancel)?,
        Some(Family::Neo) => neo::unwind::unwind(data, args.to, cancel)?,
        found => {
            let found = found.map_or("none", data_folder::name_of);
            let name = data.display();
            bail!("{name}: expected a store of Ethereum or Neo blocks, found {found}")
        }
    };
    let Some(done) = done else { return Ok(Answer::with_status(Status::Interrupted)) };
    let state = match done.with_state {
        true => "blocks, state and log",
        false => "blocks, there was no state",
    };
    if !json {
        println!(
            "Unwound to block {}, from block {}: {state}.",
            grouped(done.to),
            grouped(done.from)
        );
        row("store", &data.display().to_string());
        row("next", "import the archive again, or another one");
    }
    let status = if done.to == args.to { Status::Ok } else { Status::Interrupted };
    Answer::with_status(status).with(json!({
        "data": data.display().to_string(),
        "from": done.from,
        "to": done.to,
        "with_state": done.with_state,
    }))
}
