//! `inspect` of Bitcoin block files: prints their content as text or JSON.

mod json;

use super::coins;
use super::datadir::{answer, is_readable, json_datadir, print_datadir, with_datadir};
use crate::answer::Answer;
use crate::args::Inspect;
use crate::inspect::print_left_out;
use crate::library::{BitcoinFiles, BlockId, Contents};
use crate::{host, stop};
use anyhow::Result;
use blockmill_archive::blkdat::{self, BlockFile, BlockFiles, FileReport};
use blockmill_bitcoin::datadir::{CheckedDatadir, check};
use blockmill_bitcoin::index::{Branch, Found, Gap, RefusalReason, Refused};
use blockmill_bitcoin::inspect::{
    BodyFault, CheckedBodies, CorruptRange, Inspection, Meaning, inspect,
};
use blockmill_report::counted;
use blockmill_verdict::{Status, grouped};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Maximum number of files that are listed without corruption.
const MANY: usize = 20;
/// Number of branches, gaps and faults that are printed; JSON has all.
pub(super) const SHOWN: usize = 20;

/// Inspects block files, and the coins of their datadir, if they have one.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    let files = blkdat::open(&args.paths, None)?;
    // headers have no bodies
    let deep = args.deep && files.headers_only().is_none();
    let inspection =
        inspect(&files, host::cores(), deep, Some(host::unix_seconds()), stop::cancel().live())?;
    let view = View { files: &files, inspection: &inspection };
    let datadir = datadir_of(&files)?;
    let checked = datadir.as_ref().filter(|_| args.deep);
    let checked = checked.map(|folder| check(folder, host::cores())).transpose()?;
    let answer = with_datadir(answer(&files, &inspection), checked.as_ref());
    // a corrupt datadir has no readable coins
    let shown = datadir.as_ref().filter(|_| checked.as_ref().is_none_or(is_readable));
    if json {
        let mut document = view.json();
        if let Some(folder) = shown {
            document["datadir"] = coins::of_datadir(folder)?.json();
        }
        document["datadir_checked"] = checked.as_ref().map_or(Value::Null, json_datadir);
        let contents = Contents::Bitcoin(view.contents(document));
        return Ok(answer.with_contents(contents));
    }
    view.print_verdict(deep, datadir.is_some(), checked.as_ref());
    view.print();
    if let Some(folder) = shown {
        coins::of_datadir(folder)?.print();
    }
    print_left_out(files.left_out());
    checked.iter().for_each(print_datadir);
    Ok(answer)
}

/// The datadir that has all files in its folder `blocks`.
fn datadir_of(files: &BlockFiles) -> Result<Option<PathBuf>> {
    let folder = files.files().first().and_then(|file| file.path().parent());
    let all = files.files().iter().all(|file| file.path().parent() == folder);
    let Some(folder) = folder.filter(|folder| all && folder.ends_with("blocks")) else {
        return Ok(None);
    };
    let Some(datadir) = folder.parent() else { return Ok(None) };
    // the parent of a bare name is empty
    let datadir = if datadir.as_os_str().is_empty() { Path::new(".") } else { datadir };
    Ok(blockmill_bitcoin::inspect::is_datadir(datadir)?.then(|| datadir.to_path_buf()))
}

/// Files and their inspection.
struct View<'a> {
    files: &'a BlockFiles,
    inspection: &'a Inspection,
}

