//! What commands write, and what they may replace.

use crate::args::{Force, Outputs, Target};
use crate::stop;
use anyhow::{Context, Result, ensure};
use archive::output::{Claim, Shape, is_numbered, keep_apart, remove_leftovers};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that marks a folder of results as one that `bench` and `report` may write again.
const RESULTS: &str = ".blockmill-results";

/// Bytes of a page with its charts, about.
const RESULT_BYTES: u64 = 2 << 20;

/// The right to write `out`, which is not, holds not and lies not in any of `inputs`.
pub fn claim(out: &Path, inputs: &[PathBuf], shape: Shape, force: Force) -> Result<Claim> {
    let claim = Claim::of(out, inputs, shape, force.force)?;
    for path in remove_leftovers(out)? {
        eprintln!("removed {}, which an interrupted run had left", path.display());
    }
    Ok(claim)
}

/// What an archive in this format looks like on disk.
pub fn shape_of(target: Target) -> Shape {
    match target {
        Target::Rlp | Target::RlpGz | Target::Headers => Shape::File,
        Target::Era1 => Shape::FilesIn,
        Target::Freezer => Shape::Folder(is_of_freezer),
        Target::Blk => Shape::Folder(is_block_file),
        Target::Core => Shape::Folder(is_of_datadir),
    }
}

/// A table of an ancient folder, which geth 1.17 keeps in `chain`.
fn is_of_freezer(path: &Path) -> bool {
    let table = path.strip_prefix("chain").unwrap_or(path);
    let ending = table.extension().and_then(|ending| ending.to_str());
    let is_table = ["cidx", "ridx", "cdat", "rdat", "meta"].iter().any(|e| Some(*e) == ending);
    table.components().count() == 1 && (is_table || table == Path::new("FLOCK"))
}

/// Block files and the key that they are hidden with.
pub fn is_block_file(path: &Path) -> bool {
    path == Path::new("xor.dat") || is_numbered(path.as_os_str(), "blk", ".dat")
}

/// What the hand-over writes. Once Bitcoin Core has run there, there are files that are not in
/// this list, and the datadir is never replaced.
fn is_of_datadir(path: &Path) -> bool {
    let networks = ["testnet3", "testnet4", "signet", "regtest"];
    let path = networks.iter().find_map(|name| path.strip_prefix(name).ok()).unwrap_or(path);
    if let Ok(blocks) = path.strip_prefix("blocks") {
        return is_block_file(blocks)
            || is_numbered(blocks.as_os_str(), "rev", ".dat")
            || blocks.strip_prefix("index").is_ok_and(is_of_leveldb);
    }
    path.strip_prefix("chainstate").is_ok_and(is_of_leveldb)
}

fn is_of_leveldb(path: &Path) -> bool {
    let name = path.as_os_str();
    let is_numbered = |ending| is_numbered(name, "", ending);
    name == "CURRENT"
        || name == "LOCK"
        || name.as_encoded_bytes().starts_with(b"MANIFEST-")
        || is_numbered(".ldb")
        || is_numbered(".log")
}

/// A record that a run will write when it is over; looked at before it begins.
pub fn record(path: Option<&Path>, inputs: &[PathBuf], force: Force) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    keep_apart(path, inputs, Shape::FilesIn)?;
    let is_free = force.force || !path.exists();
    let path = path.display();
    ensure!(is_free, "{path}: expected a new file, or --force, found a file of that name");
    Ok(())
}

/// A folder of results, which are made to be looked at and made again. It is new or empty, or it
/// was made by us, which a file in it says; then files of the same names are replaced.
pub fn results(folder: &Path, force: Force) -> Result<()> {
    stop::leaves(format!("{} may lack files; those that are there are whole", folder.display()));
    stop::writes(folder, RESULT_BYTES);
    mark(folder, RESULTS, force)
}

/// A folder of our own, with its mark in it.
pub fn mark(folder: &Path, mark: &str, force: Force) -> Result<()> {
    let is_ours = |folder: &Path| folder.join(mark).exists();
    let is_free = match fs::read_dir(folder) {
        // others of our own may be in it
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.path()))),
        Err(_) => !folder.exists(),
    };
    let name = folder.display();
    ensure!(
        is_free || is_ours(folder) || force.force,
        "{name}: expected a new folder or one of ours, or --force, found a folder with other files"
    );
    fs::create_dir_all(folder).with_context(|| format!("cannot create {name}"))?;
    let mark = folder.join(mark);
    let text = "blockmill made this folder, and replaces what it wrote here.\n";
    fs::write(&mark, text).with_context(|| format!("cannot write {}", mark.display()))
}

/// Asks for room on disk, unless the user does not want that.
pub fn expect_room(out: &Path, needed: u64, outputs: Outputs) -> io::Result<()> {
    if outputs.no_space_check { Ok(()) } else { pipeline::disk::expect_room(out, needed) }
}
