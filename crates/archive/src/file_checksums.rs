//! Lists of SHA-256 checksums of whole files, as hosts publish them next to archives.
//!
//! A line is `HASH  NAME` or `HASH *NAME` (sha256sum), or `HASH` alone, for the files in their
//! order. Alone, the hash of an era file is in the line of its era: of a host's list for all
//! files, a folder may have a part.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(test)]
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use blockmill_hashes::Sha256;
use blockmill_platform::files::{self, FileKind};
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::{Hex, Location};

use crate::Error;
use crate::listing::files_of;
use crate::names::is_harmless;

/// The name of a list in a folder of archives.
pub const LIST: &str = "checksums.txt";

/// The longest list that is read.
const LONGEST: u64 = 64 << 20;
/// Bytes that are hashed between two looks at whether to stop.
const PART: usize = 1 << 20;

type Sum = [u8; 32];

/// A list of checksums.
#[derive(Clone, Debug)]
pub struct Checksums {
    path: PathBuf,
    sums: Sums,
}

#[derive(Clone, Debug)]
enum Sums {
    /// By name, relative to the folder.
    Named(BTreeMap<String, Sum>),
    /// In the order of the files.
    Bare(Vec<Sum>),
}

/// What the files of a folder have with a list in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Files that agree with the list.
    pub agree: usize,
    /// Names or lines of the list whose files are not there.
    pub missing: Vec<String>,
    /// Files that the list does not have.
    pub extra: Vec<PathBuf>,
}

impl Checksums {
    /// Reads a list.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::BadRecord`] for a line that is not a checksum.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let io = || Error::io("cannot read", path);
        let file = InputFile::open(path).map_err(io())?;
        let length = file.length().map_err(io())?;
        let location = |offset: usize| Location::new(path, offset as u64);
        if length > LONGEST {
            let (what, limit) = ("a list of checksums", LONGEST);
            return Err(Error::TooLarge { location: location(0), what, limit, announced: length });
        }
        let bytes = file.read_whole().map_err(io())?;
        let (mut named, mut bare, mut offset) = (BTreeMap::new(), vec![], 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let at = location(offset);
            offset += line.len();
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let bad = |expected: &str| {
                let found: String = text.chars().take(80).collect();
                let (what, expected) = ("a line of checksums", expected.to_owned());
                Error::BadRecord { location: at.clone(), what, expected, found }
            };
            let (digits, name) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            let sum =
                sum(digits).ok_or_else(|| bad("64 hexadecimal digits, then a name or none"))?;
            match name.trim_start().trim_start_matches('*') {
                "" if named.is_empty() => bare.push(sum),
                name if !name.is_empty() && bare.is_empty() => {
                    let name = name.trim_start_matches("./").to_owned();
                    if named.insert(name, sum).is_some_and(|other| other != sum) {
                        return Err(bad("a name once"));
                    }
                }
                _ => return Err(bad("names in all lines or in none")),
            }
        }
        let sums = if named.is_empty() { Sums::Bare(bare) } else { Sums::Named(named) };
        Ok(Self { path: path.to_path_buf(), sums })
    }

    /// Compares files with the list, on several threads. With `whole`, they are all files that
    /// there are: others of the list are missing. `read` is called with the bytes that were read,
    /// and returns false to stop.
    ///
    /// # Errors
    /// [`Error::BadRecord`] for the first file that differs; [`Error::Io`]; [`Error::Stopped`].
    pub fn compare(
        &self,
        files: &[PathBuf],
        whole: bool,
        threads: usize,
        read: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Compared, Error> {
        let expected = self.expected(files);
        let jobs: Vec<(&PathBuf, Sum)> =
            files.iter().zip(&expected).filter_map(|(file, at)| Some((file, (*at)?.1))).collect();
        let bad = |path: &Path, expected: &Sum, found: &Sum| Error::BadRecord {
            location: Location::new(path, 0),
            what: "SHA-256 of the file",
            expected: format!("{} (of {})", Hex(expected), self.path.display()),
            found: Hex(found).to_string(),
        };
        for ((path, sum), found) in jobs.iter().zip(sums(&jobs, threads, read)) {
            let found = found?;
            if found != *sum {
                return Err(bad(path, sum, &found));
            }
        }
        let used: BTreeSet<usize> = expected.iter().flatten().map(|(line, _)| *line).collect();
        let missing = (0..self.len()).filter(|line| whole && !used.contains(line));
        let without = files.iter().zip(&expected).filter(|(_, at)| at.is_none());
        Ok(Compared {
            agree: jobs.len(),
            missing: missing.map(|line| self.name(line)).collect(),
            extra: without.map(|(file, _)| file.clone()).collect(),
        })
    }

    /// The path of the list.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> usize {
        match &self.sums {
            Sums::Named(named) => named.len(),
            Sums::Bare(bare) => bare.len(),
        }
    }

    /// The name of a line, or its number if it has none.
    fn name(&self, line: usize) -> String {
        match &self.sums {
            Sums::Named(named) => named.keys().nth(line).cloned().unwrap_or_default(),
            Sums::Bare(_) => format!("line {}", line + 1),
        }
    }

    /// The line of each file, with its checksum.
    fn expected(&self, files: &[PathBuf]) -> Vec<Option<(usize, Sum)>> {
        match &self.sums {
            Sums::Named(named) => {
                let lines: BTreeMap<&str, (usize, Sum)> =
                    named.iter().zip(0..).map(|((name, sum), at)| (&**name, (at, *sum))).collect();
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let of = |file: &PathBuf| {
                    let inside = file.strip_prefix(folder).ok().and_then(Path::to_str);
                    let name = file.file_name().and_then(|name| name.to_str());
                    let found = inside.and_then(|name| lines.get(name));
                    found.or_else(|| lines.get(name?)).copied()
                };
                files.iter().map(of).collect()
            }
            Sums::Bare(bare) => {
                let eras: Option<Vec<usize>> = files.iter().map(|file| era(file)).collect();
                let lines = eras.unwrap_or_else(|| (0..files.len()).collect());
                lines.into_iter().map(|line| Some((line, *bare.get(line)?))).collect()
            }
        }
    }
}

