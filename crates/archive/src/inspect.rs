//! Inspects archives of any formats: format, range, gaps, corruption.

use std::path::{Path, PathBuf};

use crate::detect::{candidates, format_of, format_of_file};
use crate::format::claims_to_be_archive;
use crate::listing::{disk_bytes, is_input_folder};
use crate::names::natural_order;
use crate::report::{FileReport, Gap, Inspection, gaps};
use crate::{Archive, ChunkLimit, Error, LeftOut, Packed, Want, foreign};

/// Looks at everything in `paths`, archives of any formats, and goes on after damage.
///
/// `deep` decodes every record: checksums, decompression, RLP shape; else only indexes and lengths
/// are read (streams of RLP have no index and are always read whole). A folder stands for
/// the archives in it. Fails when a path cannot be opened at all, and when nothing in them is an
/// archive, or is named like one.
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

/// Whether files overlap instead of leaving a gap: then the blocks of both are compared, and the
/// report of the second file says what was found.
fn overlaps(gap: &Gap, files: &mut [FileReport]) -> bool {
    if gap.found >= gap.expected {
        return false;
    }
    let Some(after) = files.iter_mut().find(|file| file.path == gap.after) else { return false };
    match compared(&[gap.before.clone(), gap.after.clone()]) {
        Ok(Some(note)) => after.notes.push(note),
        Err(error @ Error::Repeated { .. }) => after.damaged(&error),
        Ok(None) | Err(_) => return false,
    }
    true
}

/// What a reader says of files that overlap.
fn compared(files: &[PathBuf]) -> Result<Option<String>, Error> {
    let archive = Archive::open(files)?;
    let want = Want { bodies: archive.has_bodies(), receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX)?;
    let mut packed = Packed::new();
    while reader.read(&mut packed)? {}
    Ok(reader.note())
}

/// What was found instead of an archive, or the system's answer.
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

/// Looks at one file or ancient folder, which is `meant` to be an archive or is just there.
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
        Err(error) => report.damaged(&error),
    }
    report
}
