//! Inspects archives of any formats: format, range, gaps, corruption.

use std::path::{Path, PathBuf};

use crate::detect::{candidates, format_of, format_of_file};
use crate::format::claims_to_be_archive;
use crate::listing::{disk_bytes, is_input_folder};
use crate::names::natural_order;
use crate::report::{FileReport, Gap, Inspection, gaps};
use crate::{Archive, ChunkLimit, Error, LeftOut, Packed, Want, foreign};

/// Inspects everything in `paths`, archives of any formats, and continues after corruption.
///
/// With `deep` every record is decoded: checksums, decompression, RLP structure. Without it only
/// indexes and lengths are read; streams of RLP have no index and are always read whole. A folder
/// means the archives in it.
///
/// # Errors
///
/// Returns [`Error::Io`] or [`Error::Special`] if a path cannot be opened, and
/// [`Error::UnknownFormat`] or [`Error::Foreign`] if no file is an archive or has the name of one.
pub fn inspect(paths: &[PathBuf], deep: bool) -> Result<Inspection, Error> {
    let mut files = vec![];
    for path in paths {
        if is_input_folder(path)? {
            let candidates = candidates(path)?.into_iter();
            files.extend(candidates.map(|path| (claims_to_be_archive(&path), path)));
        } else {
            files.push((true, path.clone()));
        }
    }
    files.sort_by(|a, b| natural_order(&a.1, &b.1));
    files.dedup_by(|a, b| a.1 == b.1);
    let mut left_out = LeftOut::default();
    for (_, path) in files.iter().filter(|(meant, _)| !meant) {
        if let Err(Error::UnknownFormat { .. } | Error::Foreign { .. }) = format_of(path) {
            left_out.add(path.clone())?;
        }
    }
    let mut files: Vec<_> =
        files.iter().map(|(meant, path)| inspect_one(path, *meant, deep)).collect();
    let read = files.iter().filter(|file| file.format.is_some());
    left_out.forget_sources_of(read.map(|file| &*file.path));
    if files.iter().all(|file| file.format.is_none() && !claims_to_be_archive(&file.path)) {
        return Err(nothing_in(paths));
    }
    let mut gaps = gaps(&files);
    gaps.retain(|gap| !overlaps(gap, &mut files));
    Ok(Inspection { files, gaps, left_out })
}

/// Whether files overlap instead of leaving a gap. The blocks of both are then compared, and the
/// report of the second file has the result.
fn overlaps(gap: &Gap, files: &mut [FileReport]) -> bool {
    if gap.found >= gap.expected {
        return false;
    }
    let Some(after) = files.iter_mut().find(|file| file.path == gap.after) else { return false };
    match compared(&[gap.before.clone(), gap.after.clone()]) {
        Ok(Some(note)) => after.notes.push(note),
        Err(error @ Error::Repeated { .. }) => after.add_error(&error),
        Ok(None) | Err(_) => return false,
    }
    true
}

/// Reads files that overlap and returns the note of the reader.
fn compared(files: &[PathBuf]) -> Result<Option<String>, Error> {
    let archive = Archive::open(files)?;
    let want = Want { bodies: archive.has_bodies(), receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX)?;
    let mut packed = Packed::new();
    while reader.read(&mut packed)? {}
    Ok(reader.note())
}

/// The error of paths without an archive.
fn nothing_in(paths: &[PathBuf]) -> Error {
    let of_path = |path: &PathBuf| match is_input_folder(path) {
        Err(error) => Some(error),
        Ok(true) => {
            let found = foreign::what_is_in(path);
            Some(foreign::name(path, Error::UnknownFormat { path: path.clone(), found }))
        }
        Ok(false) => format_of_file(path).err().map(|error| foreign::name(path, error)),
    };
    let path = || paths.first().cloned().unwrap_or_default();
    let nothing = || Error::UnknownFormat { path: path(), found: "no files".into() };
    paths.iter().find_map(of_path).unwrap_or_else(nothing)
}

/// Inspects one file or ancient folder. `meant` says that the user named it or that its name claims
/// to be an archive.
fn inspect_one(path: &Path, meant: bool, deep: bool) -> FileReport {
    let mut report = FileReport {
        path: path.to_path_buf(),
        bytes: disk_bytes(path),
        compression: "none",
        ..FileReport::default()
    };
    let format = format_of(path);
    match format {
        Ok(format) => {
            report.format = Some(format);
            report.network = (format.row().network)(path);
            (format.row().inspect)(path, deep, &mut report);
        }
        Err(Error::UnknownFormat { found, .. }) if !meant => {
            report.notes.push(format!("not an archive: {found}"));
        }
        Err(Error::Foreign { what, instead, .. }) => {
            report.notes.push(format!("{what}, which cannot be read: {instead}"));
        }
        Err(error) => report.add_error(&error),
    }
    report
}
