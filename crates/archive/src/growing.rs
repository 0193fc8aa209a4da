//! Files that another program is still writing: which ones there are, whether one has changed, and
//! where one ends before its end.
//!
//! A format with an index at its end cannot be read before it is whole, so [`growth`] inspects one
//! file and says where it ends. Formats that are read from the beginning need nothing of this:
//! their readers report the record that the end of the file cuts off. Programs that reserve space
//! fill it with zeros, so zeros up to the end of a file count as not written.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Status;

use crate::detect::{archive_of, format_of_file};
use crate::format::{claims_blocks, claims_to_be_dump};
use crate::formats::acc;
use crate::formats::blkdat;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::{BLOCK_INDEX, DYNAMIC_INDEX};
use crate::listing::{files_of, is_folder};
use crate::names::{is_block_file, is_harmless, without_compression};
use crate::output::identity::{Identity, identity};
use crate::{CompressionFault, Error, Format};

/// Bytes that decide the format of a file.
const HEAD: u64 = 16;

/// Bytes that are read at once to find zeros.
const PIECE: usize = 64 << 10;

/// A file of an archive as the file system describes it, to find out whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The path of the file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub length: u64,
    /// When it was written last; `None` if the file system does not say it.
    pub written: Option<SystemTime>,
    /// The file at the path, whatever is in it.
    identity: Option<Identity>,
    /// Whether it is in a folder that is opened as a whole: a freezer, or one with `blk*.dat`.
    pub is_part: bool,
}

impl Seen {
    /// Whether this file, seen later than `before`, may have other bytes where `before` had some:
    /// it is another file, or shorter, or was written without getting longer. Block files are
    /// created with their final length, so they can be written to without getting longer.
    #[must_use]
    pub fn replaces(&self, before: &Self) -> bool {
        let rewritten = self.length == before.length && self.written != before.written;
        self.identity != before.identity
            || self.length < before.length
            || (rewritten && !is_block_file(&self.path))
    }
}

/// Lists the files in `paths` that an archive can consist of. A file that is removed meanwhile is
/// left out.
///
/// # Errors
///
/// Returns [`Error::Io`] if a folder cannot be listed or a file cannot be inspected.
pub fn list(paths: &[PathBuf]) -> Result<Vec<Seen>, Error> {
    let mut seen = vec![];
    for path in paths {
        let (files, is_part) = match is_folder(path)? {
            true => files_in(path)?,
            false => (vec![path.clone()], false),
        };
        for path in files {
            if is_harmless(&path) && !is_block_file(&path) {
                continue;
            }
            let found = match fs::metadata(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => found.map_err(Error::io("cannot open", &path))?,
            };
            let (written, identity) = (found.modified().ok(), identity(&path));
            seen.push(Seen { path, length: found.len(), written, identity, is_part });
        }
    }
    Ok(seen)
}

/// The files of a folder, and whether it is opened as a whole. Those of a freezer and block files
/// may be in a folder below.
fn files_in(path: &Path) -> Result<(Vec<PathBuf>, bool), Error> {
    if let Some((archive, _)) = archive_of(path)? {
        return Ok((files_of(&archive, |_| true)?, true));
    }
    Ok(match blkdat::folder(path)? {
        Some(blocks) => (files_of(&blocks, |_| true)?, true),
        None => (files_of(path, |_| true)?, false),
    })
}

/// What a file is that another program may still be writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It can be opened, though its last record may be cut off.
    Whole,
    /// It cannot be opened: it ends before its end, and what is not whole begins at this byte.
    Unfinished(u64),
    /// It is no archive, and its name does not say that it is one.
    Other,
}