/// Writes a list with the names of files, relative to `folder`. `read` is called with the bytes
/// that were read, and returns false to stop.
///
/// # Errors
/// [`Error::Io`]; [`Error::Stopped`].
pub fn list_of(
    folder: &Path,
    files: &[PathBuf],
    threads: usize,
    read: &(dyn Fn(u64) -> bool + Sync),
) -> Result<String, Error> {
    let jobs: Vec<(&PathBuf, Sum)> = files.iter().map(|file| (file, Sum::default())).collect();
    let mut text = String::new();
    for (file, sum) in files.iter().zip(sums(&jobs, threads, read)) {
        let digits = Hex(&sum?).to_string();
        let name = file.strip_prefix(folder).unwrap_or(file).display();
        text += &format!("{}  {name}\n", digits.trim_start_matches("0x"));
    }
    Ok(text)
}

/// The files in a folder that may have blocks, in natural order; a file is its own list. Folders
/// in it are not searched.
///
/// # Errors
/// [`Error::Io`].
pub fn files_at(path: &Path) -> Result<Vec<PathBuf>, Error> {
    match files::kind(path).map_err(Error::io("cannot open", path))? {
        FileKind::Folder => {
            let mut all = files_of(path, |_| true)?;
            all.retain(|file| !is_harmless(file));
            Ok(all)
        }
        FileKind::File => Ok(vec![path.to_path_buf()]),
        _ => Ok(vec![]),
    }
}

/// 64 hexadecimal digits, perhaps after 0x.
fn sum(digits: &str) -> Option<Sum> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits).as_bytes();
    let mut sum = Sum::default();
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != sum.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in sum.iter_mut().zip(pairs) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(sum)
}

/// The number in the name of an era file: 12 in `mainnet-00012-1a2b3c4d.era1`.
fn era(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let mut parts = stem.split('-').skip(1);
    let digits = parts.next()?;
    let is_era = ending.starts_with("er") && parts.next().is_some() && digits.len() >= 5;
    digits.parse().ok().filter(|_| is_era)
}

/// The SHA-256 of each file, in order.
fn sums(
    jobs: &[(&PathBuf, Sum)],
    threads: usize,
    read: &(dyn Fn(u64) -> bool + Sync),
) -> Vec<Result<Sum, Error>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                let mut part = vec![0; PART];
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some((path, _)) = jobs.get(at)
                {
                    let sum = sum_of(path, &mut part, read);
                    // a panic of another thread leaves the map whole
                    done.lock().unwrap_or_else(|error| error.into_inner()).insert(at, sum);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(|error| error.into_inner()).into_values().collect()
}

