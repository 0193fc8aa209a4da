//! `convert`: an archive in another format.

use crate::answer::Answer;
use crate::args::{Convert, Target};
use crate::ethereum_chain;
use crate::hand_over;
use crate::outputs;
use crate::stop;
use anyhow::{Context, Result};
use archive::{Archive, Format, Want};
use chain::grouped;
use chain::{Shortfall, Status};
use ethereum::convert::{self, Conversion};
use ethereum::fault::Error;
use pipeline::Cancel;
use serde_json::json;

/// A header has five hashes, three roots among them, and a bloom filter.
const LEAST_HEADER: u64 = 450;
/// What is left of it by gzip: the hashes.
const LEAST_PACKED: u64 = 100;

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
    let answer = write(args, json, cancel)?;
    if answer.status != Status::Interrupted {
        claim.done()?;
    }
    Ok(answer)
}

fn write(args: &Convert, json: bool, cancel: Cancel) -> Result<Answer> {
    let Some((format, gzip)) = args.to.format() else {
        return hand_over::run(args, json, cancel);
    };
    let archive = Archive::open(&args.paths)?;
    let detected = ethereum_chain::detect(args.chain.as_deref(), &archive, &args.paths, None);
    let spec = match (detected, args.chain.is_some() || format == Format::Era1) {
        (Ok(spec), _) => Some(spec),
        // only era1 files carry the network's name
        (Err(_), false) => None,
        (Err(error), true) => return Err(error),
    };
    let conversion = Conversion {
        spec: spec.as_ref(),
        format,
        gzip,
        from: args.from,
        until: args.until,
        replace: args.outputs.replace.force,
        cancel: &cancel,
    };
    expect_room(args, &archive)?;
    let out = args.out.display();
    stop::writes(&args.out, archive.disk_bytes());
    stop::leaves(match format {
        Format::Era1 => format!("the era1 files in {out} are complete; there is nothing else"),
        _ => format!("nothing was written to {out}"),
    });
    let survey = archive.survey(Want { bodies: true, receipts: true });
    let done = convert::convert(&archive, &conversion, &args.out)?;
    let (first, last) = done.range;
    let mut answer = answer(survey.shortfalls, args.partial);
    answer.notes.extend(left_out(done.access_lists));
    if json {
        let out = out.to_string();
        return answer.with(json!({ "out": out, "first": first, "last": last }));
    }
    println!("wrote blocks {} to {}", grouped(first), grouped(last));
    println!("to {out}");
    for note in &answer.notes {
        println!("note: {note}");
    }
    println!("conversion checks encodings, not the chain; `blockmill verify` does");
    Ok(answer)
}

/// What the blocks had and the output has not.
fn left_out(access_lists: u64) -> Option<String> {
    let lists = report::counted(access_lists, "block access list");
    (access_lists > 0)
        .then(|| format!("left out: {lists} (EIP-7928), which no format is written with"))
}

/// What was written may be all that is there, and still not all that there should be.
fn answer(shortfalls: Vec<Shortfall>, partial: bool) -> Answer {
    let status = match shortfalls.is_empty() {
        true => return Answer::ok(),
        false if partial => Status::Partial,
        false => Status::Incomplete,
    };
    let error = Error::Incomplete(shortfalls.clone()).report();
    Answer { error: (!partial).then_some(error), shortfalls, ..Answer::of(status) }
}

/// Asks for the room that is needed at least: encodings differ, headers have a least size.
fn expect_room(args: &Convert, archive: &Archive) -> Result<()> {
    let Some((first, Some(last))) = archive.range() else { return Ok(()) };
    let (from, until) = (args.from.unwrap_or(0).max(first), args.until.unwrap_or(last).min(last));
    let blocks = (until + 1).saturating_sub(from);
    let least = if args.to == Target::RlpGz { LEAST_PACKED } else { LEAST_HEADER };
    outputs::expect_room(&args.out, blocks.saturating_mul(least), args.outputs)
        .with_context(|| format!("cannot write {}", args.out.display()))
}