/// Finds out whether a file is whole enough to be opened, so that an archive can be opened without
/// those that are not. Corruption counts as whole: those who open the file report it.
///
/// # Errors
///
/// Returns [`Error::Io`] if the file cannot be read.
pub fn growth(path: &Path) -> Result<Growth, Error> {
    let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
    let length = file.length().map_err(Error::io("cannot open", path))?;
    if length < HEAD || is_zero_from(&file, 0).map_err(Error::io("cannot read", path))? {
        return Ok(Growth::Unfinished(0));
    }
    if claims_to_be_dump(path) {
        return cut(acc::open(&[path.to_path_buf()]));
    }
    match format_of_file(path) {
        Ok(format @ (Format::Era1 | Format::Ere | Format::Era)) => match (format.row().range)(path)
        {
            Ok(_) => Ok(Growth::Whole),
            Err(error @ Error::Io { .. }) => Err(error),
            Err(_) => records_until(path, &file),
        },
        Ok(format) => cut((format.row().range)(path)),
        Err(error @ Error::Io { .. }) => Err(error),
        Err(Error::Compressed { fault: CompressionFault::Cut, .. }) => Ok(Growth::Unfinished(0)),
        Err(_) if claims_blocks(path) => Ok(Growth::Whole),
        Err(_) => match acc::looks_like(path)? || blkdat::looks_like(path)? {
            true => Ok(Growth::Whole),
            false => Ok(Growth::Other),
        },
    }
}

/// Whether the end of the file cuts off what was to be read.
fn cut<T>(result: Result<T, Error>) -> Result<Growth, Error> {
    match result {
        Err(error @ Error::Io { .. }) => Err(error),
        Err(error) if error.status() == Status::Incomplete => {
            Ok(Growth::Unfinished(error.location().map_or(0, |location| location.offset)))
        }
        _ => Ok(Growth::Whole),
    }
}

/// Walks the records of an e2store file without a readable index. The file is unfinished if the
/// walk comes to its end, or to zeros up to its end; everything else is corruption, which those who
/// open the file report.
fn records_until(path: &Path, plain: &InputFile) -> Result<Growth, Error> {
    let file = match RecordFile::open(path) {
        Ok(file) => file,
        Err(error) => return cut::<()>(Err(error)),
    };
    let (mut next, mut last) = (0, 0);
    while next < file.size {
        match file.record_at(next, file.size) {
            // no record has the type 0
            Ok((0, _)) => {
                let zeros = is_zero_from(plain, next).map_err(Error::io("cannot read", path))?;
                let is_reserved = zeros && file.compression.is_none();
                return Ok(if is_reserved { Growth::Unfinished(next) } else { Growth::Whole });
            }
            Ok((kind, after)) => (last, next) = (kind, after),
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(Error::Truncated { .. }) => return Ok(Growth::Unfinished(next)),
            Err(_) => return Ok(Growth::Whole),
        }
    }
    let has_index = [BLOCK_INDEX, DYNAMIC_INDEX].contains(&last);
    Ok(if has_index { Growth::Whole } else { Growth::Unfinished(next) })
}

/// Whether a file has only zeros from `offset` to its end, and at least one.
fn is_zero_from(file: &InputFile, offset: u64) -> io::Result<bool> {
    let (mut at, mut piece) = (offset, vec![0; PIECE]);
    loop {
        let count = file.read_full_at(&mut piece, at)?;
        if piece[..count].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        at += count as u64;
        if count < piece.len() {
            return Ok(at > offset);
        }
    }
}

/// Whether a record at byte `offset` of a file of blocks is still being written: no whole record
/// follows it in the file, and it reaches the end of the file, or zeros that nothing follows.
/// `offset` is where the record begins or where its block does.
///
/// # Errors
///
/// Returns [`Error::Io`] if the file cannot be read.
pub fn is_being_written(path: &Path, offset: u64) -> Result<bool, Error> {
    blkdat::is_being_written(path, offset)
}

/// Files that are missing between others with numbers in their names, as in
/// `mainnet-00001-a5364e9a.era1`: each as the name with `*` for what is not known of it.
#[must_use]
pub fn missing_names(seen: &[Seen]) -> Vec<String> {
    let mut numbered: Vec<_> = seen.iter().filter_map(|file| numbered(&file.path)).collect();
    numbered.sort();
    let mut missing = vec![];
    for pair in numbered.windows(2) {
        let [(network, ending, before), (other, same, after)] = pair else { continue };
        if (network, ending) != (other, same) || after - before < 2 {
            continue;
        }
        let name = |number: u64| format!("{network}-{number:05}-*{ending}");
        missing.push(match after - before {
            2 => name(before + 1),
            _ => format!("{} to {}", name(before + 1), name(after - 1)),
        });
    }
    missing
}

