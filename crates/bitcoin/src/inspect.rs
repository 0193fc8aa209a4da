//! Inspects block files without an import: files, best chain, branches, gaps, refused headers, and
//! on request every body.

mod bodies;
mod coins;

pub use bodies::{BodyFault, CheckedBodies};
pub use coins::{
    CoreState, Stored, coins_owner, core_state, datadir_of, is_datadir, is_store, stored, unchecked,
};

use crate::Error;
use crate::index::pass1::Index;
use crate::index::scan::{FindBlocks, HeaderScan};
pub use crate::index::shortfalls::{CorruptRange, Meaning};
use crate::index::{Found, Summary, Tree, WrongLength};
use crate::index::{shortfalls, suspects};
use crate::params::Params;
use blockmill_archive::blkdat::{BlockFiles, FileReport};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::live::Live;
use blockmill_verdict::{Shortfall, Status};

/// The inspection of some block files.
pub struct Inspection {
    /// The network. `None` if neither a magic nor a genesis block identifies it.
    pub params: Option<Params>,
    /// Blocks, corruption and zeros of each file, in the order of the files.
    pub reports: Vec<FileReport>,
    /// What the corruption means, place by place.
    pub places: Vec<CorruptRange>,
    /// Missing files between others.
    pub lacks: Vec<Shortfall>,
    /// The tree of all headers.
    pub tree: Tree,
    /// Summary of the tree.
    pub summary: Summary,
    /// The result of checking every body. `None` if that was not requested.
    pub bodies: Option<CheckedBodies>,
}

impl Inspection {
    /// Returns whether the headers of these files reach the genesis block of the network.
    pub fn is_linked(&self) -> bool {
        self.params.is_some() && self.summary.height > 0
    }

    /// Returns whether files are complete, headers and checked bodies valid, and no block missing.
    pub fn is_sound(&self) -> bool {
        self.status() == Status::Ok
    }

    /// Corruption counts before blocks that break a rule, and these before missing blocks. Blocks
    /// that follow none of the genesis blocks may begin elsewhere, but only in one place.
    #[must_use]
    pub fn status(&self) -> Status {
        let bad_bodies = self.bodies.as_ref().is_some_and(|bodies| bodies.fault_count > 0);
        let starts = usize::from(!self.is_linked());
        if self.wrong_lengths().next().is_some() {
            Status::Corrupt
        } else if bad_bodies || self.summary.refused > 0 {
            Status::Invalid
        } else if self.lacks_bytes() || !self.lacks.is_empty() || self.summary.gaps.len() > starts {
            Status::Incomplete
        } else {
            Status::Ok
        }
    }

    /// Records with corrupt length fields, by which Bitcoin Core loses blocks.
    pub fn wrong_lengths(&self) -> impl Iterator<Item = &WrongLength> {
        self.places.iter().filter_map(|place| match &place.meaning {
            Meaning::Length(wrong) => Some(&**wrong),
            Meaning::Lack(_) | Meaning::Nothing(_) => None,
        })
    }

    /// May blocks be lost in corrupt places?
    fn lacks_bytes(&self) -> bool {
        let listed = self.places.len() as u64;
        let all: u64 = self.reports.iter().map(|report| report.corruption_count).sum();
        let lacks = |place: &CorruptRange| matches!(place.meaning, Meaning::Lack(_));
        all > listed || self.places.iter().any(lacks)
    }
}

/// Reads the headers of `files` on `threads` threads and links them, and with `deep` checks every
/// body as far as possible without coins. Continues after corruption. `now` is the clock in seconds
/// since 1970. What it does is shown to those that look at `live`.
///
/// # Errors
/// When a file cannot be read.
pub fn inspect(
    files: &BlockFiles,
    threads: usize,
    deep: bool,
    now: Option<u64>,
    live: &Live,
) -> Result<Inspection, Error> {
    live.plan(if deep { &["index", "verify bodies"] } else { &["index"] });
    let scan = HeaderScan { threads }.find_blocks(files, &Cancel::shown_to(live))?;
    let params = network(files, &scan.found);
    let known = params.clone().unwrap_or_else(Params::mainnet);
    let mut index = Index::empty(&known);
    for (file, report) in (0..).zip(&scan.reports) {
        index.corruption.extend(report.corruption.iter().map(|corruption| (file, *corruption)));
        index.unlisted += report.corruption_count - report.corruption.len() as u64;
    }
    index.tree = Tree::build(&known, scan.found, now);
    let checked = loop {
        let trailing = suspects::find(files, &index.tree)?;
        let more = index.find_hidden_blocks(files, trailing)?;
        if !more.is_empty() {
            index.tree = Tree::build(&known, index.take_found(&known, more), now);
            continue;
        }
        let params = params.as_ref();
        let checked = deep.then(|| bodies::check(files, &index.tree, params, threads, live));
        let trailing =
            checked.iter().flat_map(|checked| checked.trailing.iter().copied()).collect();
        let more = index.find_hidden_blocks(files, trailing)?;
        if more.is_empty() {
            break checked;
        }
        index.tree = Tree::build(&known, index.take_found(&known, more), now);
    };
    let places = shortfalls::places(files, &index);
    let reports = reports(scan.reports, &index, &places);
    let (summary, tree) = (index.tree.summary(), index.tree);
    let lacks = shortfalls::missing_files(files);
    Ok(Inspection { params, reports, places, lacks, tree, summary, bodies: checked })
}

/// The reports, with the findings of reading bodies.
fn reports(
    mut reports: Vec<FileReport>,
    index: &Index,
    places: &[CorruptRange],
) -> Vec<FileReport> {
    for report in &mut reports {
        report.corruption_count -= report.corruption.len() as u64;
        report.corruption.clear();
        (report.records, report.block_bytes) = (0, 0);
    }
    for CorruptRange { file, corruption, .. } in places {
        let Some(report) = reports.get_mut(*file as usize) else { continue };
        report.corruption.push(*corruption);
        report.corruption_count += 1;
    }
    for found in index.tree.found() {
        let Some(report) = reports.get_mut(found.file as usize) else { continue };
        report.records += 1;
        report.block_bytes += u64::from(found.size);
    }
    reports
}

/// The network of the magic, or else of a genesis block that the files have or follow. The
/// challenge of a custom signet remains unknown, so signatures of blocks are not checked.
fn network(files: &BlockFiles, found: &[Found]) -> Option<Params> {
    if let Some(network) = files.network() {
        let magic = network.magic();
        let signet = || Params { magic, signet_challenge: None, ..Params::signet() };
        return Some(Params::by_magic(magic).unwrap_or_else(signet));
    }
    let follows = |params: &Params| {
        let genesis = params.genesis_hash;
        found.iter().any(|one| one.hash == genesis || one.header().previous() == genesis)
    };
    Params::all().into_iter().find(follows)
}
