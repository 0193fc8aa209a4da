//! `check`: reads all of a store and reports what is corrupt, and what repairs it.

#[cfg(any(feature = "ethereum", feature = "neo"))]
mod parts;

use crate::answer::Answer;
use crate::args::Check;
use crate::paths::is_file;
use crate::print::row;
use crate::{bitcoin, data_folder, ethereum, host, neo, stop};
use anyhow::{Context, Result};
use blockmill_archive::Family;
use blockmill_pipeline::Cancel;
use blockmill_report::runs::shell;
use blockmill_verdict::{FaultReport, Status};
use serde::Serialize;
use std::fs::metadata;
use std::path::PathBuf;

/// Corrupt places that are printed; all are in the document of `--json`.
const PRINTED: usize = 20;

/// Commands in advice, each with `DATA` in place of the store.
const ADVISED: [&str; 3] = ["check", "heal", "import"];

/// What a repair did where only parts were corrupt that repair themselves. A newer commit of an
/// interrupted import is passed over where bytes of it are corrupt.
#[cfg(any(feature = "ethereum", feature = "neo"))]
pub const REBUILT: &str = "done: the corrupt parts were rebuilt; blocks that only an interrupted \
                           import had may be gone: the next import has them again";

/// A corrupt part.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CorruptPart {
    /// The file.
    #[serde(serialize_with = "blockmill_verdict::path::serialize_option")]
    pub file: Option<PathBuf>,
    /// Its first corrupt byte.
    pub offset: Option<u64>,
    /// What it is, what was expected and what was found.
    pub what: String,
    /// The first block or height concerned.
    pub first_block: Option<u64>,
    /// And the last.
    pub last_block: Option<u64>,
    /// What repairs it.
    pub repair: String,
    /// Whether the next import repairs it by itself.
    pub mends_itself: bool,
}

/// What a store holds and what is wrong with it: the `result` of `--json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// `ethereum`, `bitcoin` or `neo`; `None` for a store without anything that says it.
    pub family: Option<&'static str>,
    /// The chain or network, where it is a known one.
    pub chain: Option<String>,
    /// The folder.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub data: PathBuf,
    /// The first block.
    pub first: Option<u64>,
    /// The last block that is committed.
    pub tip: Option<u64>,
    /// What the store consists of, in words.
    pub holds: Vec<String>,
    /// What belongs to the store and was not read, in a sentence.
    pub unread: Option<String>,
    /// What is corrupt.
    pub corruption: Vec<CorruptPart>,
    /// What repairs the store, in a sentence; `None` if it is whole.
    pub repair: Option<String>,
    /// Set after `--repair`: the block that is the last one now.
    pub went_back_to: Option<u64>,
    /// Ended before everything was read.
    pub stopped: bool,
}

/// `blockmill check`.
pub fn run(args: &Check, json: bool, cancel: Cancel) -> Result<Answer> {
    stop::leaves(match args.repair {
        false => "check changes nothing",
        true => "the store is as it was, or as its repair leaves it: that is one step",
    });
    let threads = args.threads.map_or_else(host::cores, |threads| threads as usize);
    let watch = |total| Watch::new("check", total, &cancel);
    let data = &args.data;
    metadata(data).with_context(|| format!("cannot open {}", data.display()))?;
    let (mut checked, repaired) = match data_folder::family_of(data)? {
        None if ethereum::snapshot::is_snapshot(data)
            .with_context(|| format!("cannot read {}", data.display()))? =>
        {
            (ethereum::snapshot::check(args, threads, watch)?, false)
        }
        None => return Ok(unknown(args)),
        Some(Family::Ethereum) => ethereum::check::check(data, threads, args.repair, watch)?,
        Some(Family::Bitcoin) => bitcoin::check::check(data, args.repair, watch)?,
        Some(Family::Neo) => neo::check::check(data, threads, args.repair, watch)?,
    };
    checked.name_store();
    if !json {
        print(&checked);
    }
    answer(&checked, repaired).with(&checked)
}

fn unknown(args: &Check) -> Answer {
    let message = format!("{}: expected a store or a snapshot, found none", args.data.display());
    // whatever is wrong with an archive, the command that is meant for it says so
    let is_archive = Family::detect(std::slice::from_ref(&args.data)).is_ok();
    let hint = is_archive.then(|| match bitcoin::is_datadir(&args.data) {
        true => "a datadir of Bitcoin Core: `verify` checks its blocks, `inspect --deep` all of it",
        false => "an archive: `verify` checks it, `inspect` shows it",
    });
    let hint = hint.map(str::to_owned);
    let error = FaultReport { hint, ..FaultReport::new(message) };
    Answer { error: Some(error), ..Answer::with_status(Status::Unrecognised) }
}

