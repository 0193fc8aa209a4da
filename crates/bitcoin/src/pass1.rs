//! Pass 1: from files to the tree of their headers.

use crate::fault::{Cause, Error, Fault};
use crate::index::{self, FileStamp, Found, Loaded, Tree, Why};
use crate::options::Options;
use crate::run::{Run, Tip};
use crate::scan::{self, Counts};
use crate::{Id, Level};
use archive::blkdat::BlockFiles;
use std::path::Path;
use std::time::Instant;

/// Name of the index in the folder of the store.
const INDEX: &str = "index";
/// Faults of headers that are listed.
const MAX_LISTED: usize = 100;

/// Finds the headers of all blocks and links them. With a folder, what an earlier run found in
/// files that have not changed since is taken over, and what is found is kept.
pub(crate) fn index(
    files: &BlockFiles,
    options: &Options,
    data: Option<&Path>,
    run: &mut Run,
) -> Result<Tree, Error> {
    let start = Instant::now();
    let found = match data {
        Some(data) => known_or_found(files, options, data, run)?,
        None => scan(files, &all(files), options, run)?,
    };
    run.counts.files = files.files().len() as u64;
    run.counts.file_bytes = files.bytes();
    run.counts.blocks = found.len() as u64;
    let tree = Tree::build(&options.params, found, options.now);
    report(&tree, files, run);
    run.index_s = start.elapsed().as_secs_f64();
    match run.best {
        Some(best) if best.height > 0 || options.level == Level::Headers => Ok(tree),
        _ => Err(Error::Empty),
    }
}

/// Takes over what the index file of an earlier run knows, and scans the other files.
fn known_or_found(
    files: &BlockFiles,
    options: &Options,
    data: &Path,
    run: &mut Run,
) -> Result<Vec<Found>, Error> {
    std::fs::create_dir_all(data).map_err(Error::system("make", data))?;
    let place = data.join(INDEX);
    let magic = options.params.magic;
    let stamps = stamps(files)?;
    let mut kept = index::Kept { found: vec![], to_scan: all(files) };
    match index::load(&place, magic).map_err(Error::Index)? {
        Loaded::Nothing => {}
        Loaded::Index(saved) => kept = index::take_over(saved, &stamps),
        Loaded::Damaged(damage) => run.damage.push(damage.to_string()),
    }
    let mut found = kept.found;
    if !kept.to_scan.is_empty() {
        found.extend(scan(files, &kept.to_scan, options, run)?);
        index::save(&place, magic, &stamps, &found).map_err(Error::Index)?;
    }
    Ok(found)
}

/// The places of all files.
fn all(files: &BlockFiles) -> Vec<u32> {
    (0..files.files().len() as u32).collect()
}

fn stamps(files: &BlockFiles) -> Result<Vec<FileStamp>, Error> {
    let stamp = |file: &archive::blkdat::BlockFile| {
        let path = std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_path_buf());
        FileStamp::of(&path, file.key().0).map_err(Error::system("read", file.path()))
    };
    files.files().iter().map(stamp).collect()
}

/// Scans the files in these places.
fn scan(
    files: &BlockFiles,
    places: &[u32],
    options: &Options,
    run: &mut Run,
) -> Result<Vec<Found>, Error> {
    let some = files.only(places);
    let known = [options.params.genesis_hash];
    let scan = scan::pass1(&some, &known, &options.variants, options.threads)?;
    run.scan_s = scan.times.scan_s;
    run.counts = Counts { bytes_read: scan.counts.bytes_read, ..scan.counts };
    for (file, report) in some.files().iter().zip(&scan.reports) {
        let name = file.path().display();
        let damage = report.damage.iter();
        run.damage.extend(damage.map(|damage| format!("{name}: byte {}: {damage}", damage.offset)));
    }
    let place = |found: Found| Found { file: places[found.file as usize], ..found };
    Ok(scan.found.into_iter().map(place).collect())
}

/// The first header that breaks a rule where the best chain would go on: because of it the chain is
/// shorter than the files. Bad headers in branches beside it are notes.
pub(crate) fn refused_above(tree: &Tree, files: &BlockFiles) -> Option<Fault> {
    let best = tree.height(tree.best_tip());
    tree.refused().iter().find_map(|refused| {
        let Why::Rule(height, violation) = refused.why else { return None };
        let found = tree.found().get(refused.record as usize).filter(|_| height > best)?;
        let file = files.files().get(found.file as usize)?.path().to_path_buf();
        let (hash, offset, cause) = (found.hash, found.offset, Cause::Header(violation));
        Some(Fault { height, hash, file, offset, cause })
    })
}

/// Says what was found.
fn report(tree: &Tree, files: &BlockFiles, run: &mut Run) {
    let best = tree.best_tip();
    run.best = Some(Tip { height: tree.height(best), hash: *tree.hash(best) });
    run.stale = u64::from(tree.len()) - u64::from(tree.height(best)) - 1;
    let place = |record: u32| {
        let found = tree.found().get(record as usize)?;
        let name = files.files().get(found.file as usize)?.path().display();
        Some(format!("{name}: byte {}: block", found.offset))
    };
    for refused in tree.refused().iter().take(MAX_LISTED) {
        let Some(place) = place(refused.record) else { continue };
        let id = Id(&tree.found()[refused.record as usize].hash);
        run.damage.push(match refused.why {
            Why::Rule(height, violation) => format!("{place} {height} ({id}): {violation}"),
            Why::Ancestor(_) => format!("{place} {id}: the block before it was refused"),
        });
    }
    for gap in tree.gaps().iter().take(MAX_LISTED) {
        let Some(place) = place(gap.first) else { continue };
        let (first, missing) = (Id(&tree.found()[gap.first as usize].hash), Id(&gap.missing));
        let what = format!("expected the block before it, {missing}, found it in no file");
        run.damage.push(format!("{place} {first}: {what} ({} blocks follow it)", gap.records));
    }
}
