//! What commands write, and what they may replace.

use crate::args::{Force, Outputs};
use crate::paths::{is_folder, is_there, list};
use crate::stop;
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::{Claim, Shape, keep_apart, remove_leftovers};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that marks a folder of results as one that `bench` and `report` may write again.
const RESULTS: &str = ".blockmill-results";

/// Bytes of a page with its charts, about.
const RESULT_BYTES: u64 = 2 << 20;

/// The right to write `out`, which is not, holds not and lies not in any of `inputs`.
pub fn claim(out: &Path, inputs: &[PathBuf], shape: Shape, force: Force) -> Result<Claim> {
    let claim = Claim::new(out, inputs, shape, force.force)?;
    for path in remove_leftovers(out)? {
        eprintln!("removed {}, which an interrupted run had left", path.display());
    }
    Ok(claim)
}

/// Checks the path of a record before the run, which writes it at its end.
pub fn record(path: Option<&Path>, inputs: &[PathBuf], force: Force) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    keep_apart(path, inputs, Shape::FilesIn)?;
    let is_free = force.force || !is_there(path)?;
    let path = path.display();
    ensure!(is_free, "{path}: expected a new file, or --force, found a file of that name");
    Ok(())
}

/// Checks a folder of results, which may be written again. It is new or empty, or this program
/// created it, which a file in it proves; then files of the same names are replaced.
pub fn results(folder: &Path) -> Result<()> {
    stop::leaves(format!("{} may lack files; those that are there are whole", folder.display()));
    stop::writes(folder, RESULT_BYTES);
    mark(folder, RESULTS)
}

/// A folder of our own, with its mark in it.
pub fn mark(folder: &Path, mark: &str) -> Result<()> {
    let is_ours = |folder: &Path| is_there(&folder.join(mark));
    let mut is_free = is_folder(folder)? || !is_there(folder)?;
    // others of our own may be in it
    for entry in if is_free { list(folder)? } else { vec![] } {
        is_free &= is_ours(&entry)?;
    }
    let name = folder.display();
    ensure!(
        is_free || is_ours(folder)?,
        "{name}: expected a new folder or one of ours, found a folder with other files"
    );
    fs::create_dir_all(folder).with_context(|| format!("cannot create {name}"))?;
    let mark = folder.join(mark);
    let text = "blockmill created this folder, and replaces what it wrote here.\n";
    fs::write(&mark, text).with_context(|| format!("cannot write {}", mark.display()))
}

/// Asks for room on disk, unless the user does not want that.
pub fn expect_room(out: &Path, needed: u64, outputs: Outputs) -> io::Result<()> {
    if outputs.no_space_check { Ok(()) } else { blockmill_pipeline::disk::expect_room(out, needed) }
}