/// Network, ending and number of a file with a name like `mainnet-00001-a5364e9a.era1`.
fn numbered(path: &Path) -> Option<(String, String, u64)> {
    let name = path.file_name()?.to_str()?;
    let name = std::str::from_utf8(without_compression(name.as_bytes())).ok()?;
    let (stem, ending) = name.split_once('.')?;
    let (before, _) = stem.rsplit_once('-')?;
    let (network, number) = before.rsplit_once('-')?;
    let is_number = number.len() == 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| number.parse().ok()).flatten()?;
    Some((network.to_owned(), format!(".{ending}"), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn seen(path: &str, length: u64, written_s: u64) -> Seen {
        let written = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(written_s));
        Seen { path: path.into(), length, written, identity: None, is_part: false }
    }

    #[test]
    fn a_file_that_grows_is_not_replaced() {
        let before = seen("a.acc", 10, 1);
        assert!(!seen("a.acc", 10, 1).replaces(&before));
        assert!(!seen("a.acc", 11, 2).replaces(&before));
        assert!(seen("a.acc", 9, 2).replaces(&before));
        assert!(seen("a.acc", 10, 2).replaces(&before));
        let before = seen("blk00000.dat", 10, 1);
        assert!(!seen("blk00000.dat", 10, 2).replaces(&before), "reserved space is written to");
        assert!(seen("blk00000.dat", 9, 2).replaces(&before));
    }

    #[test]
    fn a_renamed_file_replaces_the_one_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("a.acc"), folder.path().join("new"));
        fs::write(&path, [1; 9]).unwrap();
        fs::write(&new, [1; 10]).unwrap();
        let one = |path: &PathBuf| list(std::slice::from_ref(path)).unwrap().remove(0);
        let before = one(&path);
        assert_eq!(one(&path), before);
        fs::write(&path, [1; 10]).unwrap();
        assert!(!one(&path).replaces(&before));
        fs::rename(&new, &path).unwrap();
        assert!(one(&path).replaces(&before));
    }

    #[test]
    fn names_between_others_are_missing() {
        let names = |all: &[&str]| {
            let all: Vec<_> = all.iter().map(|name| seen(name, 1, 1)).collect();
            missing_names(&all)
        };
        let (first, third) = ("m-00000-aaaaaaaa.era1", "m-00002-bbbbbbbb.era1");
        assert_eq!(names(&[third, first]), ["m-00001-*.era1"]);
        assert_eq!(names(&[first, "m-00009-cc.era1.zst"]), ["m-00001-*.era1 to m-00008-*.era1"]);
        assert_eq!(names(&[first, "x-00002-bbbbbbbb.era1", "m-00002-b.ere", "a.rlp"]), [""; 0]);
    }

    #[test]
    fn an_e2store_file_is_whole_with_its_index_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m-00000-aaaaaaaa.era1");
        let record = |kind: u16, data: &[u8]| {
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend([0, 0]);
            bytes.extend(data);
            bytes
        };
        let growth_of = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            growth(&path).unwrap()
        };
        let begin = [record(0x3265, &[]), record(3, &[7; 40])].concat();
        let end = begin.len() as u64;
        for length in 0..16 {
            assert_eq!(growth_of(&begin[..length]), Growth::Unfinished(0), "{length}");
        }
        for length in 16..begin.len() {
            assert_eq!(growth_of(&begin[..length]), Growth::Unfinished(8), "{length}");
        }
        assert_eq!(growth_of(&begin), Growth::Unfinished(end));
        assert_eq!(growth_of(&[&begin[..], &[0; 999]].concat()), Growth::Unfinished(end));
        assert_eq!(growth_of(&[0; 999]), Growth::Unfinished(0));
        // zeros that something follows are corrupt, and so is what is no record
        assert_eq!(growth_of(&[&begin[..], &[0; 999], &[1]].concat()), Growth::Whole);
        assert_eq!(growth_of(&[&begin[..], &[1; 999]].concat()), Growth::Whole);
        assert_eq!(
            growth_of(b"a text that is no archive"),
            Growth::Whole,
            "it has the name of one"
        );
        let text = folder.path().join("notes");
        fs::write(&text, b"a text that is no archive").unwrap();
        assert_eq!(growth(&text).unwrap(), Growth::Other);
    }
}
