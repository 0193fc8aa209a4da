//! `--checksums`: the files of a command are compared with a list of their checksums, before
//! anything else is done with them. A list in the folder of the files is compared unasked.

use crate::answer::Answer;
use crate::check::Watch;
use crate::host;
use anyhow::Result;
use blockmill_archive::file_checksums::{Checksums, Compared, LIST, files_at, list_of};
use blockmill_archive::output::OutputFile;
use blockmill_pipeline::Cancel;
use blockmill_platform::files::{FileKind, kind};
use blockmill_platform::remote::is_remote;
use blockmill_verdict::{FaultReport, Shortfall, ShortfallKind, Status, counted};
use std::collections::BTreeMap;
use std::fs::metadata;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many names a line has.
const NAMED: usize = 5;

/// What a comparison found, apart from files that differ, which end the command.
#[derive(Debug, Default)]
pub struct Checked {
    notes: Vec<String>,
    /// Files without checksum or checksums without file, where the user named the list.
    lacks: Vec<String>,
}

/// Compares the files at `paths` with `list`, or with the lists next to them.
///
/// # Errors
/// An error for the first file that differs (*corrupt*), and for a list that is none.
pub fn compare(
    list: Option<&Path>,
    paths: &[PathBuf],
    json: bool,
    cancel: &Cancel,
) -> Result<Checked> {
    let mut checked = Checked::default();
    if let Some(list) = list {
        let list = Checksums::read(list)?;
        let is_folder = |path: &PathBuf| kind(path).is_ok_and(|found| found == FileKind::Folder);
        let (all, whole) = (files(paths)?, paths.iter().any(is_folder));
        let watch = watch("compare checksums", &all, cancel);
        let found = list.compare(&all, whole, host::cores(), &|bytes| watch.read(bytes))?;
        checked.lacks = checked.add(&list, &found, json);
        return Ok(checked);
    }
    for (folder, (files, whole)) in next_to(paths)? {
        if is_remote(&folder) {
            // that would fetch all files one more time
            let list = folder.join(LIST);
            let text = "checksums were not compared with remote files: give --checksums";
            checked.note(format!("{text} {}", list.display()), json);
            continue;
        }
        let list = match Checksums::read(&folder.join(LIST)) {
            Ok(list) => list,
            Err(error) => {
                checked.note(format!("checksums were not compared: {error}"), json);
                continue;
            }
        };
        let watch = watch("compare checksums", &files, cancel);
        let found = list.compare(&files, whole, host::cores(), &|bytes| watch.read(bytes))?;
        let lacks = checked.add(&list, &found, json);
        lacks.into_iter().for_each(|lacks| checked.note(lacks, json));
    }
    Ok(checked)
}

/// A watch for the bytes of all files; where they are remote, their number is not known.
fn watch<'a>(name: &'static str, files: &[PathBuf], cancel: &'a Cancel) -> Watch<'a> {
    let bytes = |file: &PathBuf| metadata(file).map_or(0, |found| found.len());
    Watch::new(name, files.iter().map(bytes).sum(), cancel)
}

/// The folders with a list, the files of each, and whether these are all that there are.
fn next_to(paths: &[PathBuf]) -> Result<BTreeMap<PathBuf, (Vec<PathBuf>, bool)>> {
    let mut all: BTreeMap<PathBuf, (Vec<PathBuf>, bool)> = BTreeMap::new();
    for path in paths {
        let whole = kind(path).is_ok_and(|found| found == FileKind::Folder);
        let folder = if whole { Some(path.as_path()) } else { path.parent() };
        let Some(folder) = folder else { continue };
        let list = kind(&folder.join(LIST));
        if list.is_ok_and(|found| found == FileKind::File) {
            let entry = all.entry(folder.to_path_buf()).or_default();
            entry.0.extend(files_at(path)?);
            entry.1 |= whole;
        }
    }
    Ok(all)
}

impl Checked {
    /// Adds what agrees, and returns what has no partner.
    fn add(&mut self, list: &Checksums, found: &Compared, json: bool) -> Vec<String> {
        let path = list.path().display();
        self.note(format!("compared {} of {path}", counted(found.agree as u64, "checksum")), json);
        let extra: Vec<String> =
            found.extra.iter().map(|file| file.display().to_string()).collect();
        let missing = (!found.missing.is_empty()).then(|| {
            format!("{path} has checksums of files that are not here: {}", few(&found.missing))
        });
        let extra =
            (!extra.is_empty()).then(|| format!("{path} has no checksum of {}", few(&extra)));
        missing.into_iter().chain(extra).collect()
    }

    fn note(&mut self, note: String, json: bool) {
        if !json {
            println!("note: {note}");
        }
        self.notes.push(note);
    }

    /// Takes what the files lack, for a run that reports it.
    pub fn take_lacks(&mut self) -> Vec<Shortfall> {
        let shortfall = |text| Shortfall::new(ShortfallKind::ChecksumList, text);
        std::mem::take(&mut self.lacks).into_iter().map(shortfall).collect()
    }

    /// Adds what was found to the answer of the command.
    #[must_use]
    pub fn with(self, mut answer: Answer) -> Answer {
        answer.notes.splice(0..0, self.notes);
        if answer.status.is_success() && !self.lacks.is_empty() {
            answer.status = Status::Incomplete;
            answer.error = Some(FaultReport::new(self.lacks.join("; ")));
        }
        answer
    }
}

/// The first of many names.
fn few(names: &[String]) -> String {
    let rest = names.len().saturating_sub(NAMED);
    let named = names[..names.len() - rest].join(", ");
    if rest == 0 { named } else { format!("{named} and {rest} others") }
}

/// The files at and in some paths.
///
/// # Errors
/// An error if a folder cannot be listed.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let all: Result<Vec<_>, _> = paths.iter().map(|path| files_at(path)).collect();
    Ok(all?.concat())
}

/// Writes the list of the files at `paths`, with their names relative to the first folder.
///
/// # Errors
/// An error if a file cannot be read or the list cannot be written.
pub fn write(out: &Path, paths: &[PathBuf], cancel: &Cancel) -> Result<()> {
    let all = files(paths)?;
    let is_folder = |path: &&PathBuf| kind(path).is_ok_and(|found| found == FileKind::Folder);
    let folder = paths.iter().find(is_folder).map(PathBuf::as_path);
    let folder = folder.or_else(|| paths.first()?.parent()).unwrap_or(Path::new(""));
    let watch = watch("list checksums", &all, cancel);
    let text = list_of(folder, &all, host::cores(), &|bytes| watch.read(bytes))?;
    let mut file = OutputFile::create(out)?;
    file.write_all(text.as_bytes())?;
    Ok(file.finish(out)?)
}