impl View<'_> {
    /// The inspection for a program; `document` is all of it as JSON.
    fn contents(&self, document: Value) -> BitcoinFiles {
        let Inspection { tree, summary, params, .. } = self.inspection;
        let tip = self
            .inspection
            .is_linked()
            .then(|| BlockId { number: summary.height.into(), hash: tree.hash(summary.tip).0 });
        BitcoinFiles {
            network: params.as_ref().map(|params| params.name.to_owned()),
            blocks: summary.records.into(),
            tip,
            document,
        }
    }

    fn print(&self) {
        let (files, inspection) = (self.files.files(), self.inspection);
        let network = self.network();
        let what = match self.files.headers_only() {
            Some(_) => "header file",
            None => "block file",
        };
        let number = counted(files.len() as u64, what);
        println!("{network}, {number}, {}", counted(self.files.bytes(), "byte"));
        for (file, report) in files.iter().zip(&inspection.reports) {
            if files.len() <= MANY || report.corruption_count > 0 {
                print_file(file, report, &self.places(file));
            }
        }
        if files.len() > MANY {
            let whole = inspection.reports.iter().filter(|report| report.corruption_count == 0);
            println!("  and {} files without corruption", grouped(whole.count() as u64));
        }
        self.print_chain();
        self.print_order();
        let summary = &inspection.summary;
        print_some(&summary.branches, |branch| println!("stale: {}", self.branch(branch)));
        if inspection.is_linked() {
            print_some(&summary.gaps, |gap| println!("gap: {}", self.gap(gap)));
        } else {
            print_some(inspection.tree.found(), |found| println!("block: {}", self.block(found)));
        }
        print_some(inspection.tree.refused(), |refused| {
            println!("REFUSED: {}", self.refused(refused));
        });
        if let Some(bodies) = &inspection.bodies {
            print_bodies(bodies);
        }
    }

    /// The corrupt ranges of a file.
    fn places(&self, file: &BlockFile) -> Vec<&CorruptRange> {
        let files = self.files.files();
        let is_of = |place: &&CorruptRange| {
            files.get(place.file as usize).is_some_and(|it| it.path() == file.path())
        };
        self.inspection.places.iter().filter(is_of).collect()
    }

    fn network(&self) -> String {
        match (self.files.network(), &self.inspection.params) {
            (Some(network), _) => network.to_string(),
            (None, Some(params)) => params.name.to_owned(),
            (None, None) => "unknown network".to_owned(),
        }
    }

    fn print_chain(&self) {
        let (tree, summary) = (&self.inspection.tree, &self.inspection.summary);
        if !self.inspection.is_linked() {
            println!("chain: none of these blocks follows the genesis block of a known network");
            return;
        }
        let id = tree.hash(summary.tip);
        println!("chain: heights 0 to {}, tip {id}", grouped(summary.height.into()));
        let date = blockmill_report::date(tree.time(summary.tip).into()).unwrap_or_default();
        let bits = (tree.chain_work(summary.tip) as f64).log2();
        println!("       the tip's time is {date}; 2^{bits:.1} hashes of work");
    }

    fn print_order(&self) {
        let summary = &self.inspection.summary;
        let blocks = counted(summary.records.into(), "block");
        let later = grouped(summary.parents_later.into());
        let rate = 100.0 * summary.out_of_order_rate();
        println!("order: {blocks} found, {later} ({rate:.1} %) before their parents");
        if summary.held_back > 0 {
            let held_back = grouped(summary.held_back.into());
            println!("       {held_back} must wait for earlier ones when files are read in order");
        }
        if summary.repeated > 0 {
            let repeated = grouped(summary.repeated.into());
            println!("       {repeated} repeat a block of another record");
        }
        if summary.unlinked > 0 {
            println!("       not linked to the chain: {}", grouped(summary.unlinked.into()));
        }
    }

    fn branch(&self, branch: &Branch) -> String {
        let id = self.inspection.tree.hash(branch.tip);
        let fork = grouped(branch.fork_height.into());
        format!("{} after height {fork}, tip {id}", counted(branch.length.into(), "block"))
    }

    fn gap(&self, gap: &Gap) -> String {
        let (missing, blocks) = (gap.missing, counted(gap.records.into(), "block"));
        let first = self.inspection.tree.found().get(gap.first as usize);
        let location = first.map_or(String::new(), |found| self.location(found));
        format!("block {missing} is missing, before {blocks}, the first at {location}")
    }

    /// A block that is not linked: its hash, date and parent.
    fn block(&self, found: &Found) -> String {
        let date = blockmill_report::date(found.header().time().into()).unwrap_or_default();
        let (id, previous) = (found.hash, found.header().previous());
        format!("{id} of {date}, after {previous}")
    }

    fn refused(&self, refused: &Refused) -> String {
        let Some(found) = self.inspection.tree.found().get(refused.record as usize) else {
            return String::new();
        };
        let (id, location) = (found.hash, self.location(found));
        match refused.reason {
            RefusalReason::Rule(height, violation) => {
                format!("block {} ({id}), {location}: {violation}", grouped(height.into()))
            }
            RefusalReason::Ancestor(_) => {
                format!("block {id}, {location}: the block before it was refused")
            }
        }
    }

    fn path(&self, found: &Found) -> String {
        let file = self.files.files().get(found.file as usize);
        file.map_or(String::new(), |file| file.path().display().to_string())
    }

    fn location(&self, found: &Found) -> String {
        format!("{} byte {}", self.path(found), found.offset)
    }

    /// What was found, in a line. A datadir may have been checked, too.
    fn print_verdict(&self, deep: bool, has_datadir: bool, checked: Option<&CheckedDatadir>) {
        let inspection = self.inspection;
        if let Some(checked) = checked.filter(|checked| checked.corruption_count > 0) {
            let places = counted(checked.corruption_count, "corrupt place");
            println!("The datadir is corrupt: {places}. Its block files:");
        }
        let corruption: u64 = inspection.reports.iter().map(|report| report.corruption_count).sum();
        let harmless = |place: &&CorruptRange| matches!(place.meaning, Meaning::Nothing(_));
        let notes = inspection.places.iter().filter(harmless).count() as u64;
        let corruption = corruption - notes;
        let (refused, gaps) = (inspection.summary.refused, inspection.summary.gaps.len());
        let bad = inspection.bodies.as_ref().map_or(0, |bodies| bodies.fault_count);
        let depth = match (deep, has_datadir) {
            _ if self.files.headers_only().is_some() => "headers, without blocks",
            (true, _) => "every body checked",
            (false, false) => "headers only; --deep checks bodies",
            (false, true) => "headers and coins; --deep checks bodies, undo files and databases",
        };
        if inspection.is_sound() && gaps > 0 {
            println!("No corruption; the blocks before these are missing ({depth}).");
        } else if inspection.is_sound() && notes > 0 {
            let notes = counted(notes, "odd place");
            println!("No corruption, no gaps; {notes} without loss of a block ({depth}).");
        } else if inspection.is_sound() {
            println!("No corruption, no gaps ({depth}).");
        } else {
            let bodies = match bad {
                1 => "1 bad body".to_owned(),
                _ => format!("{} bad bodies", grouped(bad)),
            };
            let found: Vec<String> = [
                (corruption, counted(corruption, "damaged place")),
                (refused.into(), counted(refused.into(), "refused header")),
                (bad, bodies),
                (gaps as u64, counted(gaps as u64, "gap")),
            ]
            .into_iter()
            .filter_map(|(count, text)| (count > 0).then_some(text))
            .collect();
            let word = match inspection.status() {
                Status::Corrupt => "Corrupt",
                Status::Invalid => "Invalid",
                _ => "Incomplete",
            };
            println!("{word}: {} ({depth}).", found.join(", "));
        }
    }
}

