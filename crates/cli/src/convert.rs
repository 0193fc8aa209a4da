//! `convert`: an archive in another format. The `convert.rs` of each chain's folder writes it.

use crate::answer::Answer;
use crate::args::Convert;
use crate::bitcoin::convert::{block_files, datadir, headers};
use crate::data_folder::{family_of, name_of};
use crate::next::command;
use crate::print::row;
use crate::{bitcoin, ethereum, neo, outputs, stop};
use anyhow::{Result, ensure};
use blockmill_archive::{Family, Format, Output};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Status, counted, grouped};
use serde_json::json;
use std::io;

/// `blockmill convert`.
pub fn run(args: &Convert, json: bool, cancel: Cancel) -> Result<Answer> {
    expect_its_chain(args)?;
    let inputs = [&args.paths[..], &args.stores].concat();
    let claim = outputs::claim(&args.out, &inputs, args.to.shape(), args.outputs.replace)?;
    let answer = match args.to.output {
        Output::Blocks(Format::HeaderStream, _) if is_of_bitcoin(args)? => {
            bitcoin::convert::run(args, headers, json, cancel)
        }
        Output::Blocks(format, gzip) => ethereum::convert::run(args, (format, gzip), json, cancel),
        Output::BlockFiles => bitcoin::convert::run(args, block_files, json, cancel),
        Output::CoreDatadir => bitcoin::convert::run(args, datadir, json, cancel),
        Output::Dump(gzip) => neo::convert::run(args, gzip, json, cancel),
        Output::NeoGoDatabase => neo::neo_go_database::run(args, json, &cancel),
        Output::Snapshot => ethereum::snapshot::convert(args, json, &cancel),
        Output::StateDump => ethereum::state_dump::convert(args, json, &cancel),
    }?;
    if answer.status != Status::Interrupted {
        claim.done()?;
    }
    Ok(answer)
}

/// Refuses a target of another chain than that of the archives. What is no archive is for the
/// conversion to name.
fn expect_its_chain(args: &Convert) -> Result<()> {
    let family = match args.to.output {
        Output::Blocks(Format::HeaderStream, _) => return Ok(()),
        Output::Blocks(..) | Output::Snapshot | Output::StateDump => Family::Ethereum,
        Output::BlockFiles | Output::CoreDatadir => Family::Bitcoin,
        Output::Dump(_) | Output::NeoGoDatabase => Family::Neo,
    };
    let Some(path) = args.paths.first() else { return Ok(()) };
    let found = match family_of(path)? {
        Some(of_store) => of_store,
        None => Family::detect(&args.paths).unwrap_or(family),
    };
    ensure!(
        found == family,
        "--to {}: expected blocks of {}, found those of {} in {}",
        args.to.name,
        name_of(family),
        name_of(found),
        path.display()
    );
    Ok(())
}

/// Whether the chain is one of Bitcoin: the target `headers` is of two families.
fn is_of_bitcoin(args: &Convert) -> Result<bool> {
    let is_named = args.chain.as_deref().is_some_and(bitcoin::network::is_named);
    Ok(is_named || Family::detect(&args.paths)? == Family::Bitcoin)
}

/// Asks for room on disk where the output will be.
pub fn expect_room(args: &Convert, bytes: u64) -> io::Result<()> {
    outputs::expect_room(&args.out, bytes, args.outputs)
}

/// How a conversion ended that wrote all that is there.
#[cfg(any(feature = "ethereum", feature = "neo"))]
pub fn status(shortfalls: &[blockmill_verdict::Shortfall], partial: bool) -> Status {
    match (shortfalls.is_empty(), partial) {
        (true, _) => Status::Ok,
        (false, true) => Status::Partial,
        (false, false) => Status::Incomplete,
    }
}

/// What a person reads of a conversion.
pub struct Written {
    /// What was written, as in "8,192 blocks".
    pub what: String,
    /// Names with values.
    pub facts: Vec<(&'static str, String)>,
    /// What was checked.
    pub checked: &'static str,
    /// What was not.
    pub unchecked: &'static str,
    /// What to do with the output.
    pub next: Option<String>,
}

impl Written {
    /// A range of blocks.
    pub fn blocks(
        (first, last): (u64, u64),
        checked: &'static str,
        unchecked: &'static str,
        next: Option<String>,
    ) -> Self {
        let what = counted((last + 1).saturating_sub(first), "block");
        let facts = vec![("range", format!("{} to {}", grouped(first), grouped(last)))];
        Self { what, facts, checked, unchecked, next }
    }

    /// Prints it, with what the answer knows.
    pub fn show(&self, args: &Convert, answer: &Answer) {
        let (what, out) = (&self.what, args.out.display());
        match answer.status {
            Status::Partial => println!("Partly converted: {what} to {out}, the rest is missing."),
            Status::Incomplete => println!("Incomplete: {what} to {out}, not all is there."),
            Status::Corrupt | Status::Invalid => {
                println!("Converted {what} to {out}, up to the fault.");
            }
            _ => println!("Converted {what} to {out}."),
        }
        self.facts.iter().for_each(|(name, value)| row(name, value));
        row("checked", self.checked);
        if !self.unchecked.is_empty() {
            row("not checked", self.unchecked);
        }
        answer.shortfalls.iter().for_each(|shortfall| row("missing", &shortfall.to_string()));
        answer.notes.iter().for_each(|note| row("note", note));
        row("time", &blockmill_report::duration(stop::cancel().live().elapsed().as_secs_f64()));
        self.next.iter().for_each(|next| row("next", next));
    }
}

/// The command that verifies the output, with the `chain` that it needs.
pub fn verify(args: &Convert, chain: Option<&str>) -> String {
    let words: Vec<&str> = match chain {
        Some(chain) => vec!["verify", "--chain", chain],
        None => vec!["verify"],
    };
    command(&words, std::slice::from_ref(&args.out))
}

/// Says which blocks were written, what was not checked of them, and what to do next.
pub fn written(
    args: &Convert,
    answer: Answer,
    (first, last): (u64, u64),
    (checked, unchecked): (&'static str, &'static str),
    next: Option<String>,
    json: bool,
) -> Result<Answer> {
    if json {
        let out = args.out.display().to_string();
        let (checked, unchecked) = ([checked], [unchecked]);
        return answer.with(json!({
            "out": out, "first": first, "last": last, "checked": checked, "unchecked": unchecked,
        }));
    }
    Written::blocks((first, last), checked, unchecked, next).show(args, &answer);
    Ok(answer)
}
