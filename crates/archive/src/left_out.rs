//! Files of a folder that are not read: those that may hold blocks are missing from the archive.
//! The rule is in `docs/formats/left-out.md`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use blockmill_verdict::{Shortfall, ShortfallKind};
use serde::Serialize;

use crate::input::Compression;
use crate::{Error, foreign};

/// Files that are named one by one.
const LISTED: usize = 20;

/// Ways to pack files that are not read: first bytes, usual ending, name.
const PACKED: [(&[u8], &str, &str); 11] = [
    (b"PK\x03\x04", ".zip", "a zip file"),
    (b"\x04\x22\x4d\x18", ".lz4", "an lz4 file"),
    (b"7z\xbc\xaf\x27\x1c", ".7z", "a 7z file"),
    (b"Rar!", ".rar", "a rar file"),
    (b"LZIP", ".lz", "an lzip file"),
    (b"\x1f\x9d", ".Z", "a file of compress"),
    (b"\xff\x06\x00\x00sNaP", ".sz", "a snappy file"),
    (b"\x5d\x00\x00\x80\x00", ".lzma", "an lzma file"),
    (b"", ".br", "a brotli file"),
    (b"", ".tar", "a tar file"),
    (b"", ".tgz", "a tar file"),
];

/// How names begin of files that hold no blocks.
const TEXTS: [&str; 9] = [
    "readme",
    "license",
    "licence",
    "copying",
    "changelog",
    "checksums",
    "sha256sums",
    "sha512sums",
    "md5sums",
];

/// How names end of files that hold no blocks.
const PLAIN: [&str; 29] = [
    ".txt", ".md", ".rst", ".html", ".pdf", ".json", ".jsonl", ".yml", ".yaml", ".toml", ".conf",
    ".cfg", ".ini", ".csv", ".tsv", ".log", ".asc", ".sig", ".minisig", ".sha256", ".sha512",
    ".sha1", ".md5", ".torrent", ".py", ".sh", ".bat", ".ps1", ".lock",
];

/// Files of the programs whose block files are read: locks, keys, undo data.
const OWN: [&str; 5] = ["lock", "flock", "xor.dat", "nodekey", "jwtsecret"];

/// A file that was not read and may hold blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The file.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// What it is, and what to do with it.
    pub what: String,
}

/// Files of the folders of an archive that were not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LeftOut {
    unread: Vec<Unread>,
    /// Files without blocks in any form that is known.
    #[serde(skip)]
    other: Vec<PathBuf>,
}

impl LeftOut {
    /// Takes note of a file in which no block was found.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn add(&mut self, path: PathBuf) -> Result<(), Error> {
        if is_harmless(&path) {
            return Ok(());
        }
        match what_may_hold_blocks(&path)? {
            Some(what) => self.unread.push(Unread { path, what }),
            None => self.other.push(path),
        }
        Ok(())
    }

    /// Forgets the files from which others were unpacked that were `read`.
    pub(crate) fn forget_sources_of<'a>(&mut self, read: impl Iterator<Item = &'a Path>) {
        let read: Vec<&str> = read.filter_map(|path| path.file_name()?.to_str()).collect();
        self.unread.retain(|unread| {
            let name = unread.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            !read.iter().any(|read| holds_the_same(name, read))
        });
    }

    /// Those that may hold blocks.
    #[must_use]
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// What the archive lacks for these files, and what a user should know of them. With `all` the
    /// blocks that were asked for are known to be there, so that nothing is lacking.
    #[must_use]
    pub fn judge(&self, all: bool) -> (Vec<Shortfall>, Vec<String>) {
        let (mut shortfalls, mut notes) = (vec![], vec![]);
        for Unread { path, what } in self.unread.iter().take(LISTED) {
            match all {
                true => notes.push(format!("{}: not read: {what}", path.display())),
                false => shortfalls.push(shortfall(format!("not read: {what}"), path)),
            }
        }
        if let Some(more @ [first, ..]) = self.unread.get(LISTED..) {
            let text = format!("not read: {} more files like this", more.len());
            match all {
                true => notes.push(format!("{}: {text}", first.path.display())),
                false => shortfalls.push(shortfall(text, &first.path)),
            }
        }
        if let [first, ..] = &self.other[..] {
            let (count, first) = (self.other.len(), first.display());
            notes.push(format!("files without blocks, left out: {count}, the first {first}"));
        }
        (shortfalls, notes)
    }
}

fn shortfall(text: String, path: &Path) -> Shortfall {
    Shortfall { file: Some(path.to_path_buf()), ..Shortfall::new(ShortfallKind::Unread, text) }
}

/// What a file is that is not read and may hold blocks, and what to do with it.
pub(crate) fn what_may_hold_blocks(path: &Path) -> Result<Option<String>, Error> {
    Ok(packed(path)?.or_else(|| foreign::what_it_is(path)))
}

