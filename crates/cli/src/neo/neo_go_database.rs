//! `convert --to neo-go`: writes a store of executed blocks as a neo-go database.

use crate::answer::Answer;
use crate::args::Convert;
use crate::convert::{self, expect_room};
use crate::data_folder::{self, name_of};
use crate::stop;
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::Family;
use blockmill_neo::export::{Written, to_neo_go};
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use blockmill_verdict::{Status, grouped};
use std::path::Path;

/// `blockmill convert DATA --to neo-go`.
pub fn run(args: &Convert, json: bool, cancel: &Cancel) -> Result<Answer> {
    let data = source(args)?;
    let out = args.out.display();
    stop::leaves(format!("nothing was written to {out}"));
    stop::writes(&args.out, 0);
    let blocks = ChainStore::open_read_only(data)?.0.count();
    let room = expect_room(args, blocks * args.to.least_block);
    room.with_context(|| format!("cannot write {out}"))?;
    let written = match to_neo_go(data, &args.out, cancel) {
        Ok(Some(written)) => written,
        Ok(None) => return Ok(Answer::with_status(Status::Interrupted)),
        Err(error) => {
            let answer = Answer::with_status(error.status());
            return Ok(Answer { error: Some(error.report()), ..answer });
        }
    };
    if json {
        return Answer::ok().with(document(args, &written));
    }
    let blocks = grouped(u64::from(written.height) + 1);
    let (pairs, transfers) = (grouped(written.pairs), grouped(written.transfers));
    let (root, height) = (written.root, grouped(written.height.into()));
    let keeps_last = !written.keeps_history;
    let note = "only the state of the last block; import with --history for all blocks".to_owned();
    let answer = Answer { notes: if keeps_last { vec![note] } else { vec![] }, ..Answer::ok() };
    let shown = convert::Written {
        what: format!("{blocks} blocks, {pairs} pairs of storage and {transfers} transfers"),
        facts: vec![
            ("state root", format!("{root} after block {height}")),
            ("size", format!("{} in tables", blockmill_report::bytes(written.bytes))),
        ],
        checked: "the state root",
        unchecked: "",
        next: Some(format!(
            "start neo-go with LevelDBOptions: DataDirectoryPath: {out} and KeepOnlyLatestState: \
             {keeps_last}: it continues from there"
        )),
    };
    shown.show(args, &answer);
    Ok(answer)
}

/// The store. It cannot be converted in part, because its state is that of its last block.
fn source(args: &Convert) -> Result<&Path> {
    let [data] = &args.paths[..] else {
        bail!("--to neo-go: expected one store of executed blocks, found {}", args.paths.len())
    };
    ensure!(
        args.from.is_none() && args.until.is_none(),
        "--to neo-go: expected all blocks, found --from or --until: the state is that of the last \
         block; `blockmill unwind` removes later blocks"
    );
    let name = data.display();
    match data_folder::family_of(data)? {
        Some(Family::Neo) => Ok(data),
        Some(other) => {
            let found = name_of(other);
            bail!("--to neo-go: expected a store of Neo in {name}, found one of {found}")
        }
        None => bail!(
            "--to neo-go: expected a store of executed blocks in {name}, found none: \
             `blockmill import --level execution` creates one from a dump"
        ),
    }
}

/// The JSON document.
fn document(args: &Convert, written: &Written) -> serde_json::Value {
    serde_json::json!({
        "out": args.out.display().to_string(),
        "height": written.height,
        "tip": written.tip.to_string(),
        "root": written.root.to_string(),
        "pairs": written.pairs,
        "transfers": written.transfers,
        "entries": written.entries,
        "bytes": written.bytes,
        "keep_only_latest_state": !written.keeps_history,
    })
}
