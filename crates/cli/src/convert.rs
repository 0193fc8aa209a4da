//! `convert`: an archive in another format. How it is written stands in the `convert.rs` of each
//! chain's folder.

use crate::answer::Answer;
use crate::args::{Convert, Target};
use crate::{bitcoin, ethereum, outputs};
use anyhow::Result;
use archive::Format;
use chain::grouped;
use chain::{Shortfall, Status};
use pipeline::Cancel;
use serde_json::json;
use std::io;

impl Target {
    /// The Ethereum format, and whether it is compressed with gzip.
    pub fn format(self) -> Option<(Format, bool)> {
        match self {
            Self::Era1 => Some((Format::Era1, false)),
            Self::Freezer => Some((Format::Freezer, false)),
            Self::Rlp => Some((Format::RlpExport, false)),
            Self::RlpGz => Some((Format::RlpExport, true)),
            Self::Headers => Some((Format::HeaderStream, false)),
            Self::Blk | Self::Core => None,
        }
    }
}

/// `blockmill convert`.
pub fn run(args: &Convert, json: bool, cancel: Cancel) -> Result<Answer> {
    let claim =
        outputs::claim(&args.out, &args.paths, outputs::shape_of(args.to), args.outputs.replace)?;
    let answer = match args.to.format() {
        Some(format) => ethereum::convert::run(args, format, json, cancel),
        None => bitcoin::convert::run(args, json, cancel),
    }?;
    if answer.status != Status::Interrupted {
        claim.done()?;
    }
    Ok(answer)
}

/// Asks for room on disk where the output will be.
pub fn expect_room(args: &Convert, bytes: u64) -> io::Result<()> {
    outputs::expect_room(&args.out, bytes, args.outputs)
}

/// How a conversion ended that wrote all that is there.
pub fn status(shortfalls: &[Shortfall], partial: bool) -> Status {
    match (shortfalls.is_empty(), partial) {
        (true, _) => Status::Ok,
        (false, true) => Status::Partial,
        (false, false) => Status::Incomplete,
    }
}

/// Says which blocks were written, and of what a conversion knows nothing: all but `checked`.
pub fn written(
    args: &Convert,
    answer: Answer,
    (first, last): (u64, u64),
    checked: &str,
    json: bool,
) -> Result<Answer> {
    let out = args.out.display().to_string();
    if json {
        return answer.with(json!({ "out": out, "first": first, "last": last }));
    }
    println!("wrote blocks {} to {} to {out}", grouped(first), grouped(last));
    print_notes(&answer);
    println!("conversion checks {checked}; `blockmill verify` does");
    Ok(answer)
}

/// Says what a reader should know.
pub fn print_notes(answer: &Answer) {
    for note in &answer.notes {
        println!("note: {note}");
    }
}