fn answer(checked: &Checked, repaired: bool) -> Answer {
    let Some(first) = checked.corruption.first() else {
        let status = if checked.stopped { Status::Interrupted } else { Status::Ok };
        return Answer::with_status(status);
    };
    if repaired {
        return Answer { notes: checked.repair.clone().into_iter().collect(), ..Answer::ok() };
    }
    let error = FaultReport {
        message: format!("the {} is corrupt: {}", noun(checked), sentence(first)),
        block: first.first_block,
        file: first.file.clone(),
        offset: first.offset,
        hint: checked.repair.clone(),
        ..FaultReport::default()
    };
    Answer { error: Some(error), ..Answer::with_status(Status::Corrupt) }
}

/// What was checked, for a message only.
fn noun(checked: &Checked) -> &'static str {
    if is_file(&checked.data).unwrap_or(false) { "snapshot" } else { "store" }
}

/// A corrupt part in one line.
fn sentence(part: &CorruptPart) -> String {
    let mut text = String::new();
    if let Some(file) = &part.file {
        text += &format!("{}", file.display());
        if let Some(offset) = part.offset {
            text += &format!(" at offset {offset}");
        }
        text += ": ";
    }
    text += &part.what;
    match (part.first_block, part.last_block) {
        (Some(first), Some(last)) if first == last => text += &format!(" (block {first})"),
        (Some(first), Some(last)) => text += &format!(" (blocks {first} to {last})"),
        _ => {}
    }
    text
}

fn print(checked: &Checked) {
    let places = blockmill_report::counted(checked.corruption.len() as u64, "place");
    match (checked.corruption.len(), checked.stopped, &checked.unread) {
        (1.., ..) => println!("Corrupt in {places}."),
        (0, true, _) => println!("Stopped: not everything was read."),
        (0, false, None) => println!("No corruption: every byte is as it was written."),
        (0, false, Some(_)) => println!("No corruption in what was read."),
    }
    row(noun(checked), &checked.data.display().to_string());
    checked.holds.iter().for_each(|line| row("", line));
    checked.unread.iter().for_each(|unread| row("not read", unread));
    for part in checked.corruption.iter().take(PRINTED) {
        row("corrupt", &sentence(part));
    }
    if checked.corruption.len() > PRINTED {
        row("", &format!("and {} more", checked.corruption.len() - PRINTED));
    }
    checked.repair.iter().for_each(|repair| row("repair", repair));
}

impl Checked {
    /// Sets what repairs the store: that of the first part that does not repair itself.
    pub fn set_repair(&mut self) {
        self.corruption.sort_by_key(|part| part.mends_itself);
        self.repair = self.corruption.first().map(|part| part.repair.clone());
    }

    /// Names the store in all advice, which has `DATA` in its place.
    fn name_store(&mut self) {
        let data = shell(&[self.data.display().to_string()]);
        let name = |advice: &mut String| {
            for verb in ADVISED {
                let (from, to) =
                    (format!("`blockmill {verb} DATA"), format!("`blockmill {verb} {data}"));
                *advice = advice.replace(&from, &to);
            }
        };
        self.corruption.iter_mut().for_each(|part| name(&mut part.repair));
        self.repair.iter_mut().for_each(name);
    }
}

/// Reports how much is read, and stops the reading on request; shared by all reading threads.
#[derive(Clone, Copy)]
pub struct Watch<'a>(&'a Cancel);

impl<'a> Watch<'a> {
    /// A watch for `total` bytes that are read to `name` something.
    pub fn new(name: &'static str, total: u64, cancel: &'a Cancel) -> Self {
        cancel.live().enter(name, total);
        Self(cancel)
    }

    /// Adds bytes that were read. Returns false to stop.
    pub fn read(&self, bytes: u64) -> bool {
        self.0.live().advance(bytes);
        !self.0.is_cancelled()
    }

    /// The flag that stops the check.
    #[cfg(feature = "ethereum")]
    pub fn cancel(&self) -> &'a Cancel {
        self.0
    }
}
