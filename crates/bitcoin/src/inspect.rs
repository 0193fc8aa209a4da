//! What is in block files, without an import: files, best chain, branches, gaps, headers that are
//! refused, and on request every body.

mod bodies;
mod coins;

pub use bodies::{BodyFault, CheckedBodies};
pub use coins::{
    CoreState, Stored, core_state, datadir_of, is_datadir, is_store, stored, whose_coins,
};

use crate::Error;
use crate::index::scan;
use crate::index::{Found, Summary, Tree};
use crate::option_table::Setting;
use crate::params::Params;
use archive::blkdat::{BlockFiles, Damage, DamageKind, FRAME, FileReport};
use pipeline::Cancel;

/// What some block files hold.
pub struct Inspection {
    /// The network; none when neither a magic nor a genesis block tells it.
    pub params: Option<Params>,
    /// Blocks, damage and zeros of each file, in the order of the files.
    pub reports: Vec<FileReport>,
    /// All headers that were found, and how they are linked.
    pub tree: Tree,
    /// The tree in figures.
    pub summary: Summary,
    /// What reading every body found; none when that was not asked for.
    pub bodies: Option<CheckedBodies>,
}

impl Inspection {
    /// Do the headers of these files reach the network's genesis block?
    pub fn is_linked(&self) -> bool {
        self.params.is_some() && self.summary.height > 0
    }

    /// Are the files whole, and all headers and checked bodies valid, with no block missing? Blocks
    /// that follow none of the genesis blocks may begin elsewhere, but only in one place.
    pub fn is_sound(&self) -> bool {
        let places = usize::from(!self.is_linked());
        self.reports.iter().all(|report| report.damage_count == 0)
            && self.summary.refused == 0
            && self.summary.gaps.len() <= places
            && self.bodies.as_ref().is_none_or(|bodies| bodies.fault_count == 0)
    }
}

/// Reads the headers of `files` on `threads` threads and links them, and with `deep` checks every
/// body as far as it can be without coins. Goes on behind damage. `now` is the clock in seconds
/// since 1970.
///
/// # Errors
/// When a file cannot be read.
pub fn inspect(
    files: &BlockFiles,
    threads: usize,
    deep: bool,
    now: Option<u64>,
) -> Result<Inspection, Error> {
    let scan = scan::find(files, &[], &Setting::default(), threads, &Cancel::new())?;
    let params = network(files, &scan.found);
    let no_params = Params::mainnet();
    let tree = Tree::build(params.as_ref().unwrap_or(&no_params), scan.found, now);
    let checked = deep.then(|| bodies::check(files, &tree, params.as_ref(), threads));
    let (mut reports, summary) = (scan.reports, tree.summary());
    for (found, spare) in checked.iter().flat_map(|checked| &checked.spare) {
        let Some(report) = reports.get_mut(found.file as usize) else { continue };
        let (stated, size) = (found.size, found.size - spare);
        let kind = DamageKind::WrongSize { stated, found: size };
        let (offset, length) = (found.offset.saturating_sub(FRAME), FRAME + u64::from(size));
        report.damage.push(Damage { offset, length, kind });
        report.damage_count += 1;
    }
    Ok(Inspection { params, reports, tree, summary, bodies: checked })
}

/// The network of the magic, else that whose genesis block is there or is followed. Of a signet of
/// somebody's only the challenge stays open: blocks' signatures are not checked then.
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