/// How a file is packed that has to be unpacked first.
pub(crate) fn packed(path: &Path) -> Result<Option<String>, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let by_name = |ending: &str| name.ends_with(&ending.to_lowercase());
    let known = match PACKED.iter().find(|(_, ending, _)| by_name(ending)) {
        Some(known) => Some(known),
        None => {
            let head = head(path)?;
            PACKED.iter().find(|(magic, ..)| !magic.is_empty() && head.starts_with(magic))
        }
    };
    Ok(known.map(|(.., what)| format!("{what}: unpack it, and give what is in it")))
}

/// The first bytes of a file; none of what is no file.
fn head(path: &Path) -> Result<Vec<u8>, Error> {
    let mut head = vec![];
    if crate::listing::is_file(path)? {
        let file = File::open(path).map_err(Error::io("cannot open", path))?;
        file.take(8).read_to_end(&mut head).map_err(Error::io("cannot read", path))?;
    }
    Ok(head)
}

/// Does the name say that there are no blocks in the file?
pub(crate) fn is_harmless(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = without_packing(&name);
    let is_undo = name.starts_with("rev") && name.ends_with(".dat");
    is_undo
        || OWN.contains(&name)
        || TEXTS.iter().any(|text| name.starts_with(text))
        || PLAIN.iter().any(|ending| name.ends_with(ending))
}

/// A name less the endings of ways to pack, read or not.
fn without_packing(name: &str) -> &str {
    let unread = PACKED.iter().map(|(_, ending, _)| *ending);
    let mut endings = unread.chain(Compression::ENDINGS);
    endings.find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Is a file that was `read` what `name` holds: the same one unpacked, or the same era?
fn holds_the_same(name: &str, read: &str) -> bool {
    without_packing(name) == without_packing(read)
        || era_of(name, &[".ere", ".erae"]).is_some_and(|era| era_of(read, &[".era1"]) == Some(era))
}

/// Network and number of an era, as in `mainnet-00000-5ec1ffb8.era1`.
fn era_of<'a>(name: &'a str, endings: &[&str]) -> Option<(&'a str, &'a str)> {
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending))?;
    let mut parts = stem.split('-');
    Some((parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(files: &[(&str, &[u8])], read: &[&str]) -> (Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut left_out = LeftOut::default();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            left_out.add(folder.path().join(name)).unwrap();
        }
        left_out.forget_sources_of(read.iter().map(Path::new));
        let (shortfalls, notes) = left_out.judge(false);
        let (none, more) = left_out.judge(true);
        assert!(none.is_empty());
        assert_eq!(more.len(), shortfalls.len() + notes.len());
        let name = |shortfall: &Shortfall| {
            let file = shortfall.file.as_ref().unwrap().file_name().unwrap();
            file.to_str().unwrap().to_owned()
        };
        (shortfalls.iter().map(name).collect(), notes.len())
    }

    #[test]
    fn packed_and_foreign_files_may_hold_blocks_and_texts_do_not() {
        let packed = [
            ("a.acc.zip", &b""[..]),
            ("blk00001.dat.lz4", b""),
            ("c.7z", b""),
            ("d", b"PK\x03\x04...."),
            ("e.tar", b""),
            ("mainnet-00001-4b363db9.era", b""),
            ("mainnet-00007-deadbeef.ere", b""),
        ];
        let (found, notes) = judged(&packed, &[]);
        assert_eq!(found, packed.map(|(name, _)| name));
        assert_eq!(notes, 0);
        let texts = [
            ("README", &b"text"[..]),
            ("checksums.txt", b"text"),
            ("genesis.json", b"{}"),
            ("genesis.json.zip", b""),
            ("rev00000.dat", b"undo"),
            ("xor.dat", b"12345678"),
            ("LOCK", b""),
        ];
        assert_eq!(judged(&texts, &[]), (vec![], 0));
        // nothing is known of this one, so it is mentioned
        assert_eq!(judged(&[("data.bin", b"\0\x01\x02")], &[]), (vec![], 1));
    }

    #[test]
    fn a_file_that_was_read_in_another_form_lacks_nothing() {
        let files = [("a.acc.zip", &b""[..]), ("mainnet-00000-1111.ere", b""), ("b.acc.zip", b"")];
        let read = ["a.acc", "mainnet-00000-5ec1ffb8.era1"];
        assert_eq!(judged(&files, &read), (vec!["b.acc.zip".to_owned()], 0));
    }

    #[test]
    fn many_files_are_one_line_more() {
        let names: Vec<String> = (0..LISTED + 5).map(|i| format!("{i}.zip")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b""[..])).collect();
        assert_eq!(judged(&files, &[]).0.len(), LISTED + 1);
    }
}
