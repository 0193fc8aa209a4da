//! Loads headers from the index file of an earlier run, and saves them for the next one.

use super::{Index, all, scan};
use crate::data_folder::{INDEX, stored_state};
use crate::error::Error;
use crate::index::scan::FindBlocks;
use crate::index::{self, FileStamp, Found, Loaded};
use crate::options::Options;
use crate::params::Params;
use crate::run::Run;
use blockmill_archive::blkdat::{BlockFile, BlockFiles};
use blockmill_platform::remote::is_remote;
use std::path::Path;

/// Returns the headers of all files: those of unchanged files from the index file of an earlier
/// run, the others by a scan. Saves the headers for the next run.
pub(super) fn load_or_scan(
    files: &BlockFiles,
    finder: &mut impl FindBlocks,
    options: &Options,
    data: &Path,
    index: &mut Index,
    run: &mut Run,
) -> Result<Vec<Found>, Error> {
    std::fs::create_dir_all(data).map_err(Error::system("make", data))?;
    let path = data.join(INDEX);
    let stamps = stamps(files)?;
    let mut reusable = index::Reusable { found: vec![], to_scan: all(files) };
    match index::load(&path, options.params.magic).map_err(Error::Index)? {
        Loaded::Index(saved) => reusable = index::reuse(saved, &stamps),
        Loaded::Corrupt(corruption) => run.notes.push(corruption.to_string()),
        Loaded::Foreign(found) => return Err(foreign(&options.params, found)),
        Loaded::Nothing => {}
    }
    let mut found = reusable.found;
    if !reusable.to_scan.is_empty() {
        found.extend(scan(files, &reusable.to_scan, finder, options, index, run)?);
        save(data, options, stamps, &found, index)?;
    }
    Ok(found)
}

/// Saves the headers for the next run. Each run scans corrupt files again, to report them. Headers
/// without the last committed block of the store are not saved: its blocks are in other files,
/// which only the present index names, and the import of these files will be refused.
pub(super) fn save(
    data: &Path,
    options: &Options,
    mut stamps: Vec<FileStamp>,
    found: &[Found],
    index: &Index,
) -> Result<(), Error> {
    let state = stored_state(data)?;
    if state.is_some_and(|state| !index::has_tip(found, state.tip)) {
        return Ok(());
    }
    for (file, _) in &index.corruption {
        if let Some(stamp) = stamps.get_mut(*file as usize) {
            stamp.length = index::CORRUPT_LENGTH;
        }
    }
    index::save(&data.join(INDEX), options.params.magic, &stamps, found).map_err(Error::Index)
}

/// The error for the index of another network.
fn foreign(params: &Params, found: [u8; 4]) -> Error {
    let stored = Params::all().into_iter().find(|params| params.magic == found);
    let unknown = || format!("the network with the magic {found:02x?}");
    let expected = stored.map_or_else(unknown, |stored| format!("Bitcoin {}", stored.name));
    Error::OtherChain { expected, found: format!("Bitcoin {}", params.name) }
}

/// The stamps of all files now.
///
/// # Errors
/// Returns [`Error::System`] if a file cannot be inspected.
pub(super) fn stamps(files: &BlockFiles) -> Result<Vec<FileStamp>, Error> {
    let stamp = |file: &BlockFile| {
        let given = file.path();
        if blockmill_archive::is_pipe(given) {
            return Ok(FileStamp::for_pipe(given, file.length()));
        }
        // a URL is the same one in every folder
        let path = match is_remote(given) {
            true => given.to_path_buf(),
            false => std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf()),
        };
        FileStamp::read(&path, file.key().0).map_err(Error::system("read", given))
    };
    files.files().iter().map(stamp).collect()
}