/// Prints the first items of a list, and the number of the others.
pub(super) fn print_some<T>(all: &[T], print: impl Fn(&T)) {
    all.iter().take(SHOWN).for_each(print);
    if all.len() > SHOWN {
        println!("       and {} more of these; --json lists all", all.len() - SHOWN);
    }
}

/// The consequence of a corrupt range, in one word.
fn meaning(place: &CorruptRange) -> &'static str {
    match place.meaning {
        Meaning::Length(_) => "corrupt",
        Meaning::Lack(_) => "incomplete",
        Meaning::Nothing(_) => "note",
    }
}

fn place_text(place: &CorruptRange) -> String {
    match &place.meaning {
        Meaning::Length(wrong) => wrong.text(),
        Meaning::Nothing(Some(id)) => {
            format!("{}; another record has block {id}, too", place.corruption)
        }
        Meaning::Lack(_) | Meaning::Nothing(None) => place.corruption.to_string(),
    }
}

fn print_file(file: &BlockFile, report: &FileReport, places: &[&CorruptRange]) {
    println!("{}", file.path().display());
    let (blocks, bytes) = (counted(report.records, "block"), counted(report.bytes, "byte"));
    let how = if file.key().is_none() { "plain" } else { "obfuscated" };
    let tail = match report.zero_tail {
        0 => String::new(),
        zeros => format!(", {} at the end", counted(zeros, "zero")),
    };
    println!("  {blocks}, {bytes}, {how}{tail}");
    for place in places.iter().take(SHOWN) {
        let label = match place.meaning {
            Meaning::Nothing(_) => meaning(place).to_owned(),
            Meaning::Length(_) | Meaning::Lack(_) => meaning(place).to_uppercase(),
        };
        println!("  {label}: byte {}: {}", place.corruption.offset, place_text(place));
    }
    let more = report.corruption_count.saturating_sub(SHOWN as u64);
    if more > 0 {
        println!("  and {} more", counted(more, "corrupt place"));
    }
}

fn print_bodies(bodies: &CheckedBodies) {
    let transactions = counted(bodies.transactions, "transaction");
    let (inputs, outputs) = (counted(bodies.inputs, "input"), counted(bodies.outputs, "output"));
    println!("bodies: {} good, {transactions}, {inputs}, {outputs}", grouped(bodies.blocks));
    print_some(&bodies.faults, |fault| println!("BAD BODY: {}", body_fault(fault)));
}

fn body_fault(fault: &BodyFault) -> String {
    let (id, file, offset) = (fault.hash, fault.file.display(), fault.offset);
    let height =
        fault.height.map_or("".to_owned(), |height| format!("{} ", grouped(height.into())));
    format!("block {height}({id}), {file} byte {offset}: {}", fault.cause)
}