fn sum_of(path: &Path, part: &mut [u8], read: &dyn Fn(u64) -> bool) -> Result<Sum, Error> {
    let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
    let mut file = file.reader();
    let mut hash = Sha256::new();
    loop {
        let count = file.read(part).map_err(Error::io("cannot read", path))?;
        if !read(count as u64) {
            return Err(Error::Stopped { path: path.to_path_buf() });
        }
        match count {
            0 => return Ok(hash.finalize()),
            count => hash.update(&part[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_STOP: &(dyn Fn(u64) -> bool + Sync) = &|_| true;

    /// A folder with files of these names, which have their names for content.
    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
        folder
    }

    fn digits(text: &str) -> String {
        Hex(&blockmill_hashes::sha256(text.as_bytes())).to_string().replacen("0x", "", 1)
    }

    fn compare(folder: &Path, list: &str, whole: bool) -> Result<Compared, Error> {
        let path = folder.join(LIST);
        fs::write(&path, list).unwrap();
        let files = files_at(folder).unwrap();
        Checksums::read(&path)?.compare(&files, whole, 2, NO_STOP)
    }

    #[test]
    fn named_lines_are_compared_and_what_has_no_partner_is_named() {
        let folder = folder(&["a.rlp", "b.rlp", "readme.md"]);
        let all = list_of(folder.path(), &files_at(folder.path()).unwrap(), 3, NO_STOP).unwrap();
        assert_eq!(all, format!("{}  a.rlp\n{}  b.rlp\n", digits("a.rlp"), digits("b.rlp")));
        let found = compare(folder.path(), &all, true).unwrap();
        assert_eq!(found, Compared { agree: 2, ..Compared::default() });
        let other = format!("# a comment\n{}  *./b.rlp\n{}  c.rlp\n", digits("b.rlp"), digits("c"));
        let found = compare(folder.path(), &other, true).unwrap();
        assert_eq!((found.agree, found.missing), (1, vec!["c.rlp".to_owned()]));
        assert_eq!(found.extra, [folder.path().join("a.rlp")]);
        assert!(compare(folder.path(), &other, false).unwrap().missing.is_empty());
    }

    #[test]
    fn a_file_that_differs_is_an_error_with_both_checksums() {
        let folder = folder(&["a.rlp"]);
        let error = compare(folder.path(), &format!("{}  a.rlp", digits("b")), false).unwrap_err();
        assert_eq!(error.status(), blockmill_verdict::Status::Corrupt);
        let text = error.to_string();
        for part in ["a.rlp", "SHA-256", &digits("b"), &digits("a.rlp"), LIST] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn bare_lines_are_those_of_the_eras_or_of_the_files_in_order() {
        let eras = ["m-00001-0a0b0c0d.era1", "m-00003-0a0b0c0d.era1"];
        let era_folder = folder(&eras);
        let list = [digits("0"), digits(eras[0]), digits("2"), digits(eras[1])].join("\n");
        let found = compare(era_folder.path(), &list, true).unwrap();
        assert_eq!((found.agree, found.missing), (2, vec!["line 1".into(), "line 3".into()]));
        assert!(
            compare(era_folder.path(), &list.replace(&digits(eras[1]), &digits("x")), true)
                .is_err()
        );
        let other = folder(&["x-2.dat", "x-10.dat"]);
        let list = [digits("x-2.dat"), digits("x-10.dat")].join("\r\n");
        assert_eq!(compare(other.path(), &list, true).unwrap().agree, 2);
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let folder = folder(&["a.rlp"]);
        let both = format!("{}  a.rlp\n{}\n", digits("a.rlp"), digits("b"));
        for (list, offset) in [("abc  a.rlp", 0), (both.as_str(), 72)] {
            let error = compare(folder.path(), list, false).unwrap_err().to_string();
            assert!(error.contains(&format!("byte {offset}")), "{error}");
        }
        let twice = format!("{}  a.rlp\n{}  a.rlp\n", digits("a"), digits("b"));
        assert!(compare(folder.path(), &twice, false).is_err());
        let stopped = list_of(folder.path(), &[folder.path().join("a.rlp")], 1, &|_| false);
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
    }
}
